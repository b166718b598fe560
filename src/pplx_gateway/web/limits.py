"""What a request's headers alone can rule out, before a byte of the body is read."""

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError, UnsupportedEncoding
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.body import too_large
from pplx_gateway.web.replies import send_error_and_close


class Limits:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._most = settings.max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure = self._failure(scope) if scope["type"] == "http" else None
        if failure is None:
            await self._app(scope, receive, send)
        else:
            await send_error_and_close(receive, send, failure)

    def _failure(self, scope: Scope) -> GatewayError | None:
        length = headers.first(scope, b"content-length")
        if length is not None and length.isdigit() and int(length) > self._most:
            return too_large(self._most)
        encoding = headers.first(scope, b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
            return UnsupportedEncoding("Compressed bodies are not read. Send the body without Content-Encoding.")
        return None
