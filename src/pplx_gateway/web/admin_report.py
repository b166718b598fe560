"""`GET /admin/report`: how the gateway stands, as text that can be shown to others.

Names, counts, codes and the values of settings that only choose between words; no address, no name of the owner's, no
secret, and nothing of what was asked. With `?checks=1` it begins with what `pplx-gateway doctor` would find, as far as
a running gateway can look: that asks both upstreams, but no question.
"""

import platform
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from importlib.metadata import version

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway import __version__
from pplx_gateway.diagnosis.finding import Cause, Finding, State, plain
from pplx_gateway.diagnosis.own import findings
from pplx_gateway.environment import settings_table
from pplx_gateway.errors import InvalidRequest, StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.settings import Secret
from pplx_gateway.store.ledger import Choice
from pplx_gateway.web.admin import json_response
from pplx_gateway.web.usage_query import refuse_unknown

Pairs = Sequence[tuple[str, object]]

DAY_SECONDS = 86_400
MOST_ERRORS = 500
_LIBRARIES = ("uvicorn", "starlette", "msgspec", "curl_cffi")


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [Route("/admin/report", AdminReport(gateway).get, methods=["GET"])]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """`cause`: of what is bad, in a word; `cure`: the next step."""

    check: str
    state: State
    what: str
    cause: Cause | None
    cure: str | None


class StandingReport(msgspec.Struct, frozen=True, kw_only=True):
    """`text`: lines of `name: value` under headings; under `[checks]` a line `state check: what`, and below it the cure
    of what is not well. `checks`: the same for programs; null where none were asked for."""

    text: str
    checks: list[Check] | None


class AdminReport:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises InvalidRequest."""
        refuse_unknown(request.query_params, frozenset({"checks"}))
        checked = await findings(self._gateway) if _wants_checks(request) else None
        sections = {
            "program": _program(),
            "session": _session(self._gateway),
            "api": _api(self._gateway),
            "last 24 hours": await self._requests(),
            "settings that differ from their defaults": _settings(self._gateway),
        }
        text = "\n".join((*_checked(checked or ()), *_lines(sections)))
        checks = None if checked is None else [Check(**finding._asdict()) for finding in checked]
        return json_response(StandingReport(text=text, checks=checks))

    async def _requests(self) -> Pairs:
        gateway = self._gateway
        choice = Choice(since=gateway.clock.now() - DAY_SECONDS)
        try:
            (total,) = await gateway.ledger.groups(choice, ())
            failed = await gateway.ledger.recent(msgspec.structs.replace(choice, error="*"), limit=MOST_ERRORS)
        except StoreUnavailable as error:
            return [("ledger", error.code)]
        codes = Counter(numbered.entry.error for numbered in failed).most_common()
        return [("requests", total.sums.requests), ("failed", total.sums.errors), *((f"  {c}", n) for c, n in codes)]


def _checked(found: Sequence[Finding]) -> Iterator[str]:
    if found:
        yield "[checks]"
        yield from (line for finding in found for line in plain(finding))
        yield ""


def _wants_checks(request: Request) -> bool:
    """Raises InvalidRequest."""
    given = request.query_params.get("checks", "0")
    if given not in ("0", "1"):
        raise InvalidRequest("'checks' takes 1 (make them) or 0.", param="checks")
    return given == "1"


def _program() -> Pairs:
    libraries = [(name, version(name)) for name in _LIBRARIES]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    system = f"{platform.system()} {platform.machine()}"
    return [
        ("pplx-gateway", __version__), ("python", python), ("system", system), ("sqlite", sqlite3.sqlite_version),
        *libraries,
    ]  # fmt: skip


def _session(gateway: Gateway) -> Pairs:
    if gateway.session is None or not gateway.session.present:
        return [("state", "no cookie" if gateway.session else "not in PPLX_UPSTREAMS")]
    standing = gateway.session.standing()
    reading = gateway.quota.reading() if gateway.quota else None
    return [
        ("state", standing.state),
        ("plan", standing.tier),
        ("checked, seconds ago", standing.checked_seconds_ago),
        ("cookie's age, hours", standing.cookie_age_hours),
        ("cookie is kept", standing.kept),
        ("Pro searches left", reading.remaining_pro if reading else None),
        ("research left", reading.remaining_research if reading else None),
    ]


def _api(gateway: Gateway) -> Pairs:
    """Of keys their number and state; their names are the owner's."""
    if gateway.keys is None:
        return [("state", "not in PPLX_UPSTREAMS")]
    keys = gateway.keys
    states = Counter(keys.health(name).state if key.usable else "unusable" for name, key in keys.keys.items())
    return [("keys", len(keys.keys)), *((f"  {state}", count) for state, count in states.most_common())]


def _settings(gateway: Gateway) -> Pairs:
    """The value where it is a number or one of a few words; of what is free text only that it is set."""
    found: list[tuple[str, object]] = []
    for row in settings_table():
        value = getattr(gateway.settings, row.field)
        if value != row.default:
            told = isinstance(value, bool | int | float) or (row.type is not str and isinstance(value, str))
            found.append((row.env.name, value if told and not isinstance(value, Secret) else "set"))
    return found


def _lines(sections: dict[str, Pairs]) -> Iterator[str]:
    for title, pairs in sections.items():
        yield f"[{title}]"
        yield from (f"{name}: {_word(value)}" for name, value in pairs)
        yield ""


def _word(value: object) -> str:
    match value:
        case None:
            return "not known"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.1f}"
        case _:
            return str(value)
