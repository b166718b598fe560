"""Whether a caller's key may ask now, before the body is read and anything is spent."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.caller_keys import CallerKey, current_key
from pplx_gateway.caller_limits import CallerLimits, check_origin
from pplx_gateway.errors import GatewayError
from pplx_gateway.permits import permit
from pplx_gateway.web import headers
from pplx_gateway.web.faces import WITHOUT_MODEL, face_of
from pplx_gateway.web.replies import send_error_and_close


class Permission:
    """Only POSTs count, and those that end something do not: what was paid for may be read and stopped always. What has
    no model is judged here, everything else where its model is known (permits.py)."""

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
            if (name := WITHOUT_MODEL.get(face_of(scope["path"]).operation)) is not None:
                permit(name, "api")
            if self._limits is not None and scope["method"] == "POST" and not scope["path"].endswith("/cancel"):
                await self._limits.admit(key)
        except GatewayError as error:
            await send_error_and_close(receive, send, error)
            return
        await self._app(scope, receive, send)
