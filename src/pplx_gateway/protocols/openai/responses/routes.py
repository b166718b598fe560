"""`/v1/responses/{id}` and what lies below it. Every caller finds its own responses alone."""

from functools import partial
from typing import Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.paging import event_number_of, flag_of, limit_of, order_of
from pplx_gateway.protocols.openai.responses.background import Background, not_found
from pplx_gateway.protocols.openai.responses.fields import INCLUDABLE
from pplx_gateway.protocols.openai.responses.following import FollowingCall
from pplx_gateway.protocols.openai.responses.rendering import with_id
from pplx_gateway.store.records import StoredResponse

RESPONSES_PATH = "/v1/responses"
MOST_ITEMS = 100
USUAL_ITEMS = 20


class ItemList(msgspec.Struct, frozen=True, kw_only=True):
    """Input items of one response, as they are kept."""

    data: list[msgspec.Raw]
    first_id: str | None
    last_id: str | None
    has_more: bool
    object: Literal["list"] = "list"


class ResponseDeleted(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["response"] = "response"
    deleted: Literal[True] = True


class ResponseRoutes:
    def __init__(self, gateway: Gateway, background: Background) -> None:
        self._gateway = gateway
        self._background = background
        self._follow = Border(gateway, partial(_FollowCall, background))

    def routes(self) -> list[BaseRoute]:
        one = f"{RESPONSES_PATH}/{{id}}"
        return [
            Route(one, self, methods=["GET", "DELETE"]),
            Route(f"{one}/cancel", self.cancel, methods=["POST"]),
            Route(f"{one}/input_items", self.input_items, methods=["GET"]),
        ]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if scope["method"] == "DELETE":
            await (await self.delete(request))(scope, receive, send)
        elif flag_of(request.query_params.get("stream"), "stream"):
            await self._follow(scope, receive, send)
        else:
            await (await self.retrieve(request))(scope, receive, send)

    async def retrieve(self, request: Request) -> Response:
        """The response as it was last shown. Raises NotFound, InvalidRequest."""
        _check_include(request)
        if "starting_after" in request.query_params:
            raise InvalidRequest("'starting_after' needs 'stream=true'.", param="starting_after")
        return _json((await _find(self._gateway, request)).object)

    async def delete(self, request: Request) -> Response:
        """Raises NotFound."""
        found = await _find(self._gateway, request)
        if not await self._background.delete(found):
            raise not_found(found.id)
        return _json(encode(ResponseDeleted(id=found.id)))

    async def cancel(self, request: Request) -> Response:
        """Raises NotFound, InvalidRequest."""
        return _json(await self._background.cancel(await _find(self._gateway, request)))

    async def input_items(self, request: Request) -> Response:
        """Raises NotFound, InvalidRequest."""
        query = request.query_params
        _check_include(request)
        order = order_of(query.get("order"))
        limit = limit_of(query.get("limit"), usual=USUAL_ITEMS, most=MOST_ITEMS)
        found = await _find(self._gateway, request)
        after = query.get("after") or None
        page = await self._gateway.responses.input_page(found.number, order=order, limit=limit, after=after)
        if page is None:
            raise InvalidRequest("There is no item with the id of 'after' in this response's input.", param="after")
        ids = [with_id(item)[0] for item in page.items]
        listed = ItemList(
            data=[msgspec.Raw(item) for item in page.items],
            first_id=ids[0] if ids else None,
            last_id=ids[-1] if ids else None,
            has_more=page.has_more,
        )
        return _json(encode(listed))


class _FollowCall(FollowingCall):
    """`GET /v1/responses/{id}?stream=true`."""

    def __init__(self, background: Background, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(background, gateway, scope, receive, send)
        self._request = Request(scope)
        self._body_left = False

    async def answer(self) -> None:
        _check_include(self._request)
        after = event_number_of(self._request.query_params.get("starting_after"))
        found = await _find(self._gateway, self._request)
        if not found.background:
            raise InvalidRequest(
                "The events of this response are not kept, since it did not run in the background. Leave 'stream' out.",
                param="stream",
            )
        last = await self._gateway.responses.last_event(found.number)
        if after > last:
            raise InvalidRequest(f"There is no event {after} yet; the last one is {last}.", param="starting_after")
        await self._follow(found, after, [])


async def _find(gateway: Gateway, request: Request) -> StoredResponse:
    response_id = request.path_params["id"]
    found = await gateway.responses.find(request.scope["state"]["caller"], response_id)
    if found is None:
        raise not_found(response_id)
    return found


def _json(body: bytes) -> Response:
    return Response(body, media_type="application/json")


def _check_include(request: Request) -> None:
    """What is known has no effect on what was kept."""
    query = request.query_params
    for name in (*query.getlist("include"), *query.getlist("include[]")):
        if name not in INCLUDABLE:
            works = ", ".join(sorted(INCLUDABLE))
            raise InvalidRequest(f"'include' does not know '{name[:80]}'. What can be named: {works}.", param="include")
