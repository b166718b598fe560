"""Batches. What a batch writes belongs to whoever started it, and is made known as soon as the batch tells of it."""

import hashlib
from collections.abc import Iterable

import msgspec

from pplx_gateway.caller_keys import current_key
from pplx_gateway.errors import InvalidRequest, ModelNotAllowed, NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Batches, BatchOrder, Native, Slice
from pplx_gateway.permits import permit
from pplx_gateway.protocols.kept.things import PAGE_SIZE, Part, Shown, Source, Things, UpstreamPage, page_by_ids, read
from pplx_gateway.protocols.openai.pinning import HEADER as PIN_HEADER
from pplx_gateway.receipts import Receipt
from pplx_gateway.store.ownership import Thing
from pplx_gateway.web.authentication import OWNER

ENDPOINT = "/v1/responses"
WINDOW = "24h"
KEY_HEADER = "idempotency-key"
LONGEST_KEY = 255
_OVER = ("completed", "failed", "expired", "cancelled")


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What is to be started. `once`: the caller's Idempotency-Key; `key_name`: the key that is asked for."""

    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None
    once: str | None = None
    key_name: str | None = None


class _Used(msgspec.Struct):
    input_tokens: int = 0
    output_tokens: int = 0


class _Batch(msgspec.Struct):
    id: str
    status: str = ""
    output_file_id: str | None = None
    error_file_id: str | None = None
    usage: _Used | None = None


async def start(gateway: Gateway, caller: str, order: Order) -> Native:
    """Raises InvalidRequest, ModelNotAllowed for a key that may not, GatewayError."""
    _check(order)
    permit("batches", "api")
    _check_limits()
    things, batches = Things(gateway, caller), gateway.operations.batches
    try:
        file = await things.find("file", order.input_file_id)
    except NotFound:
        raise InvalidRequest("There is no file with the id of 'input_file_id'.", param="input_file_id") from None
    if order.key_name not in (None, file.key_name):
        raise InvalidRequest(f"{PIN_HEADER} must name the key that the file was uploaded with.", param=PIN_HEADER)
    once = _once(caller, order.once)
    native = await batches.start(BatchOrder(file=file, metadata=order.metadata, once=once))
    await things.made("batch", native, batches.cancel_batch)
    return native


def _check(order: Order) -> None:
    if order.endpoint != ENDPOINT:
        raise InvalidRequest(f"'endpoint' must be '{ENDPOINT}', the only one that batches have.", param="endpoint")
    if order.completion_window != WINDOW:
        raise InvalidRequest(f"'completion_window' must be '{WINDOW}'.", param="completion_window")
    once = order.once
    if once is not None and not (1 <= len(once) <= LONGEST_KEY and once.isascii() and once.isprintable()):
        raise InvalidRequest(f"Idempotency-Key takes 1 to {LONGEST_KEY} printable characters.", param="Idempotency-Key")


def _check_limits() -> None:
    """What a batch costs is known when it is over, so that no budget could stop it; its lines are not read here, so
    that they may ask any model."""
    key = current_key.get()
    if key is not None and key.limits.models and "*" not in key.limits.models:
        raise ModelNotAllowed("A key limited to some models may not start batches: a batch may ask any model.")
    if key is not None and (key.limits.cost_per_day is not None or key.limits.cost_per_month is not None):
        raise ModelNotAllowed("A key with a budget may not start batches: what they cost shows too late.")


def _once(caller: str, key: str | None) -> str | None:
    """The upstream sees one caller where there are several: their words must not meet."""
    if key is None or caller == OWNER:
        return key
    return hashlib.sha256(f"{caller}\n{key}".encode()).hexdigest()


async def one(gateway: Gateway, caller: str, batch_id: str) -> Native:
    native = await Things(gateway, caller).looked_at("batch", batch_id, gateway.operations.batches.batch)
    await _learn(gateway, caller, [(native.body, native.receipt.key_name)])
    return native


async def cancel(gateway: Gateway, caller: str, batch_id: str) -> Native:
    native = await Things(gateway, caller).looked_at("batch", batch_id, gateway.operations.batches.cancel_batch)
    await _learn(gateway, caller, [(native.body, native.receipt.key_name)])
    return native


async def listed(gateway: Gateway, caller: str, part: Part) -> Shown:
    """Raises InvalidRequest, GatewayError."""
    shown = await Things(gateway, caller).listed(_source(gateway.operations.batches), part)
    await _learn(gateway, caller, [(entry.body, entry.thing.key_name) for entry in shown.entries])
    return shown


async def note_outputs(gateway: Gateway, caller: str) -> None:
    """Makes known what the caller's newest batches have written."""
    await listed(gateway, caller, Part(PAGE_SIZE))


async def _learn(gateway: Gateway, caller: str, told: Iterable[tuple[bytes | msgspec.Raw, str]]) -> None:
    """What batches tell, each with its key's name: the files that they have written, and, once they are over, what they
    have used, which goes into the ledger once."""
    batches = [(read(body, _Batch), key_name) for body, key_name in told]
    outputs = [
        Thing("file", file_id, file_id, key_name, caller, "batch_output")
        for batch, key_name in batches
        for file_id in (batch.output_file_id, batch.error_file_id)
        if file_id
    ]
    over = {batch.id: batch.usage for batch, _ in batches if batch.status in _OVER and batch.usage}
    bills = [Thing("batch_bill", batch.id, batch.id, name, caller) for batch, name in batches if batch.id in over]
    new = await Things(gateway, caller).note(*outputs, *bills)
    note = gateway.ledger.apart(caller, "batches")
    for bill in new:
        if bill.kind == "batch_bill":
            used = over[bill.id]
            note(Receipt(key_name=bill.key_name, input_tokens=used.input_tokens, output_tokens=used.output_tokens))


def _source(batches: Batches) -> Source:
    async def page(part: Slice, key_name: str) -> UpstreamPage:
        return page_by_ids((await batches.batches(part, key_name)).body)

    return Source("batch", page, batches.batch)
