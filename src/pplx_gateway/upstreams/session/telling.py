"""What the owner is told of the session's life: in the log, and by alarms."""

import logging
from collections.abc import Callable

from pplx_gateway.catalogue import Tier
from pplx_gateway.upstreams.session.keeping import Record

logger = logging.getLogger("pplx_gateway.session")

Alarm = Callable[[str, str, str], None]
"""kind, title, message: returns at once, and sees to it that nobody is told too often."""

_WORDS = {
    "valid": "the session is signed in",
    "expired": "the session has expired: questions are refused until a new cookie is given",
    "blocked": "the session cannot be checked: a challenge page stands before it",
    "unknown": "the session cannot be checked: Perplexity gives no clear answer",
}
_GRAVE = ("expired", "blocked")
_EXPIRED = (
    "Questions are refused until a new cookie is given. Sign in at perplexity.ai, copy the session cookie, and run "
    "scripts/inject-cookie."
)
_OLD = (
    "The site has not renewed the session cookie for a long time. It may expire soon: sign in at perplexity.ai, copy a "
    "new one, and run scripts/inject-cookie."
)


def no_alarm(_kind: str, _title: str, _message: str) -> None:
    return None


class Teller:
    """`account_type` is the plan that the owner named, None = none."""

    def __init__(self, alarm: Alarm = no_alarm, account_type: Tier | None = None) -> None:
        self._alarm = alarm
        self._account_type = account_type
        self._told_of: Tier | None = None

    def checked(self, before: Record | None, now: Record) -> None:
        """After each check. Only a clear word raises the alarm."""
        if now.state == "expired":
            self._alarm("session_expired", "Perplexity session expired", _EXPIRED)
        if before is None or before.state != now.state:
            level = logging.WARNING if now.state in _GRAVE else logging.INFO
            logger.log(level, _WORDS[now.state], extra={"state": now.state, "plan": now.tier})
        if self._account_type and now.tier not in (None, self._account_type, self._told_of):
            self._told_of = now.tier
            told = {"account_type": self._account_type, "plan": now.tier}
            logger.warning("ACCOUNT_TYPE rules, although the site says otherwise of the account", extra=told)

    def old(self, hours: float) -> None:
        """Once for each cookie."""
        logger.warning("the cookie is old, and the site does not renew it", extra={"hours": round(hours)})
        self._alarm("cookie_old", "Perplexity cookie is old", _OLD)
