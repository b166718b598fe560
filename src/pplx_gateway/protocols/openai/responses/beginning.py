"""What the store is given of a response that begins."""

from collections.abc import Iterable

from pplx_gateway.protocols.openai.responses.rendering import Rendering, with_id
from pplx_gateway.store.records import Claim, NewResponse


def beginning(
    rendering: Rendering, input_items: Iterable[bytes], *, background: bool, claim: Claim | None = None
) -> NewResponse:
    """Nothing of `rendering` has been told yet. In the background its first events are kept with it, and so is the plan
    by which another worker could go on."""
    plan = rendering.plan
    events = rendering.begin() if background else ()
    return NewResponse(
        id=plan.response_id,
        caller=plan.caller,
        parent=plan.echo.previous_response_id,
        background=background,
        created_at=plan.created_at,
        object=rendering.object(),
        input_items=[with_id(item) for item in input_items],
        events=events,
        plan=plan.encoded() if background else None,
        claim=claim,
    )
