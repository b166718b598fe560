"""Routes as rows, what stands before each of them, and what their bodies must be."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp

from pplx_gateway.emulator.session.account import Account
from pplx_gateway.emulator.session.faults import CHALLENGE, Refusal, refusal
from pplx_gateway.emulator.session.state import State

T = TypeVar("T")
Endpoint = Callable[[Request], Awaitable[Response]] | Callable[[Request], Awaitable[ASGIApp]]


class Refused(Exception):
    """Ends a request with `refusal`."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.status)
        self.refusal = refusal


class Row(NamedTuple):
    method: str
    path: str
    endpoint: Endpoint


def routes(rows: list[Row], state: State) -> list[BaseRoute]:
    """The rows as routes; an account that is blocked meets the challenge before any of them."""
    return [Route(row.path, _guarded(row.endpoint, state), methods=[row.method]) for row in rows]


def _guarded(endpoint: Endpoint, state: State) -> Endpoint:
    async def guarded(request: Request) -> ASGIApp:
        account = state.account(request)
        if account is not None and account.blocked:
            return CHALLENGE.response()
        try:
            return await endpoint(request)
        except Refused as refused:
            return refused.refusal.response()

    return guarded


async def body_of(request: Request, type_: type[T]) -> T:
    """The JSON body as `type_`. Raises Refused (400)."""
    try:
        return msgspec.json.decode(await request.body(), type=type_)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Refused(refusal(400, "BAD_REQUEST", str(error))) from None


def member_of(request: Request, state: State) -> Account:
    """The account that is logged in. Raises Refused (401)."""
    account = state.member(request)
    if account is None:
        raise Refused(refusal(401, "UNAUTHORIZED", "Not authenticated"))
    return account
