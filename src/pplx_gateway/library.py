"""The gateway from Python, without HTTP: `async with Gateway(settings) as gateway` asks questions and streams events.

The same object is an ASGI app to mount in another program (`gateway.app`).
"""

from collections.abc import Sequence
from functools import cached_property

import msgspec
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway import environment, opening
from pplx_gateway.answer import Answer
from pplx_gateway.capabilities import Use, settle, used_features
from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway as Parts
from pplx_gateway.question import Effort, Message, Question, Search, TextPart
from pplx_gateway.settings import Settings
from pplx_gateway.web.app import create_app
from pplx_gateway.web.authentication import OWNER


class OpenGateway:
    """What a Gateway is inside its block. All of it raises GatewayError (errors.py)."""

    def __init__(self, gateway: Parts) -> None:
        self.gateway = gateway

    def ask(
        self,
        question: str | Question,
        model: str | None = None,
        *,
        effort: Effort | None = None,
        search: Search | None = None,
        history: Sequence[Message] = (),
        caller: str = OWNER,
    ) -> Exchange:
        """One question under way: `async with` it, and `async for` its batches, which are lists of answer events
        (answer.py). Leaving it ends the work upstream.

        `model` None = DEFAULT_MODEL. `history`: turns before this one. `caller` tells apart whose threads and costs it
        is. Raises InvalidRequest, ModelNotFound, and UnsupportedParameter for what the model cannot honour: nothing is
        left out in silence.
        """
        route = self.gateway.resolve(question.model if isinstance(question, Question) and model is None else model)
        if isinstance(question, str):
            if not question.strip():
                raise InvalidRequest("The question is empty.", param="question")
            turns = (*history, Message("user", (TextPart(question),)))
            question = Question(model=route.requested, turns=turns, effort=effort, search=search or Search())
        else:
            question = msgspec.structs.replace(question, model=route.requested)
        target = route.targets[0]
        uses = [Use(feature.value, feature) for feature in sorted(used_features(question))]
        settle(uses, self.gateway.support(route), "reject", target.upstream)
        return self.gateway.ask(question, route, caller=caller)

    async def answer(
        self,
        question: str | Question,
        model: str | None = None,
        *,
        effort: Effort | None = None,
        search: Search | None = None,
        history: Sequence[Message] = (),
        caller: str = OWNER,
    ) -> Answer:
        """The whole answer. Takes and raises what `ask` does."""
        answer = Answer()
        asked = self.ask(question, model, effort=effort, search=search, history=history, caller=caller)
        async with asked as exchange:
            async for batch in exchange:
                answer.collect(batch)
        return answer

    def models(self) -> list[Model]:
        """What can be asked now."""
        return self.gateway.models()

    @cached_property
    def app(self) -> ASGIApp:
        """All of the gateway's HTTP, to be mounted under any path. Host, Origin and key are checked as ever."""
        return Mounted(create_app(self.gateway))


class Mounted:
    """Whatever path the app is mounted under is taken away before it looks."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope.get("root_path", "")
        if root and scope["type"] == "http" and scope["path"].startswith(root):
            path = scope["path"][len(root) :] or "/"
            scope = {**scope, "path": path, "raw_path": path.encode(), "root_path": ""}
        await self._app(scope, receive, send)


class Gateway:
    """Open inside its `async with`, and closed in stages at the block's end. `settings` None = those of the environment
    and `.env`. Entering raises SettingsError, ValueError that names the setting, StoreUnavailable."""

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = settings
        self._opened: list[Parts] = []

    async def __aenter__(self) -> OpenGateway:
        settings = environment.load().settings if self._settings is None else self._settings
        environment.check(settings)
        self._opened.append(await opening.open_gateway(settings, Clock(settings.clock_factor)))
        return OpenGateway(self._opened[-1])

    async def __aexit__(self, *_: object) -> None:
        await self._opened.pop().close()
