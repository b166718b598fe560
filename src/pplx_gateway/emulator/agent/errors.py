"""Errors in the API's own words (docs/wire-agent.md 11)."""

import uuid
from collections.abc import Mapping

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response


class ApiError(Exception):
    """An answer that is not 200. Rendered as `{"error": {message, type, code, param?}}`; `code` repeats the status."""

    def __init__(
        self,
        status: int,
        message: str,
        kind: str = "invalid_request",
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind
        self.param = param
        self.headers = dict(headers or {})

    def body(self) -> bytes:
        error: dict[str, object] = {"message": self.message, "type": self.kind, "code": self.status}
        return msgspec.json.encode({"error": error if self.param is None else {**error, "param": self.param}})


def not_found() -> ApiError:
    return ApiError(404, "resource not found", "not_found")


# Refused before the request had an id.
_WITHOUT_ID = (401, 404)


def render(error: ApiError) -> Response:
    named = {} if error.status in _WITHOUT_ID else {"x-request-id": str(uuid.uuid4())}
    return Response(error.body(), error.status, {**named, **error.headers}, "application/json")


async def on_api_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, ApiError):
        raise error
    if error.status == 400:
        request.state.record.refusal = error.message
    return render(error)


async def on_not_found(_request: Request, _error: Exception) -> Response:
    return render(not_found())


async def on_wrong_method(_request: Request, error: Exception) -> Response:
    """The API's 405 has no body."""
    headers = error.headers if isinstance(error, HTTPException) else None
    return Response(b"", 405, headers)
