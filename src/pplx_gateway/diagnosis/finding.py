"""What one check found, and the making of findings that are safe to show."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple

State = Literal["ok", "note", "bad", "skipped"]
Cause = Literal[
    "settings",
    "data_folder",
    "port_taken",
    "proxy",
    "certificate",
    "network",
    "clock",
    "edge_block",
    "logged_out",
    "plan_limit",
    "schema_change",
    "wrong_key",
    "no_balance",
    "no_credential",
    "no_gateway",
    "failure",
]


class Finding(NamedTuple):
    """`cause` names what is wrong, for programs; None where nothing is. `cure` is the next step."""

    check: str
    state: State
    what: str
    cause: Cause | None = None
    cure: str | None = None


def ok(check: str, what: str) -> Finding:
    return Finding(check, "ok", what)


def note(check: str, what: str, cure: str | None = None) -> Finding:
    return Finding(check, "note", what, None, cure)


def skipped(check: str, what: str) -> Finding:
    return Finding(check, "skipped", what)


def bad(check: str, cause: Cause, what: str, cure: str) -> Finding:
    return Finding(check, "bad", what, cause, cure)


def pasteable(finding: Finding, secrets: Iterable[str], others: Mapping[str, str] | None = None) -> Finding:
    """Without secrets, and without the name of whoever's home it is. `others`: what else is not to be told, and what to
    say in its place."""
    blotted = {secret: "***" for secret in secrets if len(secret) >= 6} | dict(others or {})
    if len(home := str(Path.home())) > 1:
        blotted[home] = "~"

    def clean(text: str | None) -> str | None:
        if text is None:
            return None
        for found, instead in blotted.items():
            text = text.replace(found, instead)
        return text

    return finding._replace(what=clean(finding.what) or "", cure=clean(finding.cure))


_WORDS = {"ok": "ok", "note": "note", "bad": "BAD", "skipped": "skipped"}


def plain(finding: Finding) -> Iterator[str]:
    """Lines for a pipe, or to paste."""
    yield f"{_WORDS[finding.state]:<8}{finding.check}: {finding.what}"
    if finding.cure:
        yield f"{'':<8}cure: {finding.cure}"
