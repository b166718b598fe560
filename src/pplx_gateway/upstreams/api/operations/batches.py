"""Batches (docs/wire-agent.md 7)."""

from collections.abc import Mapping

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.operations import BatchOrder, Native, Owned, Slice
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path, query

PATH = "/v1/batches"
ENDPOINT = "/v1/responses"
WINDOW = "24h"
MOST_METADATA = 16
LONGEST_NAME = 64
LONGEST_VALUE = 512


class ApiBatches:
    """Batches (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def start(self, order: BatchOrder) -> Native:
        metadata = order.metadata or {}
        _check_metadata(metadata)
        body: dict[str, object] = {
            "input_file_id": order.file.id,
            "endpoint": ENDPOINT,
            "completion_window": WINDOW,
            **({"metadata": metadata} if metadata else {}),
        }
        more = {"idempotency-key": order.once} if order.once else None
        sent = msgspec.json.encode(body)
        return (await self._calls.send("POST", PATH, order.file.key_name, sent, more=more)).native("id")

    async def batches(self, part: Slice, key_name: str) -> Native:
        asked = {"after": part.cursor, "limit": part.limit}
        return (await self._calls.get(PATH + query(asked), key_name)).native()

    async def batch(self, batch: Owned) -> Native:
        return (await self._calls.get(owned_path(PATH, batch), batch.key_name)).native("id")

    async def cancel_batch(self, batch: Owned) -> Native:
        return (await self._calls.send("POST", owned_path(PATH, batch, "/cancel"), batch.key_name)).native("id")


def _check_metadata(metadata: Mapping[str, str]) -> None:
    too_long = any(len(name) > LONGEST_NAME or len(value) > LONGEST_VALUE for name, value in metadata.items())
    if len(metadata) > MOST_METADATA or too_long:
        raise InvalidRequest(
            f"'metadata' takes at most {MOST_METADATA} names of {LONGEST_NAME} characters with values of "
            f"{LONGEST_VALUE}.",
            param="metadata",
        )
