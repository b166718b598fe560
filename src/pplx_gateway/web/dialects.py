"""In which dialect a request's errors are told, also by layers that know nothing else of it: 401, 404, 405, 413."""

from collections.abc import Awaitable, Iterable
from contextvars import ContextVar

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError
from pplx_gateway.protocols.anthropic import errors as anthropic
from pplx_gateway.protocols.anthropic.versions import is_anthropic
from pplx_gateway.protocols.openai import errors as openai
from pplx_gateway.protocols.perplexity import errors as perplexity
from pplx_gateway.web.faces import OTHER, face_of
from pplx_gateway.web.paths import normal

_request: ContextVar[Scope | None] = ContextVar("request", default=None)
_SHARED = ("models", OTHER)
"""What several dialects have under one path: there the caller's headers tell."""


class Dialects:
    """Notes the request for the layers below, which are handed on to without a coroutine of their own."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http":
            _request.set(scope)
        return self._app(scope, receive, send)


def render(error: GatewayError, more: Iterable[tuple[bytes, bytes]] = ()) -> openai.Rendered:
    """As the request at work reads it."""
    scope = _request.get()
    protocol = "openai" if scope is None else _protocol(scope)
    if protocol == "perplexity":
        return perplexity.render(error, more)
    return anthropic.render(error, more) if protocol == "anthropic" else openai.render(error, more)


def _protocol(scope: Scope) -> str:
    face = face_of(normal(scope["path"].removeprefix(scope.get("root_path", ""))))
    if face.protocol == "openai" and face.operation in _SHARED and is_anthropic(scope):
        return "anthropic"
    return face.protocol
