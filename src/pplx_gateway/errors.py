"""Every way to fail, drawn as a tree. Raised anywhere, rendered once for each protocol.

GatewayError
├── RequestError                      the caller's doing; nothing was asked upstream
│   ├── InvalidRequest                400, names `param`
│   │   ├── InvalidJson               400 invalid_json
│   │   ├── UnsupportedParameter      400 unsupported_parameter
│   │   ├── UnsupportedOperation      400 unsupported_operation
│   │   ├── PreviousResponseNotFound  400 previous_response_not_found
│   │   ├── ConversationTooLong       400 (more than the upstream takes)
│   │   └── CookieRefused             400 cookie_refused (the owner gave a session cookie that is dead)
│   ├── AuthenticationFailed          401 invalid_api_key
│   ├── Forbidden                     403 (host, origin)
│   ├── ModelNotAllowed               403 model_not_allowed
│   ├── NotFound                      404
│   │   ├── ModelNotFound             404 model_not_found
│   │   └── FileNotFound              404 file_not_found
│   ├── MethodNotAllowed              405
│   ├── Conflict                      409 conflict (something was changed in the meantime)
│   ├── RequestTimeout                408 (a body that never ends; the connection closes, so no client repeats it)
│   ├── TooLarge                      413
│   │   └── StorageFull               413 file_storage_full (all the room for uploaded files is taken)
│   └── UnsupportedEncoding           415 (a compressed body)
├── LimitError                        a quota, a balance, a throttle
│   ├── InsufficientQuota             402 insufficient_quota (the API's balance is gone)
│   ├── QuotaExhausted                429 quota_exhausted (the subscription's quota is gone)
│   └── RateLimited                   429 rate_limit_exceeded, Retry-After
├── UpstreamError                     502 upstream_error
│   ├── UpstreamUnreachable           502 (no connection: surely nothing was asked)
│   ├── UpstreamAuth                  502 upstream_auth (our own credential)
│   ├── UpstreamTruncated             502 upstream_truncated
│   ├── EmptyAnswer                   502 empty_answer
│   ├── ToolProtocolError             502 tool_protocol_error
│   └── UpstreamTimeout               504 upstream_timeout
├── SessionError                      the owner's browser session
│   ├── SessionBlocked                503 session_blocked (a challenge page)
│   └── SessionExpired                503 session_expired
├── StoreUnavailable                  503 store_unavailable
└── InternalError                     500 (a defect of ours)
"""

from typing import ClassVar


class GatewayError(Exception):
    """`message` is safe to show: one line, no HTML, no secrets, no prompt text.

    `retry`: True = a repeat may help, False = clients must not repeat (`x-should-retry: false`), None = nothing said.
    `retry_after`: seconds, or None. `upstream_status` is what the upstream answered, where it was that which failed;
    `upstream_request_id` the id by which it knows of it, if it told one.
    """

    status: ClassVar[int] = 500
    type: ClassVar[str] = "api_error"
    code: ClassVar[str] = "internal_error"
    retry: ClassVar[bool | None] = None

    def __init__(self, message: str, *, param: str | None = None, retry_after: float | None = None) -> None:
        message = one_line(message)
        super().__init__(message)
        self.message = message
        self.param = param
        self.retry_after = retry_after
        self.upstream_status: int | None = None
        self.upstream_request_id: str | None = None


class RequestError(GatewayError):
    status = 400
    type = "invalid_request_error"
    code = "invalid_request"


class InvalidRequest(RequestError):
    pass


class InvalidJson(InvalidRequest):
    code = "invalid_json"


class UnsupportedParameter(InvalidRequest):
    code = "unsupported_parameter"


class UnsupportedOperation(InvalidRequest):
    code = "unsupported_operation"


class PreviousResponseNotFound(InvalidRequest):
    code = "previous_response_not_found"


class ConversationTooLong(InvalidRequest):
    pass


class CookieRefused(InvalidRequest):
    code = "cookie_refused"


class AuthenticationFailed(RequestError):
    status = 401
    type = "authentication_error"
    code = "invalid_api_key"


class Forbidden(RequestError):
    status = 403
    type = "permission_error"
    code = "forbidden"


class ModelNotAllowed(RequestError):
    status = 403
    type = "permission_error"
    code = "model_not_allowed"


class NotFound(RequestError):
    status = 404
    code = "not_found"


class ModelNotFound(NotFound):
    code = "model_not_found"


class FileNotFound(NotFound):
    code = "file_not_found"


class MethodNotAllowed(RequestError):
    status = 405
    code = "method_not_allowed"


class Conflict(RequestError):
    status = 409
    code = "conflict"
    retry = False


class RequestTimeout(RequestError):
    status = 408
    code = "request_timeout"
    retry = False


class TooLarge(RequestError):
    status = 413
    code = "request_too_large"


class StorageFull(TooLarge):
    code = "file_storage_full"


class UnsupportedEncoding(RequestError):
    status = 415
    code = "unsupported_content_encoding"


class LimitError(GatewayError):
    status = 429
    type = "rate_limit_error"


class InsufficientQuota(LimitError):
    status = 402
    type = "insufficient_quota"
    code = "insufficient_quota"
    retry = False


class QuotaExhausted(LimitError):
    type = "insufficient_quota"
    code = "quota_exhausted"
    retry = False


class RateLimited(LimitError):
    code = "rate_limit_exceeded"


class UpstreamError(GatewayError):
    status = 502
    code = "upstream_error"
    retry = True

    def __init__(
        self,
        message: str,
        *,
        param: str | None = None,
        retry_after: float | None = None,
        upstream_status: int | None = None,
    ) -> None:
        super().__init__(message, param=param, retry_after=retry_after)
        self.upstream_status = upstream_status


class UpstreamUnreachable(UpstreamError):
    pass


class UpstreamAuth(UpstreamError):
    code = "upstream_auth"
    retry = False


class UpstreamTruncated(UpstreamError):
    code = "upstream_truncated"


class EmptyAnswer(UpstreamError):
    code = "empty_answer"


class ToolProtocolError(UpstreamError):
    code = "tool_protocol_error"
    retry = False


class UpstreamTimeout(UpstreamError):
    status = 504
    code = "upstream_timeout"


class SessionError(GatewayError):
    status = 503
    retry = False


class SessionBlocked(SessionError):
    code = "session_blocked"


class SessionExpired(SessionError):
    code = "session_expired"


class StoreUnavailable(GatewayError):
    status = 503
    code = "store_unavailable"
    retry = True


class InternalError(GatewayError):
    pass


def one_line(text: str) -> str:
    """What a caller or an upstream wrote may be repeated in a message; its line ends and signs that cannot be seen are
    blanks there."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else " " for letter in text)
