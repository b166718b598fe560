"""`GET /v1/responses`: what runs, or ran, in the background for the caller, wherever it was begun.

OpenAI has no such path: there whoever has lost an id has lost the response.
"""

from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.paging import limit_of
from pplx_gateway.store.records import StoredResponse

PREFIX = "resp_"
MOST = 100
USUAL = 20


class ListedResponse(msgspec.Struct, frozen=True, kw_only=True):
    """`created_at`: seconds since the epoch. The whole is at `/v1/responses/{id}`."""

    id: str
    status: str
    model: str | None
    created_at: int
    object: Literal["response"] = "response"
    background: Literal[True] = True


class ResponseList(msgspec.Struct, frozen=True, kw_only=True):
    """The newest first."""

    data: list[ListedResponse]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: Literal["list"] = "list"


class _Shown(msgspec.Struct, frozen=True):
    """What is told of a stored object."""

    created_at: int
    model: str | None = None


class ListResponses:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises InvalidRequest, StoreUnavailable."""
        limit = limit_of(request.query_params.get("limit"), usual=USUAL, most=MOST)
        caller: str = request.scope["state"]["caller"]
        below = await self._number(caller, request.query_params.get("after"))
        found = await self._gateway.responses.latest(caller, PREFIX, below=below, limit=limit + 1, background=True)
        data = [_listed(stored) for stored in found[:limit]]
        listed = ResponseList(
            data=data,
            first_id=data[0].id if data else None,
            last_id=data[-1].id if data else None,
            has_more=len(found) > limit,
        )
        return Response(encode(listed), media_type="application/json", headers={"cache-control": "no-store"})

    async def _number(self, caller: str, after: str | None) -> int | None:
        if not after:
            return None
        found = await self._gateway.responses.find(caller, after)
        if found is None:
            raise InvalidRequest("There is no response of yours with the id of 'after'.", param="after")
        return found.number


def _listed(stored: StoredResponse) -> ListedResponse:
    shown = msgspec.json.decode(stored.object, type=_Shown)
    return ListedResponse(id=stored.id, status=stored.status, model=shown.model, created_at=shown.created_at)
