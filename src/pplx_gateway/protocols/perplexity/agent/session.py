"""`POST /v1/agent` on the session: a Question, whose answer is told in the Agent API's words (B3).

What is kept of it is a response like any other, so that a later request can go on from it.
"""

import secrets
from typing import NamedTuple

import msgspec

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.responses.asking import prepared
from pplx_gateway.protocols.openai.responses.plan import plan_of
from pplx_gateway.protocols.openai.responses.question import Prepared, Shown
from pplx_gateway.protocols.openai.responses.rendering import Rendering, with_id
from pplx_gateway.protocols.perplexity.agent.in_other_words import Worded, in_other_words
from pplx_gateway.protocols.perplexity.agent.reading import Read
from pplx_gateway.protocols.perplexity.agent.target import Target
from pplx_gateway.routing import Route
from pplx_gateway.store.records import Hold, NewResponse

PREFIX = "resp_agent_"
"""How the ids of such responses begin."""
NO_EVENTS = "The session upstream keeps no events of a run. Leave 'stream' out, and ask for the response by its id."
_EVERYTHING = Shown(reasoning=True, searches=True, search_sources=True)


def of_session(response_id: str) -> bool:
    return response_id.startswith(PREFIX)


class Asked(NamedTuple):
    """What the answer still needs of the request."""

    rendering: Rendering
    route: Route
    hold: Hold | None
    streamed: bool


async def asked(found: Read, target: Target, gateway: Gateway, caller: str) -> Asked:
    """Notes what will be kept. Raises RequestError and its kinds, StoreUnavailable."""
    route = target.routes[0]
    worded = in_other_words(target.request, found.items, gateway.unsupported, target.upstream)
    with worded.errors_as_written():
        ready = await prepared(worded.request, b"{}", route, gateway, caller)
    ready = _told(ready, worded, found, (*found.warnings, *target.warnings, *_first_alone(target)))
    now = int(gateway.clock.now())
    plan = plan_of(ready, caller=caller, requested=route.requested, created_at=now)
    plan = msgspec.structs.replace(plan, response_id=f"{PREFIX}{secrets.token_hex(16)}", shown=_EVERYTHING)
    rendering = Rendering(plan, gateway)
    hold = await _hold(ready, rendering, gateway) if ready.store else None
    return Asked(rendering, route, hold, ready.stream)


def _first_alone(target: Target) -> tuple[str, ...]:
    return (f"The session asks one model alone: '{target.routes[0].requested}'.",) if len(target.routes) > 1 else ()


def _told(ready: Prepared, worded: Worded, found: Read, warnings: tuple[str, ...]) -> Prepared:
    """Marks stay in the text, since `[N]` is how callers of this API find a source."""
    question = ready.question
    if question.citation_marks is None:
        question = msgspec.structs.replace(question, citation_marks="keep")
    return ready._replace(
        question=question,
        dropped=(*found.dropped, *worded.dropped, *worded.names(ready.dropped)),
        warnings=(*warnings, *ready.warnings),
    )


async def _hold(ready: Prepared, rendering: Rendering, gateway: Gateway) -> Hold | None:
    plan = rendering.plan
    shown = rendering.object()
    return await gateway.responses.add(
        NewResponse(
            id=plan.response_id,
            caller=plan.caller,
            parent=plan.echo.previous_response_id,
            background=ready.background,
            created_at=plan.created_at,
            object=shown,
            input_items=[with_id(item) for item in ready.input_items],
            events=rendering.begin() if ready.background else (),
            plan=plan.encoded() if ready.background else None,
        )
    )
