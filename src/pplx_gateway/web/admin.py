"""`/admin/...`: what the owner does to the running gateway. authentication.py lets in nobody else."""

import json

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.errors import InvalidRequest, NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.web.access import CALLER_LEFT
from pplx_gateway.web.body import read_body
from pplx_gateway.web.health import SessionHealth, session_health
from pplx_gateway.web.leaving import CallerLeft


def routes(gateway: Gateway) -> list[BaseRoute]:
    """One row an operation."""
    return [
        Route("/admin/refresh-cookie", RefreshCookie(gateway).post, methods=["POST"]),
    ]


class RefreshedCookie(msgspec.Struct, frozen=True, kw_only=True):
    """The new cookie was good, and is used from now on."""

    status: str
    session: SessionHealth


class RefreshCookie:
    """A new session cookie, checked with the site before it takes the old one's place."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def post(self, request: Request) -> Response:
        session = self._gateway.session
        if session is None:
            raise NotFound("There is no session upstream here: PPLX_UPSTREAMS does not name it.")
        try:
            body = await self._body(request)
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        await session.renew(pasted(body))
        return json_response(RefreshedCookie(status="ok", session=session_health(session)))

    async def _body(self, request: Request) -> bytes:
        settings = self._gateway.settings
        limit, wait = settings.max_body_bytes, settings.body_timeout_seconds
        return await read_body(request.receive, self._gateway.clock, limit=limit, wait_seconds=wait)


def pasted(body: bytes) -> str:
    """What was pasted: the body itself, or `session_token` of a JSON object, as text or as more JSON."""
    try:
        text = body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidRequest("The body is not UTF-8.", param="session_token") from None
    if not text.strip():
        raise InvalidRequest("The body is empty. Send the cookie as session_token.", param="session_token")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return text
    if not isinstance(document, dict) or "session_token" not in document:
        return text
    found = document["session_token"]
    if not isinstance(found, str | dict | list):
        raise InvalidRequest("session_token must be text, or a browser's export of its cookies.", param="session_token")
    return found if isinstance(found, str) else json.dumps(found)


def json_response(value: object) -> Response:
    """Never kept by anybody on the way."""
    return Response(encode(value), media_type="application/json", headers={"cache-control": "no-store"})
