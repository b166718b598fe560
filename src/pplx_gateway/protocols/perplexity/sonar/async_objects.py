"""What asynchronous Sonar takes and tells. Times are in seconds since the epoch."""

from typing import Annotated, Literal

import msgspec

from pplx_gateway.protocols.openai.responses.create import LONGEST_KEY
from pplx_gateway.protocols.openai.responses.objects import Status
from pplx_gateway.protocols.perplexity.sonar.objects import SonarCompletion
from pplx_gateway.protocols.perplexity.sonar.request import SonarBody

AsyncStatus = Literal["CREATED", "IN_PROGRESS", "COMPLETED", "FAILED"]
STATUSES: dict[Status, AsyncStatus] = {
    "queued": "CREATED",
    "in_progress": "IN_PROGRESS",
    "completed": "COMPLETED",
    "incomplete": "COMPLETED",
    "failed": "FAILED",
    "cancelled": "FAILED",
}


class AsyncEnvelope(msgspec.Struct, frozen=True, kw_only=True):
    """A body as far as it is not the request itself, which also may stand in the envelope's place."""

    request: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    idempotency_key: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KEY)] | None = None


class AsyncSonarBody(msgspec.Struct, frozen=True, kw_only=True):
    """A request to be answered later. Repeats with the same `idempotency_key` get the same answer."""

    request: SonarBody
    idempotency_key: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_KEY)] | None = None


class AsyncEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`task_id` repeats `id`. A request that failed has `failed_at`, any other that is over `completed_at`."""

    id: str
    task_id: str
    model: str
    status: AsyncStatus
    created_at: int
    started_at: int | None = None
    completed_at: int | None = None
    failed_at: int | None = None


class AsyncAnswer(AsyncEntry, frozen=True, kw_only=True):
    """`response` is there once the request is completed, `error_message` if it has failed."""

    error_message: str | None = None
    response: SonarCompletion | None = None


class AsyncList(msgspec.Struct, frozen=True, kw_only=True):
    """The newest first. `next_token` leads to those before."""

    requests: list[AsyncEntry]
    next_token: str | None
