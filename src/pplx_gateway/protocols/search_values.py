"""What can be said of a search, as callers write it: domains, languages, days, countries. Checked and made uniform.

Upstream accepts several mistakes silently and bills them (docs/wire-agent.md 2.3, 3), so they are caught here.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import idna

from pplx_gateway.errors import InvalidRequest

MAX_DOMAINS = 20
MAX_LANGUAGES = 20
MAX_DOMAIN_LENGTH = 253

_MONTH = timedelta(days=30)
_AMERICAN = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})")
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(T|$)")
_HOST = re.compile(r"\.?[a-z0-9_]([a-z0-9_.-]*[a-z0-9])?")
_LANGUAGE = re.compile(r"[a-z]{2}")
_COUNTRY = re.compile(r"[A-Z]{2}")


def domains(entries: Sequence[str], param: str) -> tuple[str, ...]:
    """Bare domains, each once. Raises InvalidRequest that names `param`."""
    if len(entries) > MAX_DOMAINS:
        raise InvalidRequest(f"'{param}' takes at most {MAX_DOMAINS} domains, not {len(entries)}.", param=param)
    found = tuple(dict.fromkeys(_domain(entry, param) for entry in entries))
    denied = sum(domain.startswith("-") for domain in found)
    if 0 < denied < len(found):
        raise InvalidRequest(f"'{param}' allows or denies (with a leading '-'), but not both.", param=param)
    return found


def _domain(entry: str, param: str) -> str:
    """`-HTTPS://Bücher.example/Path/` gives `-xn--bcher-kva.example/Path`."""
    text = entry.strip()
    sign, text = ("-", text[1:].strip()) if text.startswith("-") else ("", text)
    text = re.sub(r"^[a-z][a-z0-9+.-]*://", "", text, flags=re.IGNORECASE).rstrip("/")
    host, slash, path = text.partition("/")
    host = host.lower()
    if not host.isascii():
        try:
            host = idna.encode(host, uts46=True).decode()
        except idna.IDNAError:
            raise InvalidRequest(f"'{param}' holds '{entry}', which is no domain.", param=param) from None
    result = f"{sign}{host}{slash}{path}"
    if not _HOST.fullmatch(host) or ".." in host or len(result) > MAX_DOMAIN_LENGTH or not result.isprintable():
        raise InvalidRequest(f"'{param}' holds '{entry}', which is no domain.", param=param)
    return result


def languages(entries: Sequence[str], param: str) -> tuple[str, ...]:
    """Two small letters each, each once. Raises InvalidRequest that names `param`."""
    if len(entries) > MAX_LANGUAGES:
        raise InvalidRequest(f"'{param}' takes at most {MAX_LANGUAGES} languages.", param=param)
    found = tuple(dict.fromkeys(entry.strip().lower() for entry in entries))
    if not all(_LANGUAGE.fullmatch(language) for language in found):
        raise InvalidRequest(f"'{param}' takes two-letter codes (ISO 639-1), such as 'en'.", param=param)
    return found


def day(text: str | None, param: str) -> date | None:
    """`3/1/2026`, `03/01/2026`, `2026-03-01` and `2026-03-01T00:00:00Z` are the same day; "" is none."""
    if text is None or not text.strip():
        return None
    found = _parse_date(text.strip())
    if found is None:
        raise InvalidRequest(f"'{param}' is '{text}', which is no date. Write MM/DD/YYYY.", param=param)
    return found


def _parse_date(text: str) -> date | None:
    american = _AMERICAN.fullmatch(text)
    try:
        if american:
            month, day, year = map(int, american.groups())
            return date(year, month, day)
        return datetime.fromisoformat(text).date() if _ISO.match(text) else None
    except ValueError:
        return None


def check_order(after: date | None, before: date | None, param: str) -> None:
    """Raises InvalidRequest that names `param`."""
    if after and before and after > before:
        raise InvalidRequest(f"'{param}' lies after its counterpart, so no page could match.", param=param)


def country(text: str | None, param: str) -> str | None:
    """Two capitals. Raises InvalidRequest that names `param`."""
    if not text or not text.strip():
        return None
    found = text.strip().upper()
    if not _COUNTRY.fullmatch(found):
        raise InvalidRequest(f"'{param}' is '{text}'. Write two letters (ISO 3166-1), such as BE.", param=param)
    return found


def month_ago(now: float) -> date:
    """The day from which `latest_updated` counts, as UTC has it; `now` is in seconds since the epoch."""
    return datetime.fromtimestamp(now, UTC).date() - _MONTH
