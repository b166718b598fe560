"""The model `router` on the Agent API's paths: how hard the question is decides which model the run is asked of."""

from collections.abc import Sequence

import msgspec

from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import InvalidRequest, RequestError
from pplx_gateway.protocols.openai.responses.asking import prepared
from pplx_gateway.protocols.perplexity.agent.bound import Bonds
from pplx_gateway.protocols.perplexity.agent.in_other_words import in_other_words
from pplx_gateway.protocols.perplexity.agent.items import InputItem, InputText, Message
from pplx_gateway.protocols.perplexity.agent.reading import Read
from pplx_gateway.protocols.perplexity.agent.request import Reasoning
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.question import Message as Turn
from pplx_gateway.question import Question, TextPart
from pplx_gateway.routing import Route
from pplx_gateway.tab import current_tab
from pplx_gateway.tier_router import is_router
from pplx_gateway.tiers import Aim, Tiers

_EFFORTS = (Support.HONOURED, Support.EMULATED)


async def routed(found: Read, bonds: Bonds, models: SonarModels) -> tuple[Read, Route | None]:
    """The request as the tier wants it, and who answers; None where the router is not named. Raises RequestError before
    anything is rated, where nobody can answer it; StoreUnavailable."""
    request = found.request
    if request.models or request.model is None or not is_router(request.model):
        return found, None
    route = models.resolve(request.model)
    if route.tiers is None:
        return found, None
    return await _Routing(bonds, route, route.tiers).routed(found, await bonds.upstream(request, models))


class _Routing:
    """`route` is the router's own."""

    def __init__(self, bonds: Bonds, route: Route, tiers: Tiers) -> None:
        self._bonds = bonds
        self._gateway = bonds.gateway
        self._route = route
        self._tiers = tiers

    async def routed(self, found: Read, only: str | None) -> tuple[Read, Route]:
        """`only`: the upstream that must answer."""
        fitting = await self._fitting(found, only)
        tier = await self._tier(found)
        aims = [aim for aim in tier if aim.model in fitting]
        first = aims[0]
        models = dict.fromkeys(aim.model for aim in aims if aim.model.upstream == first.model.upstream)
        return self._with_effort(found, first), Route(self._route.requested, tuple(models))

    async def _fitting(self, found: Read, only: str | None) -> Sequence[Model]:
        fitting: list[Model] = []
        refusal: RequestError | None = None
        for model in self._route.targets:
            if only in (None, model.upstream):
                refused = await self._refused(found, model)
                refusal = refusal or refused
                if refused is None:
                    fitting.append(model)
        if not fitting:
            words = f"The router has no model of the {only} upstream, which alone can answer this: name a model."
            raise refusal or InvalidRequest(words, param="model")
        return fitting

    async def _refused(self, found: Read, model: Model) -> RequestError | None:
        """What the session would say to it; the API judges for itself."""
        if model.upstream == "api":
            return None
        gateway, route = self._gateway, Route(self._route.requested, (model,))
        try:
            worded = in_other_words(found.request, found.items, gateway.unsupported, model.upstream)
            with worded.errors_as_written():
                await prepared(worded.request, b"{}", route, gateway, self._bonds.caller)
        except RequestError as error:
            return error
        return None

    async def _tier(self, found: Read) -> Sequence[Aim]:
        name = self._route.requested
        said = Turn("user", (TextPart(last_text(found.items)),))
        question = Question(model=name, turns=(said,), key_name=self._bonds.pinned)
        notes = self._gateway.ledger.apart(self._bonds.caller, "decisions", name)
        rating = await self._gateway.complexity.rate(question, notes, spending=self._tiers.spending)
        if (tab := current_tab.get()) is not None:
            tab.routed(rating)
        return self._tiers.from_tier(rating.tier)

    def _with_effort(self, found: Read, aim: Aim) -> Read:
        """As the tier says, where the caller says nothing."""
        request = found.request
        supported = self._gateway.support(Route(self._route.requested, (aim.model,))).get(Feature.EFFORT) in _EFFORTS
        if aim.effort is None or request.reasoning is not None or request.level or not supported:
            return found
        return found._replace(request=msgspec.structs.replace(request, reasoning=Reasoning(effort=aim.effort)))


def last_text(items: str | list[InputItem]) -> str:
    """What the caller said last."""
    if isinstance(items, str):
        return items
    said = (item for item in reversed(items) if isinstance(item, Message) and item.role == "user")
    return next((text for item in said if (text := _text(item))), "")


def _text(message: Message) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(part.text for part in message.content if isinstance(part, InputText))
