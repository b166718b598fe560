"""An ask's body: what must be in it, and what its question asks of the emulator itself."""

import re
from typing import NamedTuple
from uuid import UUID

import msgspec

from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.emulator.words import Controls, parse_controls

OLDEST_VERSION = (2, 18)
MAX_QUERY_CHARACTERS = 96_000

_FORM = re.compile(r"(?<!\S)form:([A-Za-z][A-Za-z-]*)(?!\S)\s*", re.IGNORECASE)
_ASK_BACK = re.compile(r"(?<!\w)ask back( and go on)?\b[:,.]?\s*", re.IGNORECASE)
_LOST_REPORT = re.compile(r"(?<!\w)lost report\b[:,.]?\s*", re.IGNORECASE)
_NAMES = {name.lower(): name for name in FORMS}


class BadAsk(ValueError):
    """An ask that the endpoint answers with 400; the message says why."""


class Params(msgspec.Struct, frozen=True, kw_only=True):
    """`params`: without the fields that have no default here an ask does not work (docs/wire-session.md 1.3)."""

    version: str
    source: str
    mode: str
    model_preference: str
    language: str
    is_incognito: bool
    frontend_uuid: UUID
    sources: list[str]
    attachments: list[str]
    frontend_context_uuid: UUID | None = None
    last_backend_uuid: str | None = None
    read_write_token: str | None = None
    search_focus: str = "internet"
    send_back_text_in_streaming_api: bool = False
    supported_block_use_cases: list[str] = []

    @property
    def searches(self) -> bool:
        return bool(self.sources) and self.search_focus.rpartition(".")[2].lower() != "writing"


class Body(msgspec.Struct, frozen=True):
    query_str: str
    params: Params


class Turn(msgspec.Struct, frozen=True, rename={"made_for": "for"}):
    """What was said, or a call of the function `name`, whose result is the content. `made_for`: "query" if it was
    called for what is asked now."""

    role: str
    content: str | None = None
    name: str = ""
    made_for: str | None = None


class Envelope(msgspec.Struct, frozen=True):
    """A whole conversation in one query."""

    query: str
    instructions: str | list[str] | None = None
    history: list[Turn] = []

    @property
    def orders(self) -> str:
        """All instructions as one text."""
        return "\n".join(self.instructions) if isinstance(self.instructions, list) else self.instructions or ""


class Asked(NamedTuple):
    """`form` None = none was named. `unknown_form` is a name that no form has. `ask_back`: deep research asks
    questions; `go_on`: and then goes on by itself."""

    body: Body
    envelope: Envelope
    controls: Controls
    form: str | None = None
    unknown_form: str | None = None
    ask_back: bool = False
    go_on: bool = False
    lost_report: bool = False

    @property
    def question(self) -> str:
        return self.controls.question

    @property
    def earlier(self) -> tuple[str, ...]:
        """The earlier questions that the envelope tells, oldest first."""
        return tuple(turn.content or "" for turn in self.envelope.history if turn.role == "user")

    @property
    def results(self) -> tuple[tuple[str, str], ...]:
        """What functions returned for this question: pairs of a name and the result."""
        calls = [turn for turn in self.envelope.history if turn.role == "function" and turn.made_for == "query"]
        return tuple((turn.name, turn.content) for turn in calls if turn.content is not None)


def parse(body: bytes) -> Asked:
    """Raises BadAsk."""
    try:
        ask = msgspec.json.decode(body, type=Body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadAsk(str(error)) from None
    if _version(ask.params.version) < OLDEST_VERSION:
        raise BadAsk(f"Version {ask.params.version} is no longer supported")
    if ask.params.frontend_context_uuid is None and ask.params.last_backend_uuid is None:
        raise BadAsk("A new thread needs frontend_context_uuid")
    return read_question(ask)


def read_question(ask: Body) -> Asked:
    envelope = unwrap(ask.query_str)
    text, named = _take(_FORM, envelope.query)
    text, ask_back = _take(_ASK_BACK, text)
    text, lost_report = _take(_LOST_REPORT, text)
    form = _NAMES.get((named or "").lower())
    return Asked(
        body=ask,
        envelope=envelope,
        controls=parse_controls(text),
        form=form,
        unknown_form=named if named is not None and form is None else None,
        ask_back=ask_back is not None,
        go_on=bool(ask_back and ask_back.strip()),
        lost_report=lost_report is not None,
    )


def unwrap(query: str) -> Envelope:
    """The conversation that `query` holds as JSON, or else `query` itself as the only question."""
    try:
        return msgspec.json.decode(query, type=Envelope)
    except (msgspec.DecodeError, RecursionError):
        return Envelope(query=query)


def _take(pattern: re.Pattern[str], text: str) -> tuple[str, str | None]:
    """`text` without the first match, and its group: "" if that did not match, None if nothing did."""
    match = pattern.search(text)
    if match is None:
        return text, None
    return text[: match.start()] + text[match.end() :], (match[1] if pattern.groups else "") or ""


def _version(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"\d{1,4}(\.\d{1,4})*", text):
        raise BadAsk(f"Version {text!r} is not a version")
    return tuple(int(part) for part in text.split("."))
