"""Keys, and the headers that stand on every answer of the API."""

import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.keys import KeyBook, State

_REFUSALS: Mapping[State, tuple[int, str, str]] = {
    "dead": (401, "Invalid API key provided", "invalid_api_key"),
    "broke": (402, "insufficient credits: add credits to continue", "insufficient_credits"),
    "forbidden": (403, "this API key may not be used here", "permission_denied"),
    "throttled": (429, "request rate limit exceeded", "request_rate_limit_exceeded"),
}
# What a key that begins so is good for; any other `pplx-...` is a good key, as long as a test says nothing else.
_BY_NAME: Mapping[str, State] = {"pplx-bad": "dead", "pplx-broke": "broke", "pplx-throttled": "throttled"}
REQUESTS_PER_SECOND = 50


def check_key(headers: Headers, book: KeyBook) -> str:
    """The key of a request. Raises ApiError 401, 402, 403 or 429, as `book` says or else by the key's own name."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith("pplx-") or len(key) == len("pplx-"):
        raise ApiError(*_REFUSALS["dead"])
    verdict = book.use(key)
    if verdict is not None:
        _refuse(verdict.state, verdict.retry_after)
    else:
        _refuse(next((state for prefix, state in _BY_NAME.items() if key.startswith(prefix)), "good"), 2)
    return key


def _refuse(state: State, retry_after: int | None) -> None:
    if state == "good":
        return
    hint = {"retry-after": str(retry_after)} if state == "throttled" and retry_after is not None else None
    raise ApiError(*_REFUSALS[state], headers=hint)


class RateMeter:
    """Counts requests in the running second, for the `x-ratelimit-*` headers. Refuses nobody."""

    def __init__(self, clock: Clock, per_second: int = REQUESTS_PER_SECOND) -> None:
        self._clock = clock
        self._per_second = per_second
        self._second = 0
        self._used = 0

    def headers(self, request_id: str | None = None) -> Mapping[str, str]:
        """Headers for one more answer; `request_id` None = a new one."""
        second = int(self._clock.now())
        self._used = self._used + 1 if second == self._second else 1
        self._second = second
        used = min(self._used, self._per_second)
        return {
            "server": "cloudflare",
            "x-request-id": request_id or str(uuid.uuid4()),
            "x-ratelimit-limit": str(self._per_second),
            "x-ratelimit-remaining": str(self._per_second - used),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(second + 1),
            "set-cookie": "__cf_bm=emulated; Path=/; HttpOnly; Secure; SameSite=None",
        }
