"""`POST /v1/messages`, plain and streamed: one question in Anthropic's words."""

import secrets
from functools import partial
from itertools import count

from starlette.types import Receive, Scope, Send

from pplx_gateway import fresh
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import GatewayError
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.anthropic import errors
from pplx_gateway.protocols.anthropic.blocks import NewId
from pplx_gateway.protocols.anthropic.conversation import named_files
from pplx_gateway.protocols.anthropic.names import AnthropicModels
from pplx_gateway.protocols.anthropic.question import Ready, Shown, prepare
from pplx_gateway.protocols.anthropic.reply import MessageReply
from pplx_gateway.protocols.anthropic.request import CountRequest, MessagesRequest
from pplx_gateway.protocols.anthropic.stream import PING, MessageStream
from pplx_gateway.protocols.counting import estimated_tokens
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.attached import read_files
from pplx_gateway.protocols.openai.call import Border, told_headers
from pplx_gateway.protocols.openai.chat import Asked, ChatCall, Renderer, Reply
from pplx_gateway.protocols.openai.reply import Head, Told
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.routing import Route
from pplx_gateway.sse import KEEP_ALIVE
from pplx_gateway.web.headers import RawHeaders


class Messages(Border):
    def __init__(self, gateway: Gateway, models: AnthropicModels) -> None:
        super().__init__(gateway, partial(_MessagesCall, models))


class _MessagesCall(ChatCall):
    def __init__(self, models: AnthropicModels, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._models = models
        self._shown = Shown()
        self._input_tokens = 0
        self._opening: MessageStream | None = None

    async def _asked(self) -> Asked:
        body = await self._body()
        request = decode(body, MessagesRequest)
        route = pinning.keyed(self._models.resolve(request.model), pinning.key_name(self._scope))
        ready = await understood(request, unknown_keys(body, MessagesRequest), route, self._gateway, self._caller)
        self._shown = ready.shown
        self._input_tokens = estimated_tokens(ready.prepared.question)
        return Asked(ready.prepared, route, bool(request.stream))

    def _reply(self, told: Told) -> Reply:
        return MessageReply(told, self._shown, ids(), input_tokens=self._input_tokens)

    def _renderer(self, head: Head, told: Told) -> Renderer:
        self._opening = MessageStream(head, told, self._shown, ids(), input_tokens=self._input_tokens)
        return self._opening

    def _fresh_id(self) -> str:
        return fresh.name("msg_")

    def _headers(self, requested: str, told: Told) -> RawHeaders:
        return [*told_headers(requested, told), *errors.request_id()]

    def _keep_alive(self) -> bytes:
        """A ping is an event, and the first event must be the message's start."""
        return PING if self._opening is not None and self._opening.opened else KEEP_ALIVE

    def _last_words(self, error: GatewayError) -> bytes:
        return errors.event(error)


async def understood(
    request: CountRequest, unknown: tuple[str, ...], route: Route, gateway: Gateway, caller: str
) -> Ready:
    """The request for whoever answers first, with the files that it names. Raises as `prepare` and `read_files` do."""
    files = await read_files(named_files(request), gateway, caller)
    target = Target(route.targets[0].upstream, gateway.support(route), gateway.unsupported)
    return prepare(request, route.requested, target, unknown, files)


def ids() -> NewId:
    """Makes ids that differ from each other and from those of all other answers."""
    prefix, numbers = secrets.token_hex(10), count(1)
    return lambda: f"{prefix}{next(numbers):04x}"
