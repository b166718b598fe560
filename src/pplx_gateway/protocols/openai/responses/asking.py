"""A request for a response, with everything that it names looked up."""

import msgspec

from pplx_gateway.decode import unknown_keys
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.attached import read_files
from pplx_gateway.protocols.openai.responses.named import item_references, named_files
from pplx_gateway.protocols.openai.responses.question import Prepared, prepare
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.routing import Route

MOST_REFERENCES = 1000

_NOTHING_IS_KEPT = "This gateway keeps no responses (PPLX_STORE_DAYS=0)"


async def prepared(request: ResponsesRequest, body: bytes, route: Route, gateway: Gateway, caller: str) -> Prepared:
    """Raises RequestError and its kinds, StoreUnavailable."""
    asked = _without_store(request, gateway)
    context = await _context(asked, gateway, caller)
    references = await _references(asked, gateway, caller)
    files = await read_files(named_files(asked, context, references.values()), gateway, caller)
    found = prepare(
        asked,
        route,
        Target(route.targets[0].upstream, gateway.support(route), gateway.unsupported),
        unknown=unknown_keys(body, ResponsesRequest),
        attached=files,
        context=context,
        references=references,
    )
    if request.store is True and not asked.store:
        warnings = (*found.warnings, f"{_NOTHING_IS_KEPT}.")
        return found._replace(dropped=(*found.dropped, "store"), warnings=warnings)
    return found


def _without_store(request: ResponsesRequest, gateway: Gateway) -> ResponsesRequest:
    if gateway.keeps_responses:
        return request
    if request.background:
        raise InvalidRequest(f"{_NOTHING_IS_KEPT}, so nothing can run in the background.", param="background")
    return msgspec.structs.replace(request, store=False)


async def _context(request: ResponsesRequest, gateway: Gateway, caller: str) -> list[bytes]:
    """What was said before."""
    if request.previous_response_id is None:
        return []
    most = gateway.settings.max_body_bytes
    return await gateway.responses.chain(caller, request.previous_response_id, most_bytes=most)


async def _references(request: ResponsesRequest, gateway: Gateway, caller: str) -> dict[str, bytes]:
    ids = dict(item_references(request))
    if not ids:
        return {}
    if len(ids) > MOST_REFERENCES:
        raise InvalidRequest(f"'input' refers to more than {MOST_REFERENCES} items.", param="input")
    return await gateway.responses.items(caller, ids)
