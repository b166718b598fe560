"""The files of batches."""

from typing import Literal

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import FileStore, Native, Slice
from pplx_gateway.permits import permit
from pplx_gateway.protocols.kept import batches
from pplx_gateway.protocols.kept.things import Part, Shown, Source, Things, UpstreamPage, page_by_ids

Purpose = Literal["batch", "batch_output"]
INPUT: Purpose = "batch"
OUTPUT: Purpose = "batch_output"
PURPOSES = (INPUT, OUTPUT)


async def upload(gateway: Gateway, caller: str, content: bytes, filename: str, key_name: str | None) -> Native:
    """Raises ModelNotAllowed for a key that may not, GatewayError."""
    permit("files", "api")
    store: FileStore = gateway.operations.files
    native = await store.upload(content, filename, key_name)
    await Things(gateway, caller).made("file", native, store.delete_file, INPUT)
    return native


async def listed(gateway: Gateway, caller: str, part: Part) -> Shown:
    """Raises InvalidRequest, GatewayError."""
    if part.purpose != INPUT:
        await batches.note_outputs(gateway, caller)
    return await Things(gateway, caller).listed(_source(gateway.operations.files), part)


async def delete(gateway: Gateway, caller: str, file_id: str) -> Native:
    things = Things(gateway, caller)
    native = await things.looked_at("file", file_id, gateway.operations.files.delete_file)
    await things.forget("file", file_id)
    return native


async def one(gateway: Gateway, caller: str, file_id: str) -> Native:
    return await Things(gateway, caller).looked_at("file", file_id, gateway.operations.files.file)


def purpose_of(text: str | None) -> str:
    """Raises InvalidRequest."""
    if text and text not in PURPOSES:
        raise InvalidRequest(f"'purpose' must be one of: {', '.join(PURPOSES)}.", param="purpose")
    return text or ""


def _source(store: FileStore) -> Source:
    async def page(part: Slice, key_name: str) -> UpstreamPage:
        return page_by_ids((await store.files(part, key_name)).body)

    return Source("file", page, store.file)
