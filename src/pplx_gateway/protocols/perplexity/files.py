"""`/v1/files` of the mirror: what batches read and write."""

from collections.abc import AsyncIterable
from contextlib import AbstractAsyncContextManager

from starlette.types import Scope

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.kept import files
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.operation import Operation, Reply, told
from pplx_gateway.protocols.perplexity.lists import native_list, part


async def create(asked: Operation) -> Reply:
    """Raises GatewayError."""
    form = await asked.form(("purpose",))
    purpose = form.fields.get("purpose")
    if purpose != files.INPUT:
        what = "Missing required parameter: 'purpose'" if purpose is None else "'purpose' is wrong"
        raise InvalidRequest(f"{what}. It must be '{files.INPUT}'.", param="purpose")
    native = await files.upload(asked.gateway, asked.caller, form.content, form.filename, asked.key_name)
    return Reply(native.body, told(native.receipt))


async def listed(asked: Operation) -> Reply:
    """Raises GatewayError."""
    wanted = part(asked, purpose=files.purpose_of(asked.query.get("purpose")))
    return native_list(await files.listed(asked.gateway, asked.caller, wanted))


async def one(asked: Operation) -> Reply:
    """Raises GatewayError."""
    native = await files.one(asked.gateway, asked.caller, asked.id)
    return Reply(native.body, told(native.receipt))


async def delete(asked: Operation) -> Reply:
    """Raises GatewayError."""
    native = await files.delete(asked.gateway, asked.caller, asked.id)
    return Reply(native.body, told(native.receipt))


async def content(gateway: Gateway, scope: Scope) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
    """Raises GatewayError."""
    file = await Things(gateway, scope["state"]["caller"]).find("file", scope["path_params"]["id"])
    return gateway.operations.files.content(file)
