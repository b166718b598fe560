"""A skill as it is uploaded: a ZIP file with a SKILL.md that names and describes it (docs/wire-agent.md 8)."""

import io
import re
import zipfile
import zlib
from typing import NamedTuple

from pplx_gateway.emulator.agent.errors import ApiError

MOST_FILES = 500
MOST_BYTES = 64 << 20
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FRONT_MATTER = re.compile(r"\A---\s*\n(?P<head>.*?)\n---\s*(?:\n|\Z)", re.DOTALL)
_FIELD = re.compile(r"^(?P<name>[A-Za-z_-]+):[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)


class Told(NamedTuple):
    """What a skill says of itself."""

    name: str
    description: str


def read_bundle(content: bytes) -> Told:
    """Raises ApiError 400."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            return _told(_skill(bundle).decode())
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise _refused("the file is not a readable ZIP archive") from error
    except UnicodeDecodeError as error:
        raise _refused("SKILL.md is not UTF-8") from error


def _skill(bundle: zipfile.ZipFile) -> bytes:
    """SKILL.md, which lies on top or in the one folder that is there."""
    files = [entry for entry in bundle.infolist() if not entry.is_dir()]
    if len(files) > MOST_FILES or sum(entry.file_size for entry in files) > MOST_BYTES:
        raise _refused("the bundle is too large")
    if any(entry.filename.startswith("/") or ".." in entry.filename.split("/") for entry in files):
        raise _refused("the bundle has a path that leads out of it")
    tops = {entry.filename.partition("/")[0] for entry in files}
    wanted = ("SKILL.md", *(f"{top}/SKILL.md" for top in tops if len(tops) == 1))
    found = next((entry for entry in files if entry.filename in wanted), None)
    if found is None:
        raise _refused("the bundle has no SKILL.md")
    return bundle.read(found)


def _told(text: str) -> Told:
    head = _FRONT_MATTER.match(text.replace("\r\n", "\n"))
    fields = {found["name"]: found["value"].strip("\"'") for found in _FIELD.finditer(head["head"] if head else "")}
    name, description = fields.get("name", ""), fields.get("description", "")
    if not _NAME.fullmatch(name) or len(name) > 64:
        raise _refused("SKILL.md must name the skill: small letters, digits and hyphens, at most 64")
    if not description or len(description.encode()) > 1024:
        raise _refused("SKILL.md must describe the skill in at most 1024 bytes")
    return Told(name, description)


def _refused(message: str) -> ApiError:
    return ApiError(400, message, "invalid_parameter", param="file")
