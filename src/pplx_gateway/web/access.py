"""The outermost layer: an id on every reply, and one line in the log for each."""

import logging
from collections.abc import Awaitable

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway import fresh, logs
from pplx_gateway.clock import Clock
from pplx_gateway.observing.watching import Watch
from pplx_gateway.protocols.mcp.path_keys import redacted
from pplx_gateway.tab import Tab

logger = logging.getLogger("pplx_gateway.access")

_LONGEST_PATH = 200
_LEFT = "caller_left"
CALLER_LEFT = 499  # nginx's number for a caller who went away before anything was sent


class Access:
    """Sets `scope["state"]`: `request_id`, `caller` ("open" until authentication knows better) and `facts`, which later
    layers add to for the log line. A client's own id is never used."""

    def __init__(self, app: ASGIApp, clock: Clock, watch: Watch) -> None:
        self._app = app
        self._clock = clock
        self._watch = watch

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = fresh.name("req_")
        logs.request_id.set(request_id)
        state = scope.setdefault("state", {})
        state.update(request_id=request_id, caller="open", facts={})
        header = (b"x-request-id", request_id.encode())
        path = redacted(scope["path"])
        start = self._clock.monotonic()
        status = CALLER_LEFT

        async def begin(message: Message) -> None:
            nonlocal status
            status = message["status"]
            tab: Tab | None = state.get("tab")
            more = tab.told(message.get("headers", ())) if tab else ()
            await send({**message, "headers": [*message.get("headers", ()), header, *more]})

        def tagged(message: Message) -> Awaitable[None]:
            return begin(message) if message["type"] == "http.response.start" else send(message)

        try:
            await self._app(scope, receive, tagged)
        finally:
            if (tab := state.get("tab")) is not None:
                tab.end(status, error_of(state["facts"], status))
            else:
                self._watch.unlisted(scope["path"], status)
            if logger.isEnabledFor(logging.INFO):
                self._log(scope, path, status, self._clock.monotonic() - start)

    def _log(self, scope: Scope, path: str, status: int, seconds: float) -> None:
        """No query string and no header: both may hold a key."""
        facts = scope["state"]
        logger.info(
            "request",
            extra={
                "method": scope["method"],
                "path": path[:_LONGEST_PATH],
                "status": status,
                "milliseconds": round(seconds * 1000, 1),
                "caller": facts["caller"],
                **facts["facts"],
            },
        )


def error_of(facts: dict[str, object], status: int) -> str | None:
    """The code of what went wrong, as far as the layers below have told."""
    if facts.get("left") or status == CALLER_LEFT:
        return _LEFT
    error = facts.get("error")
    return str(error) if error else f"http_{status}" if status >= 400 else None
