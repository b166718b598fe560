"""Images and documents inside a message: checked here, before anything is uploaded, and never fetched by us.

Bare base64 and a `data:` URL of the same bytes come out equal.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from urllib.parse import urlsplit

from pplx_gateway import media
from pplx_gateway.errors import FileNotFound, InvalidRequest, TooLarge
from pplx_gateway.protocols.openai.content import FileObject
from pplx_gateway.question import FilePart, ImagePart

MAX_ATTACHMENT_BYTES = 20 << 20
MAX_URL_LENGTH = 8192
_LONGEST_SHOWN_TYPE = 80

Attached = Mapping[str, ImagePart | FilePart]
"""What the caller's own uploaded files hold, by their ids."""
NO_FILES: Attached = MappingProxyType({})

_UNSAFE_IN_URL = re.compile(r"[\x00-\x20\x7f]")
_WORKS = f"What works: {', '.join(media.DOCUMENTS)}, and other text."


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
    kind, payload = media.split_data_url(url)
    if not media.is_image(kind):
        works = ", ".join(media.IMAGES.values())
        raise UnsupportedImageMediaType(f"'{at}' is of type '{_shown(kind)}'. What works: {works}.", param=at)
    content = media.unpack(payload)
    if not content:
        raise InvalidBase64Image(f"'{at}' does not hold an image in base64 without spaces.", param=at)
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise InvalidBase64Image(f"'{at}' is larger than {MAX_ATTACHMENT_BYTES >> 20} MiB.", param=at)
    if media.contradicts(kind, content[: media.HEAD_BYTES]):
        raise InvalidBase64Image(f"'{at}' says {kind}, but its bytes are something else.", param=at)
    return ImagePart(f"data:{kind};base64,{payload}")


def document(file: FileObject, at: str, attached: Attached = NO_FILES) -> FilePart | ImagePart:
    """A file by its id may be an image. Raises UnsupportedFile, InvalidRequest, FileNotFound, or TooLarge (above
    20 MiB)."""
    if file.file_id is not None:
        return _uploaded(file, at, attached)
    if not file.file_data:
        raise InvalidRequest(f"Missing required parameter: '{at}.file_data'.", param=f"{at}.file_data")
    return document_data(file.file_data, file.filename, f"{at}.file_data")


def document_data(data: str, filename: str | None, at: str) -> FilePart:
    """A document by its bytes, as a `data:` URL or in bare base64. Raises UnsupportedFile, TooLarge."""
    kind, payload = media.split_data_url(data) if data[:5].lower() == "data:" else ("", data)
    content = media.unpack(payload)
    if not content:
        raise UnsupportedFile(f"'{at}' does not hold a file in base64 without spaces.", param=at)
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise TooLarge(f"'{at}' is larger than {MAX_ATTACHMENT_BYTES >> 20} MiB.", param=at)
    head = content[: media.HEAD_BYTES]
    found = kind if kind not in media.VAGUE_TYPES else media.by_name(filename or "") or media.by_head(head) or ""
    if not media.is_document(found):
        what = f"is of type '{_shown(found)}'" if found else "does not tell its type (give a filename)"
        raise UnsupportedFile(f"'{at}' {what}. {_WORKS} Images go into an image part.", param=at)
    if media.contradicts(found, head):
        raise UnsupportedFile(f"'{at}' says {found}, but its bytes are something else.", param=at)
    return FilePart(data=f"data:{found};base64,{payload}", filename=filename or None)


def document_address(url: str, filename: str | None, at: str) -> FilePart:
    return FilePart(url=_https(url, at), filename=filename or None)


def stored(kind: str, filename: str, content: bytes, at: str) -> ImagePart | FilePart:
    """An uploaded file as a part. Raises UnsupportedFile, TooLarge."""
    if len(content) > MAX_ATTACHMENT_BYTES:
        raise TooLarge(f"The file of '{at}' is larger than {MAX_ATTACHMENT_BYTES >> 20} MiB.", param=at)
    if media.is_image(kind):
        return ImagePart(media.data_url(kind, content), filename)
    if not media.is_document(kind):
        works = f"{_WORKS} So do images: {', '.join(media.IMAGES)}."
        raise UnsupportedFile(f"The file of '{at}' is of type '{_shown(kind)}'. {works}", param=at)
    return FilePart(data=media.data_url(kind, content), filename=filename)


def _uploaded(file: FileObject, at: str, attached: Attached) -> FilePart | ImagePart:
    where = f"{at}.file_id"
    if file.file_data is not None:
        raise InvalidRequest(f"'{at}' has both 'file_id' and 'file_data'. Send one.", param=where)
    part = attached.get(file.file_id or "")
    if part is None:
        raise no_such_file(where)
    return part


def no_such_file(at: str) -> FileNotFound:
    """The same for a file of somebody else's."""
    return FileNotFound(f"A file that '{at}' names is not kept here.", param=at)


def _shown(kind: str) -> str:
    """A type as the caller wrote it, safe in a message."""
    return "".join(letter for letter in kind[:_LONGEST_SHOWN_TYPE] if letter.isprintable())


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
