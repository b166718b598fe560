"""Pages and what they load: files of the package, with a policy that lets nothing else in."""

import gzip
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import PurePath

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from pplx_gateway import __version__
from pplx_gateway.errors import NotFound

_TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
}
_HEADERS = {
    # Trusted types: no script of ours can put a string into the page as HTML; what DOMPurify has cleaned may go in.
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types dompurify"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
    "vary": "accept-encoding",
}

_FOR_EVER = "public, max-age=31536000, immutable"


class _File(msgspec.Struct, frozen=True, kw_only=True):
    """`packed` is `content` by gzip. The pages hold no secret, so that packing them tells nobody anything."""

    content: bytes
    packed: bytes
    media_type: str
    tag: str


async def root(request: Request) -> Response:
    """People land on the page, programs get a few words."""
    if "text/html" in request.headers.get("accept", ""):
        return RedirectResponse("/chat")
    return JSONResponse(
        {"service": "pplx-gateway", "version": __version__, "api": "/v1", "docs": "/docs", "health": "/health"}
    )


async def chat(request: Request) -> Response:
    return _page(request, "chat.html")


async def admin(request: Request) -> Response:
    """For anybody: the page holds nothing of the owner's, and asks for it with the key that it is given."""
    return _page(request, "admin.html")


async def docs(request: Request) -> Response:
    return _page(request, "docs.html")


async def static(request: Request) -> Response:
    return _page(request, request.path_params["name"])


async def lasting(request: Request) -> Response:
    """Under the folder of this release, where no file will ever change, and so none is asked for twice."""
    ours = request.path_params["release"] == _release()
    return _page(request, request.path_params["name"], **({"cache-control": _FOR_EVER} if ours else {}))


def _page(request: Request, name: str, **more: str) -> Response:
    """Raises NotFound."""
    file = _static().get(name)
    if file is None:
        raise NotFound("There is no such file.")
    headers = {**_HEADERS, **more, "etag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    if "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.packed, media_type=file.media_type, headers={**headers, "content-encoding": "gzip"})
    return Response(file.content, media_type=file.media_type, headers=headers)


@cache
def _static() -> dict[str, _File]:
    folder = f'"/static/{_release()}/'.encode()
    return {name: _file(content.replace(b'"/static/', folder), _TYPES[kind]) for (name, kind), content in _contents()}


@cache
def _release() -> str:
    """Names all that the files hold: modules call each other by their place, so one folder is one set of them."""
    whole = hashlib.sha256()
    for (name, _), content in _contents():
        whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()[:16]


@cache
def _contents() -> list[tuple[tuple[str, str], bytes]]:
    """Name, ending and bytes of each."""
    entries = sorted(files("pplx_gateway").joinpath("web/static").iterdir(), key=lambda entry: entry.name)
    kinds = [(entry, PurePath(entry.name).suffix) for entry in entries]
    return [((entry.name, kind), entry.read_bytes()) for entry, kind in kinds if kind in _TYPES]


def _file(content: bytes, media_type: str) -> _File:
    # A weak tag: one and the same for both encodings.
    tag = f'W/"{hashlib.sha256(content).hexdigest()[:24]}"'
    return _File(content=content, packed=gzip.compress(content, 9, mtime=0), media_type=media_type, tag=tag)
