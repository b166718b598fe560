"""Opens the ledger's tab of a request that was let in. access.py closes it, since it knows how the request ended."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.ledger import Ledger
from pplx_gateway.store.ledger import Entry
from pplx_gateway.web.authentication import is_admin, is_public
from pplx_gateway.web.faces import face_of


class Tabs:
    """Runs behind authentication, so that nobody writes into the ledger whom nobody knows. Pages, health and what the
    owner does under /admin are not in it."""

    def __init__(self, app: ASGIApp, ledger: Ledger) -> None:
        self._app = app
        self._ledger = ledger

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        if scope["type"] == "http" and not is_public(scope["path"]) and not is_admin(scope["path"]):
            state = scope["state"]
            face = face_of(scope["path"])
            key = state.get("caller_key")
            entry = Entry(
                id=state["request_id"],
                at=self._ledger.clock.now(),
                caller=state["caller"],
                caller_name=key.name if key else None,
                face=face.protocol,
                operation=face.operation,
            )
            state["tab"] = self._ledger.tab(entry)
        return self._app(scope, receive, send)
