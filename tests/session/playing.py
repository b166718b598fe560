"""Plays streams into an assembler, without a network."""

import json
from collections.abc import Iterable
from typing import Any

from pplx_gateway.answer import Answer, AnswerEvent, Finished, ReasoningDelta, SearchStep, Sources, TextDelta, Warned
from pplx_gateway.catalogue import SessionRoute
from pplx_gateway.sse import Event
from pplx_gateway.upstreams.session.asked import Asked
from pplx_gateway.upstreams.session.assembler import Assembler
from pplx_gateway.upstreams.session.frames import END, decode
from pplx_gateway.upstreams.session.images import ImageWish

TERRA = SessionRoute(mode="copilot", upstream_id="gpt56_terra", thinking_id="gpt56_terra_thinking")


class Plain:
    """A cleaner that cleans nothing."""

    def feed(self, text: str) -> str:
        return text

    def close(self) -> str:
        return ""


def clean(text: str) -> str:
    return " ".join(text.split())


def asked(**changes: Any) -> Asked:
    given: dict[str, Any] = {
        "model": "gpt",
        "route": TERRA,
        "preference": "gpt56_terra",
        "query_characters": 8,
        "images": ImageWish(),
        "related": True,
    }
    return Asked(**{**given, **changes})


def assembler(**changes: Any) -> Assembler:
    return Assembler(asked(**changes), Plain(), clean)


def feed(target: Assembler, frame: Any) -> list[AnswerEvent]:
    data = frame.encode("utf-8", "surrogatepass") if isinstance(frame, str) else json.dumps(frame).encode()
    decoded = decode(Event("message", data), target.oddities)
    return [] if decoded is None else target.feed(decoded)


def play(frames: Iterable[Any], *, end: bool = True, **changes: Any) -> list[AnswerEvent]:
    """Every event of a whole stream, or the error it ends with."""
    target = assembler(**changes)
    events: list[AnswerEvent] = []
    for frame in frames:
        events += feed(target, frame)
        if target.ended:
            break
    if end and not target.ended:
        events += target.feed(END)
    return events + target.close()


def answer(frames: Iterable[Any], **changes: Any) -> Answer:
    collected = Answer()
    collected.collect(play(frames, **changes))
    return collected


def deltas(events: Iterable[AnswerEvent]) -> list[str]:
    return [event.text for event in events if isinstance(event, TextDelta)]


def text(events: Iterable[AnswerEvent]) -> str:
    return "".join(deltas(events))


def thoughts(events: Iterable[AnswerEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, ReasoningDelta))


def steps(events: Iterable[AnswerEvent]) -> list[SearchStep]:
    return [event for event in events if isinstance(event, SearchStep)]


def sources(events: Iterable[AnswerEvent]) -> dict[int, str]:
    return {source.id: source.url for event in events if isinstance(event, Sources) for source in event.sources}


def warnings(events: Iterable[AnswerEvent]) -> list[str]:
    return [event.sentence for event in events if isinstance(event, Warned)]


def finished(events: list[AnswerEvent]) -> Finished:
    last = events[-1]
    assert isinstance(last, Finished)
    assert sum(isinstance(event, Finished) for event in events) == 1
    return last
