"""The layer around all others where traces are wanted: each request is a span, with what the ledger knows of it."""

from collections.abc import Callable, Iterator

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway import logs
from pplx_gateway.observing.tracing import Attribute, RequestSpan, Tracer
from pplx_gateway.store.ledger import Entry
from pplx_gateway.tab import Tab
from pplx_gateway.web.access import CALLER_LEFT, error_of
from pplx_gateway.web.authentication import is_admin, is_public
from pplx_gateway.web.faces import Face, face_of

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Traced:
    """No address stands in a span, only what it is about: an address may hold a key. `label` bounds the names of
    models, which anybody can make up."""

    def __init__(self, app: ASGIApp, tracer: Tracer, label: Callable[[str | None], str]) -> None:
        self._app = app
        self._tracer = tracer
        self._label = label

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        status = CALLER_LEFT

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        method = scope["method"] if scope["method"] in _METHODS else "_OTHER"
        with self._tracer.request(method, scope["headers"]) as span:
            logs.trace_id.set(span.trace_id)
            span.set("http.request.method", method)
            try:
                await self._app(scope, receive, noted)
            finally:
                self._finish(span, scope, method, status)

    def _finish(self, span: RequestSpan, scope: Scope, method: str, status: int) -> None:
        state = scope["state"]
        tab: Tab | None = state.get("tab")
        face = _face(scope["path"]) if tab is None else Face(tab.entry.face, tab.entry.operation)
        span.rename(f"{method} {face.protocol} {face.operation}")
        span.set("pplx.protocol", face.protocol)
        span.set("pplx.operation", face.operation)
        span.set("pplx.request_id", state["request_id"])
        span.set("http.response.status_code", status)
        for name, value in _used(tab.entry, self._label(tab.entry.served)) if tab else ():
            span.set(name, value)
        span.end(tab.entry.error if tab else error_of(state["facts"], status))


def _face(path: str) -> Face:
    """Of a request that is not in the ledger."""
    if is_public(path) or is_admin(path):
        return Face("gateway", "admin" if is_admin(path) else "page")
    return face_of(path)


def _used(entry: Entry, model: str) -> Iterator[tuple[str, Attribute]]:
    """Names as OpenTelemetry's conventions for generative models have them, where there are some."""
    known = {
        "pplx.upstream": entry.upstream,
        "gen_ai.response.model": model or None,
        "gen_ai.usage.input_tokens": entry.input_tokens or None,
        "gen_ai.usage.output_tokens": entry.output_tokens or None,
        "pplx.first_text_milliseconds": entry.first_text_milliseconds,
        "pplx.cost_dollars": None if entry.cost is None else entry.cost / 1e12,
    }
    return ((name, value) for name, value in known.items() if value is not None)
