"""Images and documents inside a message: checked here, before anything is uploaded, and never fetched by us.

Bare base64 and a `data:` URL of the same bytes come out equal.
"""

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import urlsplit

from pplx_gateway.errors import InvalidRequest, TooLarge
from pplx_gateway.protocols.openai.content import FileObject
from pplx_gateway.question import FilePart, ImagePart

MAX_ATTACHMENT_BYTES = 20 << 20
MAX_URL_LENGTH = 8192

_DATA_URL = re.compile(r"data:(?P<type>[^;,]*)(?:;[^;,]*)*?(?P<base64>;base64)?,", re.IGNORECASE)
_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f]")

_IMAGE_HEADS: dict[str, Callable[[bytes], bool]] = {
    "image/png": lambda head: head.startswith(b"\x89PNG\r\n\x1a\n"),
    "image/jpeg": lambda head: head.startswith(b"\xff\xd8\xff"),
    "image/gif": lambda head: head.startswith((b"GIF87a", b"GIF89a")),
    "image/webp": lambda head: head[:4] == b"RIFF" and head[8:12] == b"WEBP",
}
_IMAGE_ALIASES = {"image/jpg": "image/jpeg"}

_OFFICE = "application/vnd.openxmlformats-officedocument"
_DOCUMENTS = {
    "pdf": "application/pdf",
    "txt": "text/plain",
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
_DOCUMENT_HEADS = {b"%PDF-": "application/pdf", b"{\\rtf": "application/rtf"}
_WORKS = f"What works: {', '.join(_DOCUMENTS)}, and other text."


class InvalidBase64Image(InvalidRequest):
    code = "invalid_base64_image"


class UnsupportedImageMediaType(InvalidRequest):
    code = "unsupported_image_media_type"


class UnsupportedFile(InvalidRequest):
    code = "unsupported_file"


def image(url: str, at: str) -> ImagePart:
    """`at` is the path that errors name. Raises InvalidRequest and its two kinds for images."""
    if url[:5].lower() != "data:":
        return ImagePart(_https(url, at))
    declared, payload = _split(url)
    media_type = _IMAGE_ALIASES.get(declared, declared)
    if media_type not in _IMAGE_HEADS:
        raise UnsupportedImageMediaType(
            f"'{at}' is of type '{media_type}'. What works: {', '.join(_IMAGE_HEADS)}.", param=at
        )
    content = _unpack(payload)
    if not content:
        raise InvalidBase64Image(f"'{at}' does not hold an image in base64 without spaces.", param=at)
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise InvalidBase64Image(f"'{at}' is larger than {MAX_ATTACHMENT_BYTES >> 20} MiB.", param=at)
    if not _IMAGE_HEADS[media_type](content[:16]):
        raise InvalidBase64Image(f"'{at}' says {media_type}, but its bytes are something else.", param=at)
    return ImagePart(f"data:{media_type};base64,{payload}")


def document(file: FileObject, at: str) -> FilePart:
    """Raises UnsupportedFile, InvalidRequest, or TooLarge (above 20 MiB)."""
    if file.file_id is not None:
        where = f"{at}.file_id"
        raise UnsupportedFile(f"'{where}': uploaded files are not served yet. Send 'file_data'.", param=where)
    if not file.file_data:
        raise InvalidRequest(f"Missing required parameter: '{at}.file_data'.", param=f"{at}.file_data")
    return _document(file.file_data, file.filename, f"{at}.file_data")


def document_address(url: str, filename: str | None, at: str) -> FilePart:
    return FilePart(url=_https(url, at), filename=filename or None)


def _document(data: str, filename: str | None, at: str) -> FilePart:
    media_type, payload = _split(data) if data[:5].lower() == "data:" else ("", data)
    content = _unpack(payload)
    if not content:
        raise UnsupportedFile(f"'{at}' does not hold a file in base64 without spaces.", param=at)
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise TooLarge(f"'{at}' is larger than {MAX_ATTACHMENT_BYTES >> 20} MiB.", param=at)
    found = _document_type(media_type, filename, content)
    if found is None:
        kind = f"is of type '{media_type}'" if media_type else "does not tell its type (give a filename)"
        raise UnsupportedFile(f"'{at}' {kind}. {_WORKS} Images go into an 'image_url' part.", param=at)
    return FilePart(data=f"data:{found};base64,{payload}", filename=filename or None)


def _document_type(media_type: str, filename: str | None, content: bytes) -> str | None:
    """The type to send: as declared, else by the file's name, else by its first bytes; None = not one that works."""
    if media_type and media_type != "application/octet-stream":
        return media_type if media_type in _DOCUMENTS.values() or media_type.startswith("text/") else None
    extension = (filename or "").rpartition(".")[2].lower()
    by_head = next((kind for head, kind in _DOCUMENT_HEADS.items() if content.startswith(head)), None)
    return _DOCUMENTS.get(extension) or by_head


def _split(url: str) -> tuple[str, str]:
    """A `data:` URL's media type in small letters, and its base64 text; no text where it is not in base64."""
    head = _DATA_URL.match(url)
    if head is None:
        return "", ""
    return head["type"].strip().lower(), url[head.end() :] if head["base64"] else ""


def _unpack(payload: str) -> bytes | None:
    try:
        return base64.b64decode(payload, validate=True)
    except (binascii.Error, ValueError):
        return None


def _https(url: str, at: str) -> str:
    """The address as it came. It is passed on, so it need not be reachable from here."""
    if url[:8].lower() != "https://":
        raise InvalidRequest(f"'{at}' must be an https address or a data URL.", param=at)
    try:
        parts = urlsplit(url)
        good = parts.hostname and not parts.username and not parts.password
    except ValueError:
        good = False
    if not good or len(url) > MAX_URL_LENGTH or _UNSAFE_IN_URL.search(url):
        raise InvalidRequest(f"'{at}' is not a plain https address.", param=at)
    return url
