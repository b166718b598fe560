"""Pages and what they load: files of the package, with a policy that lets nothing else in."""

from functools import cache
from importlib.resources import files
from pathlib import PurePath

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from pplx_gateway import __version__
from pplx_gateway.errors import NotFound

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


async def root(request: Request) -> Response:
    """People land on the page, programs get a few words."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/chat")
    return JSONResponse(
        {"service": "pplx-gateway", "version": __version__, "api": "/v1", "docs": "/docs", "health": "/health"}
    )


async def chat(_: Request) -> Response:
    return _page("chat.html")


async def docs(_: Request) -> Response:
    return _page("docs.html")


async def static(request: Request) -> Response:
    return _page(request.path_params["name"])


def _page(name: str) -> Response:
    content = _static().get(name)
    if content is None:
        raise NotFound("There is no such file.")
    return Response(content, media_type=_TYPES[PurePath(name).suffix], headers=_HEADERS)


@cache
def _static() -> dict[str, bytes]:
    folder = files("pplx_gateway").joinpath("web/static")
    return {entry.name: entry.read_bytes() for entry in folder.iterdir() if PurePath(entry.name).suffix in _TYPES}
