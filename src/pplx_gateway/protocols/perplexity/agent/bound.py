"""What binds a request: the run that it goes on from, a key that it names, a level."""

from pplx_gateway.errors import InvalidRequest, PreviousResponseNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.perplexity.agent.request import AgentRequest
from pplx_gateway.protocols.perplexity.agent.running import KIND
from pplx_gateway.protocols.perplexity.agent.session import of_session
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels

PREVIOUS = "previous_response_id"


class Bonds:
    """Of one caller's request. `pinned`: the key that it names."""

    def __init__(self, gateway: Gateway, caller: str, pinned: str | None) -> None:
        self.gateway = gateway
        self.caller = caller
        self.pinned = pinned

    async def key_name(self, previous: str | None) -> str | None:
        """A run goes on from another by the key that made that one. Raises PreviousResponseNotFound."""
        if previous is None:
            return self.pinned
        thing = await self.gateway.ownership.find(KIND, previous, self.caller)
        if thing is None:
            raise PreviousResponseNotFound(f"There is no response '{previous[:80]}', or not any more.", param=PREVIOUS)
        if self.pinned not in (None, thing.key_name):
            raise InvalidRequest(f"'{PREVIOUS}' was made with another key than '{self.pinned}'.", param=pinning.HEADER)
        return thing.key_name

    async def upstream(self, request: AgentRequest, models: SonarModels) -> str | None:
        """The one that must answer; None = whichever can. Raises PreviousResponseNotFound."""
        previous = request.previous_response_id
        if previous is not None and not of_session(previous):
            await self.key_name(previous)
            return "api"
        if previous is not None:
            return "session"
        if self.pinned is not None:
            return "api"
        return next(iter(models.upstreams), None) if request.level or request.profile else None
