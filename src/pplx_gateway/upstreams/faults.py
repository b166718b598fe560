"""What an upstream says when it fails, turned into errors of ours.

The **status** decides the kind, the body only supplies words: upstreams disagree about the shape of an error, and some
send a proxy's page instead of one (docs/wire-agent.md 11). Words are made safe to show: one line, no markup, bounded,
without the credentials that an upstream may echo.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    ModelNotFound,
    RateLimited,
    TooLarge,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.transport.exchange import Headers

MAX_MESSAGE_CHARACTERS = 400
MAX_WAIT_SECONDS = 120.0
REDACTED = "[redacted]"
_MAX_READ_CHARACTERS = 4096
_PAGE_WORDS = "a web page"

_MARKUP = re.compile(r"<(script|style)\b.*?</\1\s*>|<!--.*?-->|</?[A-Za-z!][^<>]*>", re.DOTALL | re.IGNORECASE)
_HEADLINE = re.compile(r"<(title|h1)\b[^>]*>(.*?)</\1\s*>", re.DOTALL | re.IGNORECASE)
_PAGE = re.compile(rb"\s*(?:\xef\xbb\xbf)?\s*<", re.DOTALL)
_KEY_LIKE = re.compile(r"pplx-[A-Za-z0-9]{24,}|(?<=Bearer )[^\s\"',;]{8,}")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\s]+")
_NATIVE_PATH = re.compile(r"tools\[\d+\]\.(?:filters\.)?(\w+)")
_EPOCH_SECONDS = 1e9
_EPOCH_MILLISECONDS = 1e11


class Detail(NamedTuple):
    """The words of an error, as far as they could be read. `code` is a number or a name, never relied upon alone."""

    message: str = ""
    type: str = ""
    code: int | str | None = None
    param: str | None = None


class Faults:
    """Makes errors for one upstream.

    `service` begins a sentence ("The Perplexity API"); `credential` is the setting to check when it refuses us;
    `secrets` gives what must never be shown, asked anew each time because credentials rotate.
    """

    def __init__(self, service: str, credential: str, secrets: Callable[[], Iterable[str]], clock: Clock) -> None:
        self._service = service
        self._credential = credential
        self._secrets = secrets
        self._clock = clock

    def of_response(self, status: int, headers: Headers, body: bytes) -> GatewayError:
        """The error for an HTTP response that is no answer. `retry_after` is None where the upstream gave no hint."""
        detail = read_detail(body)
        if detail is None:
            error = self._page(status, body, headers)
        else:
            error = self._error(status, detail, wait_seconds(headers, self._clock.now()))
        error.upstream_request_id = headers.get("x-request-id")
        return error

    def of_run(self, error: object, otherwise: str) -> GatewayError:
        """The error of a run that failed after HTTP 200, from its error object in any known shape. A numeric `code`
        counts as a status; `otherwise` is said where the upstream gives no words."""
        detail = _from_json(error)
        status = _as_status(detail.code)
        if status is None:
            return UpstreamError(self.clean(detail.message) or otherwise)
        return self._error(status, detail, None)

    def redacted(self, data: bytes) -> bytes:
        """`data` without credentials of ours."""
        for secret in self._secrets():
            if secret and (known := secret.encode()) in data:
                data = data.replace(known, REDACTED.encode())
        return data

    def clean(self, text: str, limit: int = MAX_MESSAGE_CHARACTERS) -> str:
        """`text` in one line of at most `limit` characters, without markup and secrets."""
        bounded = self._redact(text)[:_MAX_READ_CHARACTERS]
        plain = _UNPRINTABLE.sub(" ", _MARKUP.sub(" ", bounded)).strip()
        return plain if len(plain) <= limit else plain[: limit - 1].rstrip() + "…"

    def _redact(self, text: str) -> str:
        for secret in self._secrets():
            if secret:
                text = text.replace(secret, REDACTED)
        return _KEY_LIKE.sub(REDACTED, text)

    def _page(self, status: int, body: bytes, headers: Headers) -> GatewayError:
        """An HTML page in place of an error: a proxy's, so only the status and its headline are worth telling."""
        found = _HEADLINE.search(body[:65536].decode("utf-8", "replace"))
        headline = f"{_PAGE_WORDS} ({self.clean(found[2], 80)})" if found else _PAGE_WORDS
        return self._error(status, Detail(message=headline), wait_seconds(headers, self._clock.now()))

    def _error(self, status: int, detail: Detail, wait: float | None) -> GatewayError:
        words = self.clean(detail.message)
        said = f"{self._service} answered HTTP {status}" + (f": {words}" if words else ".")
        param = _our_name(self.clean(detail.param or "", 200) or None)
        fault = _Fault(status, words, said, param, wait, self._service, self._credential)
        error = _reading(fault, detail)(fault)
        error.upstream_status = status
        return error


class _Fault(NamedTuple):
    """`words` are the upstream's own, made safe; `said` is a sentence with the status in it."""

    status: int
    words: str
    said: str
    param: str | None
    wait: float | None
    service: str
    credential: str


def _reading(fault: _Fault, detail: Detail) -> Callable[[_Fault], GatewayError]:
    """What makes the error."""
    if _quota_is_gone(fault.status, detail):
        return _no_balance
    if fault.status == 400 and "invalid_model" in (detail.type, detail.code):
        return _no_model
    return _BY_STATUS.get(fault.status, _failed)


def _refused(fault: _Fault) -> GatewayError:
    """A page cannot know what the caller asked: some proxy disliked the gateway's request."""
    if fault.words.startswith(_PAGE_WORDS):
        return _failed(fault)
    return InvalidRequest(fault.words or fault.said, param=fault.param)


