"""How a script is written in JSON, and what it becomes."""

import base64
import binascii
import re
from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec

from pplx_gateway.emulator.script import Abort, Bytes, Cut, End, Entry, Pause, Scripted, Step

Seconds = Annotated[float, msgspec.Meta(ge=0)]


class StepForm(msgspec.Struct, forbid_unknown_fields=True):
    """Exactly one key is set."""

    bytes: str | None = None
    base64: str | None = None
    sleep: Seconds | None = None
    end: Literal[True] | None = None
    abort: Literal[True] | None = None
    cut: Literal[True] | None = None


class AnswerForm(msgspec.Struct, forbid_unknown_fields=True):
    status: Annotated[int, msgspec.Meta(ge=200, le=599)] = 200
    headers: dict[str, str | list[str]] = {}
    steps: list[StepForm] = []
    delay: Seconds = 0.0
    repeat: Annotated[int, msgspec.Meta(ge=1)] | Literal["forever"] = 1
    strict: bool = True


class ScriptForm(msgspec.Struct, forbid_unknown_fields=True):
    path: Annotated[str, msgspec.Meta(pattern="^/")]
    answers: Annotated[list[AnswerForm], msgspec.Meta(min_length=1)]
    method: str | None = None


class BadControl(ValueError):
    """A control request that makes no sense; the message says why."""


def read_script(body: bytes) -> list[Entry]:
    """The queue entries that a `POST /_emulator/script` asks for. Raises BadControl."""
    try:
        form = msgspec.json.decode(body, type=ScriptForm)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise BadControl(str(error)) from error
    return [_entry(form, answer) for answer in form.answers]


def _entry(form: ScriptForm, answer: AnswerForm) -> Entry:
    return Entry(
        path=form.path,
        method=form.method.upper() if form.method else None,
        left=None if answer.repeat == "forever" else answer.repeat,
        strict=answer.strict,
        answer=Scripted(
            status=answer.status,
            headers=[pair for name, value in answer.headers.items() for pair in _headers(name, value)],
            steps=[_step(step) for step in answer.steps],
            delay_seconds=answer.delay,
        ),
    )


_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")


def _headers(name: str, value: str | list[str]) -> list[tuple[str, str]]:
    values = [value] if isinstance(value, str) else value
    if not _NAME.fullmatch(name) or not all(_VALUE.fullmatch(text) for text in values):
        raise BadControl(f"not a header that HTTP can carry: {name!r}")
    return [(name, text) for text in values]


def _step(form: StepForm) -> Step:
    fields = {name: value for name, value in msgspec.structs.asdict(form).items() if value is not None}
    if len(fields) != 1:
        raise BadControl(f"a step has exactly one key of {', '.join(form.__struct_fields__)}; got {sorted(fields)}")
    ((kind, value),) = fields.items()
    return _STEPS[kind](value)


def _decoded(text: str) -> Bytes:
    try:
        return Bytes(base64.b64decode(text, validate=True))
    except binascii.Error as error:
        raise BadControl(f"a step's base64 is not base64: {error}") from error


_STEPS: dict[str, Callable[[Any], Step]] = {
    "bytes": lambda text: Bytes(text.encode(errors="surrogatepass")),
    "base64": _decoded,
    "sleep": Pause,
    "end": lambda _: End(),
    "abort": lambda _: Abort(),
    "cut": lambda _: Cut(),
}
