"""Is a model of the session alive? One short question tells (docs/wire-session.md 2.7, 2.8)."""

from contextlib import aclosing
from typing import Literal, NamedTuple

from pplx_gateway.answer import Finished
from pplx_gateway.catalogue import Model, SessionRoute, Tier
from pplx_gateway.errors import GatewayError, LimitError, SessionError, UpstreamError
from pplx_gateway.question import Message, Question, Search, TextPart
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.session.failures import AnswerFailed

CALLER = "discovery"
_QUESTION = "What is two plus two?"


class Probe(NamedTuple):
    """`alive`: the model itself answered. `dead`: the site will not have it. `unclear`: somebody else answered, or
    nobody could tell. `answered`: a search may have been used up. `halt`: further probes would meet the same."""

    verdict: Literal["alive", "dead", "unclear"]
    why: str = ""
    answered: bool = False
    halt: bool = False


class Prober:
    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    async def ask(self, upstream_id: str, tier: Tier) -> Probe:
        """Never raises a GatewayError: that is an unclear verdict, too."""
        model = _model(upstream_id, tier)
        question = Question(
            model=model.id,
            turns=(Message("user", (TextPart(_QUESTION),)),),
            streamed=False,
            search=Search(enabled=False),
        )
        finished: Finished | None = None
        try:
            async with aclosing(self._upstream.ask(question, model, CALLER)) as batches:
                async for batch in batches:
                    finished = next((event for event in batch if isinstance(event, Finished)), finished)
        except AnswerFailed as error:
            return Probe("dead", error.message)
        except (LimitError, SessionError) as error:
            return Probe("unclear", error.message, halt=True)
        except UpstreamError as error:
            return Probe("unclear", error.message, answered=True)
        except GatewayError as error:
            return Probe("unclear", error.message, halt=True)
        return _verdict(finished, upstream_id)


def _verdict(finished: Finished | None, upstream_id: str) -> Probe:
    served = finished.served_model if finished else None
    if served == upstream_id:
        return Probe("alive", answered=True)
    return Probe("unclear", f"{served or 'an unnamed model'} answered", answered=True)


def _model(upstream_id: str, tier: Tier) -> Model:
    route = SessionRoute(mode="copilot", upstream_id=upstream_id, tier=tier)
    return Model(id=upstream_id, name=upstream_id, owner="perplexity", session=route)
