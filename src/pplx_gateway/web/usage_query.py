"""The queries of reports: which requests, from when to when, in which groups."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, get_args

from starlette.datastructures import QueryParams

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.store.ledger import Choice, Dimension

USUAL_DAYS = 30
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)
_FILTERS = {"caller": "caller", "model": "model", "key": "key_name", "upstream": "upstream"}
COMMON = frozenset({"from", "to", *_FILTERS})
_LONGEST = 200


class Span(NamedTuple):
    since: datetime
    until: datetime


def choice_of(query: QueryParams, span: Span, caller: str | None) -> Choice:
    """Raises InvalidRequest."""
    given = {field: query.get(name) or None for name, field in _FILTERS.items()}
    if (error := query.get("error")) is not None:
        given["error"] = "*" if error in ("", "1", "true", "*") else error
    for name, value in given.items():
        if value is not None and len(value) > _LONGEST:
            raise InvalidRequest(f"'{name}' is longer than {_LONGEST} characters.", param=name)
    whose = caller or given.pop("caller")
    given.pop("caller", None)
    return Choice(since=span.since.timestamp(), until=span.until.timestamp(), caller=whose, **given)


def group_by(query: QueryParams, allowed: Sequence[Dimension]) -> list[Dimension]:
    """Raises InvalidRequest."""
    words = [word.strip() for word in (query.get("group_by") or "day").split(",") if word.strip()]
    known: Mapping[str, Dimension] = {dimension: dimension for dimension in allowed}
    for word in words:
        if word not in known and word != "none":
            raise InvalidRequest(f"'group_by' takes {', '.join(known)}, or none; not '{word[:40]}'.", param="group_by")
    return list(dict.fromkeys(known[word] for word in words if word != "none"))


def span_of(query: QueryParams, now: float, *, whole: bool = False) -> Span:
    """The last USUAL_DAYS unless the query says otherwise; `whole`: all there is. Raises InvalidRequest."""
    end = datetime.fromtimestamp(now, UTC) + timedelta(seconds=1)
    until = _moment(query.get("to"), "to", end=True) or end
    usual = datetime.fromtimestamp(0, UTC) if whole else (until - timedelta(days=USUAL_DAYS)).replace(microsecond=0)
    since = _moment(query.get("from"), "from") or usual
    if since >= until:
        raise InvalidRequest("'from' must lie before 'to'.", param="from")
    return Span(since, until)


def _moment(text: str | None, param: str, *, end: bool = False) -> datetime | None:
    """A day, an ISO time, or seconds since the epoch; a day as the end of a span includes it. Raises InvalidRequest."""
    if not text:
        return None
    try:
        if text.isascii() and text.isdigit():
            return datetime.fromtimestamp(int(text), UTC)
        moment = datetime.fromisoformat(text.replace(" ", "+"))  # a plus sign in an address means a blank
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC) + timedelta(days=int(end and len(text) == len("2026-01-31")))
    except (ValueError, OverflowError, OSError):
        message = f"'{param}' must be a day such as 2026-01-31, an ISO 8601 time, or seconds since the epoch."
        raise InvalidRequest(message, param=param) from None


def before_of(text: str | None) -> int | None:
    """Raises InvalidRequest."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 18):
        raise InvalidRequest("'before' must be what the page before told as next.", param="before")
    return int(text)


def refuse_unknown(query: QueryParams, known: frozenset[str]) -> None:
    """Raises InvalidRequest."""
    for name in query:
        if name not in known:
            raise InvalidRequest(
                f"There is no parameter '{name[:40]}'. There are: {', '.join(sorted(known))}.", param=name
            )


def iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
