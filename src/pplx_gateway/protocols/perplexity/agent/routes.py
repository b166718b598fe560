"""Where the Agent API is found: under `/perplexity` by both its names, at the root as `/v1/agent`; `/v1/responses` is
OpenAI's there."""

from collections.abc import Awaitable
from functools import partial

from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.kept.content import ContentCall
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.operation import Operation
from pplx_gateway.protocols.operation import route as work
from pplx_gateway.protocols.perplexity.agent import kept
from pplx_gateway.protocols.perplexity.agent.create import CreateRun, Means
from pplx_gateway.protocols.perplexity.agent.watching import RunWatch
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels

PATHS = (
    "/v1/agent",
    "/agent",
    "/perplexity/v1/agent",
    "/perplexity/agent",
    "/perplexity/v1/responses",
    "/perplexity/responses",
)
_LISTED = ("/v1/agent", "/perplexity/v1/agent")


class AgentRoutes:
    """Looks after runs in the background as long as the gateway is open."""

    def __init__(self, gateway: Gateway, background: Background) -> None:
        watch = RunWatch(gateway)
        watch.begin()
        self._gateway = gateway
        self._create = CreateRun(gateway, Means(watch, SonarModels(gateway), background))
        self._kept = kept.KeptRuns(background)
        self._one = _Retrieve(gateway, self._kept)
        self._content = Border(gateway, partial(ContentCall, kept.content))

    def hot(self) -> dict[str, ASGIApp]:
        """What answers a POST at once, by path."""
        return dict.fromkeys(PATHS, self._create)

    def routes(self) -> list[BaseRoute]:
        return [route for path in PATHS for route in self._below(path)]

    def _below(self, path: str) -> list[BaseRoute]:
        one, listed = f"{path}/{{id}}", path in _LISTED
        add = partial(work, self._gateway, listed=listed)
        return [
            Route(one, self._one, methods=["GET"], include_in_schema=listed),
            add(f"{one}/cancel", {"POST": self._kept.cancel}),
            add(f"{one}/files", {"GET": self._kept.files}),
            Route(f"{one}/files/{{file_id}}/content", self._content, methods=["GET"], include_in_schema=listed),
        ]


class _Retrieve:
    """The response whole, or its events."""

    def __init__(self, gateway: Gateway, runs: kept.KeptRuns) -> None:
        self._whole = Border(gateway, partial(Operation, runs.retrieve))
        self._events = Border(gateway, kept.FollowCall)

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        wanted = self._events if kept.streamed(scope) else self._whole
        return wanted(scope, receive, send)
