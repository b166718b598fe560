"""Server-sent events without I/O: bytes in, events out, and the way back.

The reader is liberal, because upstreams, proxies and releases differ (docs/wire-session.md 2.1): LF, CRLF and CR in any
mixture, a byte order mark, `data:` with and without its space, comments, no `event:` line, no blank line at the end.

How it works: only whole lines are looked at. An unfinished line waits as a list of pieces and is joined once, so a line
of megabytes costs no more than its length. A line ends at LF, with or without a CR before it, until there is a CR that
stands alone; from there on every line end is rewritten to LF before it is read.
"""

from typing import NamedTuple

from pplx_gateway.errors import UpstreamError

KEEP_ALIVE = b": keep-alive\n"
"""A comment that ends in one newline, because a blank line after a comment upsets some clients."""

MESSAGE = "message"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_AROUND_DATA_BYTES = len(b"data: \r")
_CR = ord("\r")  # a byte is found in a quarter of the time that a string of one takes


class Event(NamedTuple):
    """`event` is "message" where the stream names none; `data` is never empty, its lines are joined by LF."""

    event: str
    data: bytes


_made = tuple.__new__  # what Event(...) comes to, at half the time: every chunk of every answer is one


class EventReader:
    """Feed it bytes as they arrive: each call returns the events that it completed.

    Events without data (pings) are left out; `id` and `retry` are ignored. Raises UpstreamError where a line, or the
    data of one event, is longer than `limit_bytes`; the reader is of no use after that.
    """

    def __init__(self, limit_bytes: int = 8 << 20) -> None:
        self._limit_bytes = limit_bytes
        self._started = False
        self._lone_cr = False
        self._skip_lf = False  # the last byte was a CR that was rewritten to LF; its own LF may still come
        self._pieces: list[bytes] = []
        self._pieces_bytes = 0
        self._event = MESSAGE
        self._data: list[bytes] = []
        self._data_bytes = 0

    def feed(self, data: bytes) -> list[Event]:
        """Raises UpstreamError."""
        if not self._started:
            data = self._without_mark(data)
        if not data:
            return []
        if self._lone_cr:
            data = self._rewritten(data)
        if self._pieces:
            if b"\n" not in data and b"\r" not in data:
                self._hold(data)
                return []
            data = self._taken() + data
        return self._read(data)

    def close(self) -> list[Event]:
        """The end of the stream: what stands there without a blank line counts as an event. It may have been cut short;
        whoever decodes it finds out. Raises UpstreamError."""
        rest = self._taken()
        events = self._read(rest + b"\n") if rest else []
        self._dispatch(events)
        return events

    def _read(self, data: bytes) -> list[Event]:
        events: list[Event] = []
        lines = self._lines(data) if _CR in data else data.split(b"\n")
        rest = lines.pop()
        for line in lines:
            if line.startswith(b"data:"):
                self._add(line[6:] if line.startswith(b" ", 5) else line[5:])
            elif line:
                self._field(line)
            else:
                self._dispatch(events)
        if rest:
            self._read_rest(rest, events)
        return events

    def _lines(self, data: bytes) -> list[bytes]:
        """Without the CR of their ends, but for the last one, which is unfinished: the LF after its CR may still come.
        Where lines are long, as the session's are, to look for their ends one by one is several times quicker than to
        split."""
        lines: list[bytes] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = data[start : end - 1 if end > start and data[end - 1] == _CR else end]
            if _CR in line:
                break
            lines.append(line)
            start = end + 1
        rest = data[start:]
        if end >= 0 or _CR in rest[:-1]:
            self._lone_cr = True
            return lines + self._rewritten(rest).split(b"\n")
        return [*lines, rest]

    def _read_rest(self, rest: bytes, events: list[Event]) -> None:
        if rest == b"\r":
            # A blank line. The event must not wait for the LF, which will only be one more blank line.
            self._dispatch(events)
        else:
            self._hold(rest)

    def _field(self, line: bytes) -> None:
        if len(line) > self._limit_bytes:
            raise self._too_large()
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._event = value.decode("utf-8", "replace") or MESSAGE
        elif name == b"data":
            self._add(value)

    def _add(self, value: bytes) -> None:
        self._data_bytes += len(value)
        if self._data_bytes > self._limit_bytes:
            raise self._too_large()
        self._data.append(value)

    def _dispatch(self, events: list[Event]) -> None:
        if self._data_bytes:
            data = self._data
            events.append(_made(Event, (self._event, data[0] if len(data) == 1 else b"\n".join(data))))
            self._data_bytes = 0
            self._data = []
        elif self._data:
            self._data = []
        self._event = MESSAGE

    def _hold(self, piece: bytes) -> None:
        self._pieces_bytes += len(piece)
        if self._data_bytes + self._pieces_bytes > self._limit_bytes + _AROUND_DATA_BYTES:
            raise self._too_large()
        self._pieces.append(piece)

    def _taken(self) -> bytes:
        held = b"".join(self._pieces)
        self._pieces.clear()
        self._pieces_bytes = 0
        return held

    def _rewritten(self, data: bytes) -> bytes:
        if self._skip_lf:
            data = data.removeprefix(b"\n")
        self._skip_lf = data.endswith(b"\r")
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _without_mark(self, data: bytes) -> bytes:
        data = self._taken() + data
        if len(data) < len(_BYTE_ORDER_MARK) and _BYTE_ORDER_MARK.startswith(data):
            self._pieces.append(data)
            return b""
        self._started = True
        return data.removeprefix(_BYTE_ORDER_MARK)

    def _too_large(self) -> UpstreamError:
        return UpstreamError(f"The upstream sent one event of more than {self._limit_bytes} bytes.")


def encode(data: bytes, event: str | None = None) -> bytes:
    """One whole event, line ends LF. Line breaks in `data` (of any kind) make several data lines, which readers join by
    LF. Raises ValueError for an event name with a line break in it."""
    if event is None:
        head = b"data: "
    elif "\n" in event or "\r" in event:
        raise ValueError("an event name cannot hold a line break")
    else:
        head = b"event: " + event.encode() + b"\ndata: "
    if b"\n" in data or b"\r" in data:
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").replace(b"\n", b"\ndata: ")
    return head + data + b"\n\n"
