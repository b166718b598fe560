"""curl's easy handles, used again: making and preparing one costs more than the rest of a request's options."""

from collections.abc import Callable

from curl_cffi import Curl

from pplx_gateway.transport.handle import Handle
from pplx_gateway.transport.options import Form


class HandlePool:
    """Keeps at most `keep` idle handles, each for requests of the form that `prepare` made it ready for.

    curl's own `reset` is no way to make a used handle fit another form: it leaks headers into the next request.
    """

    def __init__(self, keep: int, prepare: Callable[[Curl, Form], None]) -> None:
        self._keep = keep
        self._prepare = prepare
        self._idle: dict[Form, list[Handle]] = {}
        self._kept = 0
        self._closed = False

    def take(self, form: Form) -> Handle:
        if idle := self._idle.get(form):
            self._kept -= 1
            return idle.pop()
        curl = Curl()
        try:
            self._prepare(curl, form)
        except BaseException:
            curl.close()
            raise
        return Handle(curl, uploads=form.uploads)

    def give_back(self, handle: Handle, form: Form) -> None:
        """For a handle that has left AsyncCurl after a transfer that came to its end; any other is to be closed."""
        if self._closed or self._kept >= self._keep:
            handle.close()
            return
        handle.rest()
        self._idle.setdefault(form, []).append(handle)
        self._kept += 1

    def close(self) -> None:
        self._closed = True
        for idle in self._idle.values():
            while idle:
                idle.pop().close()
