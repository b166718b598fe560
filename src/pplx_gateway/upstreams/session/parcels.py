"""Images and documents of a question, as they are sent to storage (docs/wire-session.md 5)."""

import msgspec

from pplx_gateway import media
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import TURNS, ImagePart
from pplx_gateway.upstreams.session.transcript import Attachment

MOST_BYTES = 20 << 20


class Parcel(msgspec.Struct, frozen=True, kw_only=True):
    """`name` is the file's base name, `size` is in bytes. The bytes are unpacked when they are needed, because in
    base64 they take a third more, and both at once for thirty files would be much."""

    attachment: Attachment
    name: str
    kind: str
    size: int

    @property
    def is_image(self) -> bool:
        return isinstance(self.attachment, ImagePart)

    def content(self) -> bytes:
        """Raises InvalidRequest."""
        content = media.unpack(media.split_data_url(_data(self.attachment))[1])
        if content is None:
            raise InvalidRequest("An attachment is not in base64.", param=TURNS)
        return content

    def __repr__(self) -> str:
        return f"Parcel(kind={self.kind!r}, size={self.size})"


def parcel(attachment: Attachment, number: int) -> Parcel:
    """`number` names what has no name of its own. Raises InvalidRequest."""
    kind, payload = media.split_data_url(_data(attachment))
    size = len(payload) * 3 // 4 - payload[-2:].count("=")
    if size > MOST_BYTES:
        raise InvalidRequest(f"An attachment is larger than {MOST_BYTES >> 20} MiB.", param=TURNS)
    return Parcel(attachment=attachment, name=_name(attachment, kind, number), kind=kind, size=size)


def _data(attachment: Attachment) -> str:
    return attachment.url if isinstance(attachment, ImagePart) else attachment.data or ""


def _name(attachment: Attachment, kind: str, number: int) -> str:
    """A name that climbs or holds what no name should is not worth a refusal: the file is the same without it."""
    what = "image" if isinstance(attachment, ImagePart) else "document"
    try:
        return media.base_name(attachment.filename or "")
    except ValueError:
        return f"{what}-{number}.{media.ending_of(kind)}"
