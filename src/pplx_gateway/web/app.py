"""The gateway as an ASGI app.

Layers from outside: ids and access log, Host, Origin and CORS, path forms, authentication, the ledger's tab, what a
caller's key permits, limits, routes. The hot route is found by its path in a dict; Starlette serves the others and the
mistakes.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError, InternalError, MethodNotAllowed
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.anthropic.routes import AnthropicRoutes
from pplx_gateway.protocols.mcp.http import mcp_routes
from pplx_gateway.protocols.mcp.path_keys import PathKeys
from pplx_gateway.protocols.openai import operations
from pplx_gateway.protocols.openai.chat import Chat
from pplx_gateway.protocols.openai.files import FileRoutes
from pplx_gateway.protocols.openai.models import Models
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.openai.responses.create import CreateResponse
from pplx_gateway.protocols.openai.responses.listing import ListResponses
from pplx_gateway.protocols.openai.responses.routes import RESPONSES_PATH, ResponseRoutes
from pplx_gateway.protocols.perplexity import routes as perplexity
from pplx_gateway.protocols.perplexity.agent.routes import AgentRoutes
from pplx_gateway.protocols.perplexity.sonar.routes import SonarRoutes
from pplx_gateway.web import (
    admin,
    admin_caller_keys,
    admin_files,
    admin_keys,
    admin_models,
    admin_quota,
    admin_report,
    admin_requests,
    admin_settings,
    admin_usage,
    admin_wire,
    metrics,
    pages,
)
from pplx_gateway.web.access import Access
from pplx_gateway.web.authentication import Authentication
from pplx_gateway.web.dialects import Dialects
from pplx_gateway.web.health import HealthRoute
from pplx_gateway.web.hosts import Hosts
from pplx_gateway.web.limits import Limits
from pplx_gateway.web.openapi import openapi
from pplx_gateway.web.origins import Origins
from pplx_gateway.web.paths import Paths
from pplx_gateway.web.permission import Permission
from pplx_gateway.web.replies import error_response
from pplx_gateway.web.signpost import Signpost
from pplx_gateway.web.tabs import Tabs
from pplx_gateway.web.traced import Traced


def create_app(gateway: Gateway) -> ASGIApp:
    """`gateway` is open; it is closed at the end of the app's lifespan, where a server runs one. A loop must be running
    if it has a supervisor: work on responses that were left under way begins here.

    Layers that only look hand on what the next one returns, without a coroutine of their own: each would take its part
    of every chunk's time and of every stream's memory."""
    settings = gateway.settings
    background = Background(gateway)
    background.begin()
    hot: dict[str, ASGIApp] = {
        "/v1/chat/completions": Chat(gateway),
        RESPONSES_PATH: CreateResponse(gateway, background),
    }
    sonar = SonarRoutes(gateway, background)
    agent = AgentRoutes(gateway, background)
    anthropic = AnthropicRoutes(gateway)
    hot |= sonar.hot() | agent.hot() | anthropic.hot()
    routes = [
        *(Route(path, app, methods=["POST"]) for path, app in hot.items()),
        *sonar.routes(),
        *agent.routes(),
        *anthropic.routes(),
        *_cold_routes(gateway, background, anthropic),
    ]
    rest = _starlette(routes, gateway)
    app: ASGIApp = Dispatch(hot, rest)
    app = Limits(app, settings)
    app = Permission(app, gateway.caller_limits)
    app = Tabs(app, gateway.ledger)
    app = Authentication(app, settings, gateway.caller_keys)
    app = PathKeys(app, rest, settings)
    app = Paths(app, frozenset(hot))
    app = Origins(app, settings)
    app = Hosts(app, settings)
    app = Dialects(app)
    app = Access(app, gateway.clock, gateway.ledger.watch)
    observer = gateway.observer
    if observer is None or observer.tracer is None:
        return app
    return Traced(app, observer.tracer, observer.requests.label)


class Dispatch:
    """Hot routes by exact path, everything else through Starlette."""

    def __init__(self, hot: dict[str, ASGIApp], rest: ASGIApp) -> None:
        self._hot = hot
        self._rest = rest

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        found = self._hot.get(scope["path"]) if scope.get("method") == "POST" else None
        return (found or self._rest)(scope, receive, send)


def _cold_routes(gateway: Gateway, background: Background, anthropic: AnthropicRoutes) -> list[BaseRoute]:
    models = Models(gateway)
    return [
        Route("/v1/models", anthropic.every_model(models.every)),
        Route("/v1/models/{id:path}", anthropic.one_model(models.one)),
        *FileRoutes(gateway).routes(),
        *operations.routes(gateway),
        *perplexity.routes(gateway),
        Route(RESPONSES_PATH, ListResponses(gateway).get, methods=["GET"]),
        *ResponseRoutes(gateway, background).routes(),
        *mcp_routes(gateway, background),
        Route("/health", HealthRoute(gateway).get),
        *admin.routes(gateway),
        *admin_models.routes(gateway),
        *admin_files.routes(gateway),
        *admin_keys.routes(gateway),
        *admin_caller_keys.routes(gateway),
        *admin_usage.routes(gateway),
        *admin_requests.routes(gateway),
        *admin_quota.routes(gateway),
        *admin_settings.routes(gateway),
        *admin_report.routes(gateway),
        *admin_wire.routes(gateway),
        *metrics.routes(gateway),
        Route("/openapi.json", openapi),
        Route("/docs", pages.docs),
        Route("/chat", pages.chat),
        Route("/admin", pages.admin),
        Route("/static/{name}", pages.static, include_in_schema=False),
        Route("/static/{release}/{name}", pages.lasting, include_in_schema=False),
        Route("/", pages.root, include_in_schema=False),
    ]


def _starlette(routes: Sequence[BaseRoute], gateway: Gateway) -> Starlette:
    signpost = Signpost(routes)

    async def failed(_: Request, error: Exception) -> Response:
        return error_response(error if isinstance(error, GatewayError) else _defect())

    async def wrong(request: Request, error: Exception) -> Response:
        allow = error.headers.get("Allow") if isinstance(error, HTTPException) and error.headers else None
        if allow:
            more = [(b"allow", allow.encode())]
            return error_response(MethodNotAllowed(f"This path takes {allow}, not {request.method}."), more)
        return error_response(signpost.lost(request.scope["path"]))

    app = Starlette(
        routes=routes,
        exception_handlers={GatewayError: failed, HTTPException: wrong, Exception: failed},
        lifespan=_closing(gateway),
    )
    app.router.redirect_slashes = False
    return app


def _closing(gateway: Gateway) -> Callable[[Starlette], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await gateway.close()

    return lifespan


def _defect() -> InternalError:
    return InternalError("The gateway failed on this request. Its log tells more under the request's id.")
