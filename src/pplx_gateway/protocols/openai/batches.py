"""`/v1/batches` in OpenAI's shape, over those of the api upstream. Their files are in batch_files.py."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.operations import Native
from pplx_gateway.protocols.kept import batches
from pplx_gateway.protocols.kept.things import Part, read
from pplx_gateway.protocols.openai.paging import limit_of
from pplx_gateway.protocols.operation import Operation, Reply, dropped, json, told, warned

BATCHES_PATH = "/v1/batches"
USUAL, MOST = 20, 100


class BatchRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`endpoint` is `/v1/responses`, `completion_window` is `24h`. Lines of the file ask the Agent API."""

    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: dict[str, str] | None = None


class BatchError(msgspec.Struct, frozen=True, kw_only=True):
    code: str | None = None
    line: int | None = None
    message: str | None = None
    param: str | None = None


class BatchErrors(msgspec.Struct, frozen=True, kw_only=True):
    data: list[BatchError] = []
    object: str = "list"


class BatchCounts(msgspec.Struct, frozen=True, kw_only=True):
    total: int = 0
    completed: int = 0
    failed: int = 0


class BatchInputDetails(msgspec.Struct, frozen=True, kw_only=True):
    cached_tokens: int = 0


class BatchOutputDetails(msgspec.Struct, frozen=True, kw_only=True):
    reasoning_tokens: int = 0


class BatchUsage(msgspec.Struct, frozen=True, kw_only=True):
    input_tokens: int = 0
    input_tokens_details: BatchInputDetails = BatchInputDetails()
    output_tokens: int = 0
    output_tokens_details: BatchOutputDetails = BatchOutputDetails()
    total_tokens: int = 0


class BatchObject(msgspec.Struct, frozen=True, kw_only=True):
    """Times are seconds since the epoch."""

    id: str
    input_file_id: str
    status: Literal[
        "validating", "failed", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled"
    ]
    created_at: int
    object: str = "batch"
    endpoint: str = batches.ENDPOINT
    completion_window: str = batches.WINDOW
    errors: BatchErrors | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None
    in_progress_at: int | None = None
    expires_at: int | None = None
    finalizing_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None
    expired_at: int | None = None
    cancelling_at: int | None = None
    cancelled_at: int | None = None
    request_counts: BatchCounts = BatchCounts()
    usage: BatchUsage | None = None
    metadata: dict[str, str] | None = None


class BatchList(msgspec.Struct, frozen=True, kw_only=True):
    data: list[BatchObject]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: str = "list"


async def create(asked: Operation) -> Reply:
    """Raises GatewayError."""
    body = await asked.body()
    request = decode(body, BatchRequest)
    order = batches.Order(
        input_file_id=request.input_file_id,
        endpoint=request.endpoint,
        completion_window=request.completion_window,
        metadata=request.metadata,
        once=asked.header(batches.KEY_HEADER),
        key_name=asked.key_name,
    )
    native = await batches.start(asked.gateway, asked.caller, order)
    return _reply(native, dropped(unknown_keys(body, BatchRequest)))


async def listed(asked: Operation) -> Reply:
    """Raises GatewayError."""
    part = Part(limit_of(asked.query.get("limit"), usual=USUAL, most=MOST), asked.query.get("after") or None)
    shown = await batches.listed(asked.gateway, asked.caller, part)
    found = BatchList(
        data=[read(entry.body, BatchObject) for entry in shown.entries],
        first_id=shown.first_id,
        last_id=shown.last_id,
        has_more=shown.has_more,
    )
    return json(found, warned(shown.warnings))


async def one(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return _reply(await batches.one(asked.gateway, asked.caller, asked.id))


async def cancel(asked: Operation) -> Reply:
    """Raises GatewayError."""
    return _reply(await batches.cancel(asked.gateway, asked.caller, asked.id))


def _reply(native: Native, more: Sequence[tuple[bytes, bytes]] = ()) -> Reply:
    return json(read(native.body, BatchObject), [*told(native.receipt), *more])
