"""`POST /v1/responses/input_tokens`: an estimate, and nothing is asked."""

from typing import Literal

import msgspec

from pplx_gateway.decode import decode
from pplx_gateway.protocols import operation
from pplx_gateway.protocols.counting import ESTIMATE, estimated_tokens
from pplx_gateway.protocols.openai.responses.asking import prepared
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest
from pplx_gateway.protocols.operation import Operation, Reply


class InputTokens(msgspec.Struct, frozen=True, kw_only=True):
    """`pplx` says that it is an estimate."""

    input_tokens: int
    object: Literal["response.input_tokens"] = "response.input_tokens"
    pplx: dict[str, bool]


async def input_tokens(asked: Operation) -> Reply:
    """The context of `previous_response_id` counts. Raises RequestError and its kinds, StoreUnavailable."""
    body = await asked.body()
    request = decode(body, ResponsesRequest)
    found = await prepared(request, body, asked.gateway.resolve(request.model), asked.gateway, asked.caller)
    count = InputTokens(input_tokens=estimated_tokens(found.question), pplx={"usage_estimated": True})
    told = [*operation.warned([ESTIMATE, *found.warnings]), *operation.dropped(found.dropped)]
    return operation.json(count, told)
