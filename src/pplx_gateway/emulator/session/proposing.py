"""Answers in JSON, which a bridge asks for in its instructions: proposals of calls, or an answer in a form.

The session has neither functions nor formats. Like the models behind it, the emulator reads what is wanted in the
envelope, and obeys.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from pplx_gateway.emulator import fitting
from pplx_gateway.emulator.words import Controls, named_functions

Json = dict[str, Any]

_FUNCTIONS = re.compile(r"^Functions: (\[.*\])$", re.MULTILINE)
_SCHEMA = re.compile(r"valid under this JSON Schema: (\{.*\})$", re.MULTILINE)
_ONE_CALL = re.compile(r"\b(one call at most|exactly once)\b")


class Wanted(NamedTuple):
    """What the instructions ask for. `functions` are on offer; `words`: an answer without a call will do too. `schema`
    is the form of the answer itself, None = it is text."""

    functions: Sequence[Json] = ()
    words: bool = True
    single: bool = False
    schema: Json | None = None

    @property
    def wrapped(self) -> bool:
        """Even an answer in words stands in an object then."""
        return bool(self.functions)


def wanted_by(orders: str) -> Wanted:
    """What `orders`, all instructions together, say about the form of the answer."""
    schema = _schema(orders)
    if (offered := _FUNCTIONS.search(orders)) is None:
        plain = schema is None and "one JSON object and nothing else" in orders
        return Wanted(schema={} if plain else schema)
    rules = orders[: offered.start()]
    return Wanted(
        functions=[each for each in _json(offered[1], list) or [] if isinstance(each, dict)],
        words='{"content":' in rules,
        single=_ONE_CALL.search(rules) is not None,
        schema=(schema or {}) if '{"content":{' in rules else None,
    )


def proposal(wanted: Wanted, controls: Controls, *, after_results: bool) -> str | None:
    """A proposal of calls; None for an answer in words."""
    chosen = () if after_results and wanted.words else _chosen(wanted, controls)
    if not chosen:
        return None
    calls = [{"name": name, "arguments": _arguments(schema, controls)} for name, schema in chosen]
    text = _encode({"tool_calls": calls})
    return text[:-2] + "," if controls.fault == "tool_bad_json" else text


def formed(wanted: Wanted, question: str, text: str) -> str:
    """`text` in the form that is wanted."""
    content = text if wanted.schema is None else fitting.answering(wanted.schema, question, text)
    if wanted.wrapped:
        return _encode({"content": content})
    return text if wanted.schema is None else _encode(content)


def _chosen(wanted: Wanted, controls: Controls) -> Sequence[tuple[str, object]]:
    """(name, schema) of each function to call."""
    if not wanted.functions:
        return ()
    if controls.fault == "tool_unknown_name":
        return [("no_such_function", None)]
    schemas = {str(function.get("name")): function.get("parameters") for function in wanted.functions}
    must = not wanted.words or (controls.fault or "").startswith("tool_")
    names = named_functions(controls.question, schemas) or (tuple(schemas)[:1] if must else ())
    return [(name, schemas[name]) for name in (names[:1] if wanted.single else names)]


def _arguments(schema: object, controls: Controls) -> Any:
    if controls.fault == "tool_bad_arguments":
        return fitting.spoil(schema, controls.question)
    return fitting.fit(schema or {"type": "object"}, controls.question)


def _schema(orders: str) -> Json | None:
    found = _SCHEMA.search(orders)
    return _json(found[1], dict) if found else None


def _json(text: str, kind: type) -> Any:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return value if isinstance(value, kind) else None


def _encode(value: object) -> str:
    return msgspec.json.encode(value).decode()
