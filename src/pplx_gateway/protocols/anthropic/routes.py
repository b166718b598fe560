"""Where Anthropic's protocol is found."""

from collections.abc import Awaitable, Callable
from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import UnsupportedOperation
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols import operation
from pplx_gateway.protocols.anthropic import errors
from pplx_gateway.protocols.anthropic.call import Messages, understood
from pplx_gateway.protocols.anthropic.count import TokenCount
from pplx_gateway.protocols.anthropic.models import ModelRoutes
from pplx_gateway.protocols.anthropic.names import AnthropicModels
from pplx_gateway.protocols.anthropic.request import CountRequest
from pplx_gateway.protocols.anthropic.versions import is_anthropic
from pplx_gateway.protocols.counting import ESTIMATE, estimated_tokens
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.operation import Operation, Reply, refusing

MESSAGES_PATH = "/v1/messages"
COUNT_PATH = f"{MESSAGES_PATH}/count_tokens"
_BATCHES = f"{MESSAGES_PATH}/batches"
_NO_BATCHES = UnsupportedOperation("Batches of messages: there are none here. Use /v1/batches with /v1/responses.")

Endpoint = Callable[[Request], Awaitable[Response]]


class AnthropicRoutes:
    """Raises SettingsError where the owner's table of models cannot be read."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._models = AnthropicModels(gateway)
        self._model_routes = ModelRoutes(gateway, self._models)

    def hot(self) -> dict[str, ASGIApp]:
        """What answers a POST at once, by path."""
        return {MESSAGES_PATH: Messages(self._gateway, self._models)}

    def routes(self) -> list[BaseRoute]:
        batches = Border(self._gateway, partial(Operation, refusing(_NO_BATCHES)))
        return [
            operation.route(self._gateway, COUNT_PATH, {"POST": self._count}),
            Route(_BATCHES, batches, include_in_schema=False),
            Route(f"{_BATCHES}/{{rest:path}}", batches, include_in_schema=False),
        ]

    def every_model(self, others: Endpoint) -> Endpoint:
        """`others` for callers of another protocol."""
        return _by_version(self._model_routes.every, others)

    def one_model(self, others: Endpoint) -> Endpoint:
        return _by_version(self._model_routes.one, others)

    async def _count(self, call: Operation) -> Reply:
        body = await call.body()
        request = decode(body, CountRequest)
        route = self._models.resolve(request.model)
        ready = await understood(request, unknown_keys(body, CountRequest), route, self._gateway, call.caller)
        count = TokenCount(estimated_tokens(ready.prepared.question), {"usage_estimated": True})
        told = [*operation.warned([ESTIMATE, *ready.prepared.warnings]), *operation.dropped(ready.prepared.dropped)]
        return operation.json(count, [*told, *errors.request_id()])


def _by_version(ours: Endpoint, others: Endpoint) -> Endpoint:
    async def chosen(request: Request) -> Response:
        return await (ours if is_anthropic(request.scope) else others)(request)

    return chosen
