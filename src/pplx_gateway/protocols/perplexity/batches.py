"""`/v1/batches` of the mirror."""

import msgspec

from pplx_gateway.operations import Native
from pplx_gateway.protocols.kept import batches
from pplx_gateway.protocols.operation import Operation, Reply, told
from pplx_gateway.protocols.perplexity.lists import native_list, part
from pplx_gateway.protocols.perplexity.strict import decode_strict


class NativeBatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    input_file_id: str
    endpoint: str
    completion_window: str = batches.WINDOW
    metadata: dict[str, str] | None = None


async def create(asked: Operation) -> Reply:
    """Raises GatewayError."""
    request = decode_strict(await asked.body(), NativeBatchRequest)
    order = batches.Order(
        input_file_id=request.input_file_id,
        endpoint=request.endpoint,
        completion_window=request.completion_window,
        metadata=request.metadata,
        once=asked.header(batches.KEY_HEADER),
        key_name=asked.key_name,
    )
    return _reply(await batches.start(asked.gateway, asked.caller, order))


async def listed(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return native_list(await batches.listed(asked.gateway, asked.caller, part(asked)))


async def one(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return _reply(await batches.one(asked.gateway, asked.caller, asked.id))


async def cancel(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return _reply(await batches.cancel(asked.gateway, asked.caller, asked.id))


def _reply(native: Native) -> Reply:
    return Reply(native.body, told(native.receipt))
