"""What a file is: by the type that came with it, by its name, and by its first bytes, which have the last word.

Neutral ground: uploads, parts of messages and upstreams all ask here, so that one file is the same thing everywhere.
"""

import base64
import binascii
import codecs
import re
from collections.abc import Callable

HEAD_BYTES = 1024
LONGEST_NAME = 255

VAGUE_TYPES = ("", "application/octet-stream", "binary/octet-stream")
ANY_BYTES = "application/octet-stream"
PLAIN_TEXT = "text/plain"

IMAGES = {
    "png": "image/png",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
}
_OFFICE = "application/vnd.openxmlformats-officedocument"
DOCUMENTS = {
    "pdf": "application/pdf",
    "txt": PLAIN_TEXT,
    "md": "text/markdown",
    "csv": "text/csv",
    "html": "text/html",
    "json": "application/json",
    "xml": "application/xml",
    "rtf": "application/rtf",
    "doc": "application/msword",
    "docx": f"{_OFFICE}.wordprocessingml.document",
    "pptx": f"{_OFFICE}.presentationml.presentation",
    "xlsx": f"{_OFFICE}.spreadsheetml.sheet",
}
_ALIASES = {"image/jpg": "image/jpeg", "text/rtf": "application/rtf"}
_BY_ENDING = {**IMAGES, "jpg": "image/jpeg", "htm": "text/html", **DOCUMENTS}
_ENDINGS = {kind: ending for ending, kind in reversed({**IMAGES, **DOCUMENTS}.items())}

Test = Callable[[bytes], bool]

_ZIP = "application/zip"
# Signatures that no text begins with.
_SIGNATURES: dict[str, Test] = {
    "image/png": lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda head: head.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda head: head.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP",
    "application/pdf": lambda head: head.startswith(b"%PDF-"),
    "application/rtf": lambda head: head.startswith(b"{\\rtf"),
    "application/msword": lambda head: head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),
    _ZIP: lambda head: head.startswith(b"PK\x03\x04"),
}
# What a file of the type must show. Readers of PDF forgive up to a kilobyte of junk before the mark.
_PROOFS: dict[str, Test] = {
    **_SIGNATURES,
    "application/pdf": lambda head: b"%PDF-" in head,
    **{DOCUMENTS[ending]: _SIGNATURES[_ZIP] for ending in ("docx", "pptx", "xlsx")},
}

_DATA_URL = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]*)*?(?P<base64>;base64)?,", re.IGNORECASE)
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,64}/[a-z0-9!#$&^_.+-]{1,96}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def plain_type(content_type: str) -> str:
    """`Image/JPG; q=1` gives `image/jpeg`; "" for what has not the form of a type."""
    kind = content_type.partition(";")[0].strip().lower()
    return _ALIASES.get(kind, kind) if _TYPE.fullmatch(kind) else ""


def by_name(filename: str) -> str | None:
    return _BY_ENDING.get(filename.rpartition(".")[2].lower()) if "." in filename else None


def by_head(head: bytes) -> str | None:
    """The type that the first bytes prove."""
    return next((kind for kind, test in _SIGNATURES.items() if test(head)), None)


def contradicts(kind: str, head: bytes) -> bool:
    """True if a file that begins with `head` (HEAD_BYTES of it) cannot be of the type `kind`."""
    proof = _PROOFS.get(kind)
    if proof is not None:
        return not proof(head)
    return is_text(kind) and by_head(head) is not None


def is_image(kind: str) -> bool:
    """True for the images that upstreams look at."""
    return kind in IMAGES.values()


def is_document(kind: str) -> bool:
    """True for the documents that upstreams read: the listed ones, and any text."""
    return kind in DOCUMENTS.values() or kind.startswith("text/")


def is_text(kind: str) -> bool:
    return kind.startswith("text/") or kind in ("application/json", "application/xml")


def reads_as_text(head: bytes) -> bool:
    """True if the bytes are UTF-8 without a NUL; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


def ending_of(kind: str) -> str:
    """The usual ending of a name, without its dot."""
    return _ENDINGS.get(kind, "txt" if is_text(kind) else "bin")


def base_name(filename: str) -> str:
    """The last part of a name that may be a path, in either system's writing. Raises ValueError, whose message goes
    behind "the name ", for a name that climbs (`..`), holds what cannot be printed, is too long, or is none."""
    parts = filename.replace("\\", "/").split("/")
    if ".." in (part.strip() for part in parts):
        raise ValueError("climbs out of its folder with '..'")
    if _UNPRINTABLE.search(filename):
        raise ValueError("holds characters that cannot be printed")
    name = parts[-1].strip()
    if name in ("", "."):
        raise ValueError("is empty")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"is longer than {LONGEST_NAME} characters")
    return name


def data_url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def split_data_url(url: str) -> tuple[str, str]:
    """A `data:` URL's type, and its base64 text as it stands; ("", "") where it is none, no text where it is not in
    base64."""
    head = _DATA_URL.match(url)
    if head is None:
        return "", ""
    return plain_type(head["type"]), url[head.end() :] if head["base64"] else ""


def unpack(payload: str) -> bytes | None:
    """What base64 text holds; None if it is not base64, blanks included."""
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None
