"""Keys, and the headers that stand on every answer of the API."""

import uuid
from collections.abc import Mapping

from starlette.datastructures import Headers

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.agent.errors import ApiError

# What a key that begins so is good for; any other `pplx-...` is a good key.
_REFUSED_KEYS: dict[str, tuple[int, str, str]] = {
    "pplx-bad": (401, "Invalid API key provided", "invalid_api_key"),
    "pplx-broke": (402, "insufficient credits: add credits to continue", "insufficient_credits"),
    "pplx-throttled": (429, "request rate limit exceeded", "request_rate_limit_exceeded"),
}
REQUESTS_PER_SECOND = 50


def check_key(headers: Headers) -> str:
    """The key of a request. Raises ApiError 401, 402 or 429, by the key's own name."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key.startswith("pplx-") or len(key) == len("pplx-"):
        raise ApiError(*_REFUSED_KEYS["pplx-bad"])
    for prefix, (status, message, kind) in _REFUSED_KEYS.items():
        if key.startswith(prefix):
            raise ApiError(status, message, kind, headers={"retry-after": "2"} if status == 429 else None)
    return key


class RateMeter:
    """Counts requests in the running second, for the `x-ratelimit-*` headers. Refuses nobody."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = 0
        self._used = 0

    def headers(self, request_id: str | None = None) -> Mapping[str, str]:
        """Headers for one more answer; `request_id` None = a new one."""
        second = int(self._clock.now())
        self._used = self._used + 1 if second == self._second else 1
        self._second = second
        used = min(self._used, REQUESTS_PER_SECOND)
        return {
            "server": "cloudflare",
            "x-request-id": request_id or str(uuid.uuid4()),
            "x-ratelimit-limit": str(REQUESTS_PER_SECOND),
            "x-ratelimit-remaining": str(REQUESTS_PER_SECOND - used),
            "x-ratelimit-used": str(used),
            "x-ratelimit-reset": str(second + 1),
            "set-cookie": "__cf_bm=emulated; Path=/; HttpOnly; Secure; SameSite=None",
        }
