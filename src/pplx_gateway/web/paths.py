"""Base addresses that people write: a slash too many, `/v1` twice or not at all, a whole path pasted as base.

Runs before authentication, so that every layer below sees one and the same path.
"""

import re
from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

_SLASHES = re.compile(r"/{2,}")
_VERSIONS = re.compile(r"^(/perplexity|)(?:/v1)+(?=/v1(?:/|$))")

# OpenAI's paths under /v1, by their first segment. `/chat/completions` without it is Perplexity's.
_SEGMENTS = "models|embeddings|responses|files|decisions|completions|messages"
_OPENAI = re.compile(rf"^/(?:{_SEGMENTS})(?:/|$)")
# What people paste as base although it is an endpoint, before what clients append to it.
_ENDPOINT = r"(?:chat/completions|responses|models|messages)"
_PASTED = re.compile(rf"^(?P<version>/v1)?/{_ENDPOINT}(?=/(?P<whole>v1/)?{_ENDPOINT}$)")


def normal(path: str) -> str:
    """`//v1/v1/models/` gives `/v1/models`; `/v1/chat/completions/chat/completions` gives `/v1/chat/completions`."""
    path = _SLASHES.sub("/", path)
    if len(path) > 1:
        path = path.rstrip("/") or "/"
    path = _VERSIONS.sub(r"\1", path)
    if pasted := _PASTED.match(path):
        version = pasted["version"] if pasted["whole"] is None else None
        path = (version or "") + path[pasted.end() :]
    return f"/v1{path}" if _OPENAI.match(path) else path


class Paths:
    """The layers below see no `root_path` either, so that the app works wherever it is mounted."""

    def __init__(self, app: ASGIApp, known: frozenset[str]) -> None:
        self._app = app
        self._known = known

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and scope["path"] not in self._known:
            root = scope.get("root_path", "")
            scope = {**scope, "path": normal(scope["path"].removeprefix(root)), "root_path": ""}
        return self._app(scope, receive, send)
