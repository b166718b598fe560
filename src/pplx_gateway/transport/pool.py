"""curl's easy handles, used again: making one costs more than cleaning one."""

from curl_cffi import Curl


class HandlePool:
    """Keeps at most `keep` idle handles. A handle that is given back is cleaned of headers, body and every option."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._idle: list[Curl] = []
        self._closed = False

    def take(self) -> Curl:
        return self._idle.pop() if self._idle else Curl()

    def give_back(self, curl: Curl) -> None:
        """The handle must have left AsyncCurl."""
        if self._closed or len(self._idle) >= self._keep:
            curl.close()
            return
        curl.clean_handles_and_buffers()  # `reset` alone leaks the headers into the next request
        curl.reset()
        self._idle.append(curl)

    def close(self) -> None:
        self._closed = True
        while self._idle:
            self._idle.pop().close()
