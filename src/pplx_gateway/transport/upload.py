"""A request's body on its way into curl, so that no request is ever asked twice.

curl repeats a request by itself when a kept connection dies without an answer, although the upstream may have begun
(and billed) the work. It cannot where the body cannot be rewound, so the body is a reader without a seek. What curl's
repeat was for is done here: a kept connection that the other side has already closed is noticed just before the body
leaves, while a repeat is still surely harmless.
"""

import select

from curl_cffi import Curl, CurlInfo
from curl_cffi.curl import CURL_READFUNC_ABORT

_HANG_UP = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0) | getattr(select, "POLLERR", 0)


class Upload:
    """One for each handle, loaded for each request with a body. `stale` is set where the transfer was stopped because
    the kept connection was dead and nothing had been asked."""

    __slots__ = ("_body", "_checked", "_curl", "_sent", "stale")

    def __init__(self, curl: Curl) -> None:
        self._curl = curl
        self.load(b"")

    def load(self, body: bytes) -> None:
        self._body = body
        self._sent = 0
        self._checked = False
        self.stale = False

    def read(self, limit: int) -> bytes | int:
        """curl's read callback."""
        if not self._checked:
            self._checked = True
            if self._on_dead_connection():
                self.stale = True
                return CURL_READFUNC_ABORT
        piece = self._body[self._sent : self._sent + limit]
        self._sent += len(piece)
        if self._sent == len(self._body):
            self._body, self._sent = b"", 0  # an answer may take minutes, and a body be large
        return piece

    def rewind(self) -> None:
        """For the repeat on a fresh connection, which needs no check. Nothing had been read."""
        self.stale = False

    def _on_dead_connection(self) -> bool:
        if self._curl.getinfo(CurlInfo.NUM_CONNECTS):
            return False
        descriptor = self._curl.getinfo(CurlInfo.ACTIVESOCKET)
        return isinstance(descriptor, int) and descriptor >= 0 and hung_up(descriptor)


def hung_up(descriptor: int) -> bool:
    """True if the other side has closed or reset this socket. False where the platform cannot tell (Windows)."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(descriptor, _HANG_UP)
    return bool(poll.poll(0))
