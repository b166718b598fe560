"""`POST /v1/sonar` and `POST /chat/completions` in Perplexity's dialect: one chat completion in other words."""

import uuid
from datetime import UTC, date, datetime
from functools import partial

from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import GatewayError
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.attached import attached
from pplx_gateway.protocols.openai.call import Border, chat_target
from pplx_gateway.protocols.openai.chat import Asked, ChatCall, Renderer, Reply
from pplx_gateway.protocols.openai.reply import Head, Told
from pplx_gateway.protocols.openai.search import web_options
from pplx_gateway.protocols.perplexity import errors
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.protocols.perplexity.sonar.objects import Shown
from pplx_gateway.protocols.perplexity.sonar.question import prepare, read
from pplx_gateway.protocols.perplexity.sonar.reply import SonarReply
from pplx_gateway.protocols.perplexity.sonar.request import SonarRequest
from pplx_gateway.protocols.perplexity.sonar.stream import ConciseStream, FullStream
from pplx_gateway.protocols.perplexity.sonar.usage import BY_SEARCHES
from pplx_gateway.routing import Route


class Sonar(Border):
    def __init__(self, gateway: Gateway, models: SonarModels) -> None:
        super().__init__(gateway, partial(_SonarCall, models))


class _SonarCall(ChatCall):
    def __init__(self, models: SonarModels, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self._models = models
        self._shown = Shown()
        self._stream_type: type[ConciseStream | FullStream] = FullStream

    async def _asked(self) -> Asked:
        found = read(await self._body(), today(self._gateway))
        request = found.request
        route = pinning.keyed(self._models.resolve(request.model), pinning.key_name(self._scope))
        files = await attached(request, self._gateway, self._caller)
        prepared = prepare(found, route.requested, chat_target(self._gateway, route), files)
        self._shown = shown(request, route)
        self._stream_type = ConciseStream if request.stream_mode == "concise" else FullStream
        return Asked(prepared, route, bool(request.stream))

    def _reply(self, told: Told) -> Reply:
        return SonarReply(told, self._shown)

    def _renderer(self, head: Head, told: Told) -> Renderer:
        return self._stream_type(head, told, self._shown)

    def _fresh_id(self) -> str:
        return str(uuid.uuid4())

    def _last_words(self, error: GatewayError) -> bytes:
        """Perplexity's SDKs notice an error in a stream by the event's name alone."""
        return b"event: error\n" + errors.frame(error)


def shown(request: SonarRequest, route: Route) -> Shown:
    options = web_options(request)
    return Shown(
        num_images=request.num_images,
        context_size=options.search_context_size,
        by_searches=not BY_SEARCHES.isdisjoint((route.requested.rpartition("/")[2], route.targets[0].id)),
    )


def today(gateway: Gateway) -> date:
    return datetime.fromtimestamp(gateway.clock.now(), UTC).date()
