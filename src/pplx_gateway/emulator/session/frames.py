"""Frames to bytes, as the ask endpoint writes them (docs/wire-session.md 2.1): event line, one data line, CRLF."""

from collections.abc import Iterable

import msgspec

from pplx_gateway.emulator.script import Bytes, Step

Json = dict[str, object]
Frame = Json

END_OF_STREAM = b"event: end_of_stream\r\ndata: {}\r\n\r\n"
KEEP_ALIVE = b": keepalive\r\n\r\n"


def encode(frame: Frame, event: str = "message") -> bytes:
    """One server-sent event."""
    return b"event: " + event.encode() + b"\r\ndata: " + msgspec.json.encode(frame) + b"\r\n\r\n"


class Verdict(Bytes, frozen=True):
    """The write of a frame that ends the answer. `status` is the frame's: COMPLETED or FAILED."""

    status: str


def write(frame: Frame) -> Bytes:
    """The network write of one frame."""
    status = str(frame.get("status", "")).upper()
    return Verdict(encode(frame), status) if status in ("COMPLETED", "FAILED") else Bytes(encode(frame))


def written(frames: Iterable[Frame]) -> list[Step]:
    return [write(frame) for frame in frames]
