"""The session upstream's settings, as it wants them."""

from urllib.parse import urlsplit

import msgspec

from pplx_gateway.transport.exchange import Timeouts
from pplx_gateway.upstreams.session.prompts import Mode

DEFAULT_URL = "https://www.perplexity.ai"
# Small questions beside the answer (login, threads): whoever waits for an answer must not wait long for them.
LOOKUP_TIMEOUTS = Timeouts(first_byte=20.0, idle=20.0, total=30.0)


class SessionOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Seconds are gateway seconds (clock.py). `research_seconds` stands for first byte and silence of research models.

    `base_url` is https or loopback, without a path; the bare domain redirects, so it is the `www.` one (1.1).
    """

    base_url: str = DEFAULT_URL
    api_version: str = "2.18"
    language: str = "en-US"
    incognito: bool = True
    system_prompts: Mode = "whitelist"
    timeouts: Timeouts = Timeouts()
    research_seconds: float = 900.0
    # The session's life: a check is trusted until the next one is due (`keepalive`), one that brought no clear word for
    # the `login_interval`; a first answer waits for its check for `hold` at most.
    keepalive_seconds: float = 6 * 3600.0
    login_interval_seconds: float = 300.0
    hold_seconds: float = 10.0
    lookup_timeouts: Timeouts = LOOKUP_TIMEOUTS
    cookie_max_age_seconds: float = 168 * 3600.0

    @property
    def origin(self) -> str:
        return self.base_url.rstrip("/")

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).hostname or ""

    def timeouts_for(self, *, research: bool) -> Timeouts:
        if not research:
            return self.timeouts
        return self.timeouts._replace(
            first_byte=max(self.research_seconds, self.timeouts.first_byte),
            idle=max(self.research_seconds, self.timeouts.idle),
        )
