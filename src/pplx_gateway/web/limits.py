"""What a request's headers alone can rule out, before a byte of the body is read."""

from collections.abc import Awaitable

from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError, TooLarge, UnsupportedEncoding
from pplx_gateway.settings import Settings
from pplx_gateway.web import headers
from pplx_gateway.web.body import too_large
from pplx_gateway.web.replies import send_error_and_close

FILES_PATH = "/v1/files"
FORM_BYTES = 64 << 10  # what a form may hold around its file


class Limits:
    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app = app
        self._most = settings.max_body_bytes
        self._most_of_file = settings.max_file_bytes

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        failure = self._failure(scope) if scope["type"] == "http" else None
        if failure is None:
            return self._app(scope, receive, send)
        return send_error_and_close(receive, send, failure)

    def _failure(self, scope: Scope) -> GatewayError | None:
        length = headers.first(scope, b"content-length")
        if length is not None and length.isdigit() and (failure := self._too_large(scope["path"], int(length))):
            return failure
        encoding = headers.first(scope, b"content-encoding")
        if encoding is not None and encoding.strip().lower() not in (b"", b"identity"):
            return UnsupportedEncoding("Compressed bodies are not read. Send the body without Content-Encoding.")
        return None

    def _too_large(self, path: str, length: int) -> GatewayError | None:
        if path == FILES_PATH:
            return file_too_large(self._most_of_file) if length > self._most_of_file + FORM_BYTES else None
        return too_large(self._most) if length > self._most else None


def file_too_large(limit: int) -> TooLarge:
    return TooLarge(f"The file is larger than {limit} bytes (PPLX_MAX_FILE_BYTES).", param="file")
