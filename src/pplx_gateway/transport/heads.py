"""Response heads from header lines, without I/O.

Lines come one at a time, as curl gives them: with their line ends, folded ones already joined (curl 8) or not (older).
There may be several blocks: informational ones (1xx) come before the one that counts, trailers after it.
"""

from pplx_gateway.transport.exchange import Headers

_BLOCK_ENDS = (b"\r\n", b"\n", b"")


class HeadReader:
    """Feed lines until `complete`; then `status` and `headers` hold the final response's. Later lines (trailers) are
    ignored."""

    __slots__ = ("_headers", "_lines", "_status", "complete", "status")

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._status = 0
        self.complete = False
        self.status = 0
        self._headers: Headers | None = None

    @property
    def headers(self) -> Headers:
        """Read when they are first asked for: most responses are known by their status."""
        if self._headers is None:
            self._headers = Headers(tuple(_pairs(self._lines)) if self.complete else ())
        return self._headers

    def feed(self, line: bytes) -> bool:
        """True once: for the line that completes the final head."""
        if self.complete:
            return False
        if line in _BLOCK_ENDS:
            return self._end_block()
        if line.startswith(b"HTTP/"):
            self._status = _status(line)
            self._lines.clear()
        else:
            self._lines.append(line)
        return False

    def _end_block(self) -> bool:
        if self._status < 200:
            return False
        self.status = self._status
        self.complete = True
        return True


def _status(line: bytes) -> int:
    """The number of `HTTP/1.1 200 OK` or `HTTP/2 200`; 0 for a line that has none (curl has refused those already)."""
    _, _, rest = line.partition(b" ")
    number = rest[:3]
    return int(number) if number.isdigit() else 0


def _pairs(lines: list[bytes]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for line in lines:
        text = line.decode("latin-1")
        if text[0] in " \t" and pairs:
            name, value = pairs[-1]
            pairs[-1] = (name, f"{value} {text.strip()}".strip())
            continue
        name, _, value = text.partition(":")
        pairs.append((name.strip().lower(), value.strip()))
    return pairs
