"""The `text` field: a step list as JSON in a string, in every variant that was seen (docs/wire-session.md 2.6)."""

import msgspec

from pplx_gateway.emulator.session import blocks
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Json


def nested(entry: Entry) -> str:
    """The usual one: the final step's answer is JSON in a string of its own."""
    return _listed(entry, _text(_answer(entry)))


def plain(entry: Entry) -> str:
    return _listed(entry, entry.reply.text)


def as_object(entry: Entry) -> str:
    return _listed(entry, _answer(entry))


def as_dict(entry: Entry) -> str:
    """No step list: the answer's object is the top level."""
    return _text(_answer(entry))


def bare(entry: Entry) -> str:
    """Not JSON at all."""
    return entry.reply.text


def deeper(entry: Entry) -> str:
    """The answer inside the answer is again JSON in a string."""
    return _listed(entry, _text({**_answer(entry), "answer": _text(_answer(entry))}))


def steps_frames(entry: Entry) -> list[Json]:
    """One frame whose text has the steps but no final one yet."""
    return [{"text": _text(_steps(entry))}]


def _listed(entry: Entry, answer: object) -> str:
    final = {"step_type": "FINAL", "uuid": f"{entry.backend_uuid[:8]}-final", "content": {"answer": answer}}
    return _text([*_steps(entry), final])


def _steps(entry: Entry) -> list[Json]:
    """The steps, each with plain `content` instead of a key of its own."""
    listed: list[Json] = []
    for step in blocks.steps(entry):
        uuid, kind, content = step.values()
        listed.append({"step_type": kind, "uuid": uuid, "content": content})
    return listed


def _answer(entry: Entry) -> Json:
    return {
        "answer": entry.reply.text,
        "web_results": [blocks.web_result(page) for page in entry.reply.pages],
        "chunks": entry.reply.chunks,
        "extra_web_results": [],
        "structured_answer": [{"type": "markdown", "text": entry.reply.text}],
    }


def _text(value: object) -> str:
    return msgspec.json.encode(value).decode()
