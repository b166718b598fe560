"""`GET /health`: alive, for anyone; at once, from memory."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway import __version__
from pplx_gateway.protocols.openai.encoding import encode


class Health(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    service: str
    version: str


async def health(_: Request) -> Response:
    body = encode(Health(status="ok", service="pplx-gateway", version=__version__))
    return Response(body, media_type="application/json", headers={"cache-control": "no-store"})
