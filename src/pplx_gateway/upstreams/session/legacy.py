"""The old `text` field (docs/wire-session.md 2.6): a list of steps as JSON, its answer JSON again, or just words.

Every form that was ever seen is read; none raises.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from pplx_gateway.upstreams.session.letters import whole_value

_ANSWER_KEYS = ("answer", "chunks", "structured_answer")
_ENVELOPE_KEYS = frozenset({"web_results", "chunks", "extra_web_results", "structured_answer"})
_DEEPEST = 6


class Legacy(NamedTuple):
    """`answer` is None where the steps hold none. `plain`: the field was words, not JSON."""

    answer: str | None = None
    steps: Sequence[Any] = ()
    web_results: Any = None
    plain: bool = False


def read(text: str) -> Legacy:
    value = _json(text)
    if isinstance(value, dict):
        value = [value] if "step_type" in value else value.get("steps") or value
    if isinstance(value, list) and any(isinstance(step, dict) and "step_type" in step for step in value):
        return _from_steps(value)
    if isinstance(value, dict):
        answer, results = _unwrap(value.get("content", value))
        return Legacy(answer=answer, web_results=results)
    return Legacy(answer=text, plain=True) if text.strip() else Legacy()


def _from_steps(steps: list[Any]) -> Legacy:
    for step in steps:
        if isinstance(step, dict) and step.get("step_type") == "FINAL":
            answer, results = _unwrap(step.get("content"))
            return Legacy(answer=answer, steps=steps, web_results=results)
    return Legacy(steps=steps)


def _unwrap(value: Any) -> tuple[str | None, Any]:
    """Opens answers within answers until text is left; also gives the sources on the way.

    Below the first level an object counts as a wrapping only if it looks like one: the answer itself may be JSON.
    """
    results = None
    for depth in range(_DEEPEST):
        inner = _json(value) if isinstance(value, str) else value
        if not isinstance(inner, dict) or not _wraps(inner, depth):
            break
        results = inner.get("web_results") or results
        value = _inside(inner)
    return (value if isinstance(value, str) and value else None), results


def _wraps(value: dict[str, Any], depth: int) -> bool:
    if depth == 0:
        return True
    inside = _inside(value) if any(key in value for key in _ANSWER_KEYS) else None
    return isinstance(inside, str | dict) and (depth == 1 or not _ENVELOPE_KEYS.isdisjoint(value))


def _inside(value: dict[str, Any]) -> Any:
    if value.get("answer"):
        return value["answer"]
    if isinstance(value.get("chunks"), list):
        return "".join(chunk for chunk in value["chunks"] if isinstance(chunk, str))
    parts = value.get("structured_answer")
    texts = [part.get("text") for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
    return "".join(text for text in texts if isinstance(text, str))


def _json(text: str) -> Any:
    if not text.lstrip().startswith(("{", "[")):
        return None
    try:
        return whole_value(json.loads(text))
    except (ValueError, RecursionError):
        return None
