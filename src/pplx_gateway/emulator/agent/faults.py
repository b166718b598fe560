"""Faults that answer instead of a run."""

from collections.abc import Callable, Iterable

from starlette.responses import Response

from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.script import Bytes, Cut, Step
from pplx_gateway.emulator.stage import Stage

_GATEWAY_PAGE = (
    "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n"
    "<hr><center>cloudflare</center>\r\n</body>\r\n</html>\r\n"
)
_ERRORS: dict[str, Callable[[], ApiError]] = {
    "upstream_429": lambda: ApiError(
        429, "request rate limit exceeded", "request_rate_limit_exceeded", headers={"retry-after": "1"}
    ),
    "upstream_401": lambda: ApiError(401, "Invalid API key provided", "invalid_api_key"),
    "logged_out": lambda: ApiError(401, "Invalid API key provided", "invalid_api_key"),
    "upstream_402": lambda: ApiError(402, "insufficient credits: add credits to continue", "insufficient_credits"),
    "quota_gone": lambda: ApiError(402, "insufficient credits: add credits to continue", "insufficient_credits"),
    "upstream_500": lambda: ApiError(500, "internal server error", "internal_error"),
}


def answer(fault: str | None, stage: Stage) -> Response | None:
    """The page that `fault` answers with; None if the run itself shows the fault. Raises ApiError for JSON errors."""
    if fault in _ERRORS:
        raise _ERRORS[fault]()
    if fault == "upstream_html":
        return Response(_GATEWAY_PAGE.format(title="502 Bad Gateway"), 502, media_type="text/html")
    if fault == "upstream_timeout":
        page = _GATEWAY_PAGE.format(title="504 Gateway Time-out").encode()
        html = [("content-type", "text/html")]
        return stage.play([Bytes(page)], status=504, headers=html, delay_seconds=stage.hold_seconds)
    return None


def half_a_body(whole: bytes) -> tuple[list[tuple[str, str]], Iterable[Step]]:
    """Headers that promise `whole`, and steps that break off in the middle of it."""
    headers = [("content-type", "application/json"), ("content-length", str(len(whole)))]
    return headers, [Bytes(whole[: len(whole) // 2]), Cut()]
