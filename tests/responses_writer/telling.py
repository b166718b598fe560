"""Writers of responses, and what they wrote."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from pplx_gateway.answer import Batch, Finished
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses.events import DONE, Event, frame
from pplx_gateway.protocols.openai.responses.question import Echo, Shown
from pplx_gateway.protocols.openai.responses.writer import ResponseWriter
from tests import readings
from tests.readings import Json

CREATED_AT = 1_767_225_600
EVERYTHING = Shown(reasoning=True, searches=True, search_sources=True)
NOTHING = Shown(reasoning=False, searches=False, search_sources=False)

FUNCTION: dict[str, object] = {
    "type": "function",
    "name": "tide",
    "description": None,
    "parameters": {"type": "object", "properties": {}},
    "strict": None,
}

_ECHO: dict[str, Any] = {
    "model": "sonar",
    "instructions": None,
    "previous_response_id": None,
    "background": False,
    "store": True,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "temperature": 1.0,
    "top_p": 1.0,
    "parallel_tool_calls": True,
    "metadata": {},
    "prompt_cache_key": None,
    "safety_identifier": None,
    "reasoning_effort": None,
    "reasoning_summary": None,
    "service_tier": "default",
    "user": None,
    "text": {"format": {"type": "text"}},
    "tool_choice": "auto",
    "tools": [],
    "truncation": "disabled",
}


def echo(**fields: object) -> Echo:
    return Echo(**{**_ECHO, **fields})


def writer(
    shown: Shown = NOTHING, told: Told = Told("api"), *, answerer: str = "sonar", **fields: object
) -> ResponseWriter:
    def answered_by(finished: Finished) -> str:
        return finished.substituted_by or answerer

    return ResponseWriter(
        "resp_0123", echo(**fields), shown, told, CREATED_AT, answered_by=answered_by, now=lambda: CREATED_AT + 2.5
    )


def written(found: ResponseWriter, batches: Iterable[Batch]) -> list[Event]:
    return [*found.begin(), *(event for batch in batches for event in found.feed(batch))]


def read(events: Sequence[Event]) -> list[Json]:
    """What a caller reads of the whole stream, under every reading."""
    found = parsed(events)
    readings.check_events(found)
    return found


def parsed(events: Sequence[Event]) -> list[Json]:
    success = events[-1].type in readings.SUCCESS
    found = readings.read_stream(b"".join(map(frame, events)) + (DONE if success else b""))
    assert [(event["sequence_number"], event["type"]) for event in found] == [(e.number, e.type) for e in events]
    return found


def kinds(events: Iterable[Json]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def body(found: ResponseWriter) -> Json:
    """The response as it stands, under every reading."""
    response: Json = json.loads(found.object())
    readings.check_response(response)
    return response