def _nothing_there(fault: _Fault) -> GatewayError:
    """Whoever answers without words, or by a page, is hardly the API that knows models."""
    if fault.words and not fault.words.startswith(_PAGE_WORDS):
        return _no_model(fault)
    return UpstreamError(f"{fault.said} Check the upstream's base URL.", upstream_status=fault.status)


def _no_model(fault: _Fault) -> GatewayError:
    return ModelNotFound(fault.words or fault.said, param="model")


def _no_credential(fault: _Fault) -> GatewayError:
    message = f"{fault.service} refused the gateway's own credential. Check {fault.credential}. {fault.said}"
    return UpstreamAuth(message, upstream_status=fault.status)


def _no_balance(fault: _Fault) -> GatewayError:
    return InsufficientQuota(f"The balance behind {fault.credential} is used up. {fault.said}")


def _too_large(fault: _Fault) -> GatewayError:
    return TooLarge(fault.said)


def _throttled(fault: _Fault) -> GatewayError:
    return RateLimited(fault.said, retry_after=fault.wait)


def _failed(fault: _Fault) -> GatewayError:
    redirected = 300 <= fault.status < 400
    message = f"{fault.service} answered with a redirect, which is never followed." if redirected else fault.said
    return UpstreamError(message, retry_after=fault.wait, upstream_status=fault.status)


_BY_STATUS: Mapping[int, Callable[[_Fault], GatewayError]] = {
    400: _refused,
    401: _no_credential,
    402: _no_balance,
    403: _no_credential,
    404: _nothing_there,
    413: _too_large,
    422: _refused,
    429: _throttled,
}


def read_detail(body: bytes) -> Detail | None:
    """The words in an error body of any known shape; None if it is a web page. What is not JSON is its own message."""
    if _PAGE.match(body):
        return None
    text = body.decode("utf-8", "replace").strip("\ufeff \t\r\n")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return Detail(message=text)
    return _from_json(value)


def wait_seconds(headers: Headers, now: float, longest: float = MAX_WAIT_SECONDS) -> float | None:
    """How long to wait, in seconds from `now` (epoch), at most `longest`; None if neither Retry-After nor
    x-ratelimit-reset says so. A longer wait is cut: callers would rather ask again than sleep for a day."""
    wait = _retry_after(headers.get("retry-after"), now)
    if wait is None:
        wait = _reset(headers.get("x-ratelimit-reset"), now)
    return None if wait is None else min(wait, longest)


def _retry_after(value: str | None, now: float) -> float | None:
    """RFC 9110: seconds or an HTTP date. Fractions are seen in the wild."""
    if value is None:
        return None
    seconds = _number(value)
    if seconds is not None:
        return seconds
    try:
        moment = parsedate_to_datetime(value)
    except (ValueError, OverflowError):
        return None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, aware.timestamp() - now)


def _reset(value: str | None, now: float) -> float | None:
    """Epoch seconds on this API (docs/wire-agent.md 1); others give epoch milliseconds or seconds to wait."""
    moment = None if value is None else _number(value)
    if moment is None:
        return None
    if moment > _EPOCH_MILLISECONDS:
        moment /= 1000
    return max(0.0, moment - now) if moment > _EPOCH_SECONDS else moment


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _from_json(value: object) -> Detail:
    """Reads `{"error": {...}}`, `{"error": "text"}`, `{"detail": ...}`, `{"message": ...}` and a bare string."""
    if isinstance(value, str):
        return Detail(message=value)
    if not isinstance(value, dict):
        return Detail()
    error = value.get("error")
    if isinstance(error, dict):
        return _from_error(error)
    if isinstance(error, str):
        return Detail(message=error)
    if "detail" in value:
        return _from_validation(value["detail"])
    return _from_error(value)


def _from_error(error: Mapping[str, object]) -> Detail:
    message, kind, code, param = (error.get(name) for name in ("message", "type", "code", "param"))
    return Detail(
        message=message if isinstance(message, str) else "",
        type=kind if isinstance(kind, str) else "",
        code=code if isinstance(code, int | str) and not isinstance(code, bool) else None,
        param=param if isinstance(param, str) and param else None,
    )


def _from_validation(detail: object) -> Detail:
    """FastAPI's shape: a text, or a list of `{loc, msg, type}`."""
    if isinstance(detail, str):
        return Detail(message=detail)
    if isinstance(detail, dict):
        return _from_error(detail)
    entries = [entry for entry in detail if isinstance(entry, dict)] if isinstance(detail, list) else []
    found = [(_place(entry.get("loc")), str(entry.get("msg"))) for entry in entries]
    words = [f"{place}: {message}" if place else message for place, message in found]
    return Detail(message="; ".join(words), param=next((place for place, _ in found if place), None))


def _place(loc: object) -> str:
    steps = loc if isinstance(loc, list) else []
    return ".".join(str(step) for step in steps if step != "body")


def _as_status(code: int | str | None) -> int | None:
    number = int(code) if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3 else code
    return number if isinstance(number, int) and 400 <= number < 600 else None


def _quota_is_gone(status: int, detail: Detail) -> bool:
    """Said under 401 and 429 too, where only the words tell it from a bad key or a throttle."""
    named = "insufficient_quota" in (detail.type, detail.code)
    return status in (401, 403, 429) and (named or "exceeded your current quota" in detail.message)


def _our_name(param: str | None) -> str | None:
    """A search option by the name that callers use: `tools[0].filters.search_recency_filter` is its last step."""
    found = _NATIVE_PATH.fullmatch(param) if param else None
    return found[1] if found else param
