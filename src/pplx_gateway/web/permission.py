"""Whether a caller's key may ask now, before the body is read and anything is spent."""

from collections.abc import Awaitable
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pplx_gateway.caller_keys import CallerKey, current_key
from pplx_gateway.caller_limits import Admission, CallerLimits, check_origin
from pplx_gateway.errors import GatewayError, StoreUnavailable
from pplx_gateway.permits import permit
from pplx_gateway.tab import Tab
from pplx_gateway.web import headers
from pplx_gateway.web.faces import COUNTED_WITHIN, WITHOUT_MODEL, face_of
from pplx_gateway.web.replies import send_error_and_close

FREE = ("/cancel", "/count_tokens", "/input_tokens")
"""How the paths of what asks nothing end. What was paid for may be stopped always."""


class Permission:
    """What asks an upstream or stores something counts; a request that is refused, or answered with what an earlier one
    has made, is counted out again before its caller hears of it. Which of MCP's messages ask is known further inside.
    What has no model is judged here, everything else where its model is known (permits.py)."""

    def __init__(self, app: ASGIApp, limits: CallerLimits | None) -> None:
        self._app = app
        self._limits = limits

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        key: CallerKey | None = scope["state"].get("caller_key") if scope["type"] == "http" else None
        if key is None:
            return self._app(scope, receive, send)
        current_key.set(key)
        return self._checked(key, scope, receive, send)

    async def _checked(self, key: CallerKey, scope: Scope, receive: Receive, send: Send) -> None:
        origin = headers.first(scope, b"origin")
        try:
            check_origin(key, None if origin is None else origin.decode("latin-1"))
            operation = face_of(scope["path"]).operation
            if (name := WITHOUT_MODEL.get(operation)) is not None:
                permit(name, "api")
            counts = scope["method"] in ("POST", "PUT") and not scope["path"].endswith(FREE)
            if self._limits is not None and counts and operation not in COUNTED_WITHIN:
                send = _forgetting(self._limits, await self._limits.admit(key), scope, send)
        except GatewayError as error:
            await send_error_and_close(receive, send, error)
            return
        await self._app(scope, receive, send)


def _forgetting(limits: CallerLimits, admission: Admission, scope: Scope, send: Send) -> Send:
    if not admission.counted:
        return send

    async def begun(message: Message) -> None:
        if _asked_nothing(scope, message["status"]):
            with suppress(StoreUnavailable):
                await limits.forget(admission)
        await send(message)

    def told(message: Message) -> Awaitable[None]:
        return begun(message) if message["type"] == "http.response.start" else send(message)

    return told


def _asked_nothing(scope: Scope, status: int) -> bool:
    tab: Tab | None = scope["state"].get("tab")
    refusal = None if tab is None else tab.refusal
    refused = refusal is not None and 400 <= status < 500 and refusal.upstream_status is None
    return refused or bool(scope["state"]["facts"].get("repeat"))
