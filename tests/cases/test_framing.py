"""Bytes and framing: letters cut over packets, line ends, pings in both directions."""

import asyncio
import base64
import json
from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.cases.scripts import (
    A_BASE,
    ASK,
    CLEANED,
    END_OF_STREAM,
    TEXT,
    W_BASE,
    Json,
    Step,
    agent_events,
    agent_steps,
    session_steps,
    sse,
)
from tests.rig import AGENT, ASK_PATH, Rig, running

WORLD = "Zürich 🚲 東京"
PINGS = [
    ": ping\n\n",
    ":\n",
    "data:\n\n",
    "event: ping\ndata: {}\n\n",
    "data: null\n\n",
    'data: {"type":"keepalive","sequence_number":7}\n\n',
]


def writes(*parts: bytes) -> list[Step]:
    """Each part one network write."""
    return [{"base64": base64.b64encode(part).decode()} for part in parts]


def world_on_the_api() -> bytes:
    return "".join(sse(event) for event in agent_events("Zürich 🚲 ", "東京")).encode()


def world_on_the_session() -> bytes:
    text = json.dumps(W_BASE, ensure_ascii=False).replace("The Leie[1] meets ", "Zürich 🚲 ")
    frames: list[Json] = json.loads(text.replace("the Scheldt[", "東").replace("2].", "京"))
    return ("".join(sse(frame, newline="\r\n", name="message") for frame in frames) + END_OF_STREAM).encode()


STREAMS: dict[str, tuple[str, Callable[[], bytes]]] = {
    "api": (AGENT, world_on_the_api),
    "session": (ASK_PATH, world_on_the_session),
}


@pytest.mark.parametrize("upstream", STREAMS)
async def test_letters_cut_at_any_byte_stay_whole(both: Rig, upstream: str) -> None:
    path, whole = STREAMS[upstream]
    data = whole()
    letters = [place for place, byte in enumerate(data) if byte >= 0x80]
    for place in [*letters[:24], 1, len(data) // 2, len(data) - 1]:
        await both.script(path, writes(data[:place], data[place:]))
        stream = await both.stream({**ASK, "model": f"{upstream}/sonar"})
        assert stream.content == WORLD, place


@pytest.mark.parametrize("upstream", STREAMS)
async def test_a_byte_at_a_time_gives_the_same_answer(both: Rig, upstream: str) -> None:
    path, whole = STREAMS[upstream]
    data = whole()
    await both.script(path, writes(*(data[place : place + 1] for place in range(len(data)))))
    assert (await both.stream({**ASK, "model": f"{upstream}/sonar"})).content == WORLD


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_random_cuts_give_the_same_answer(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    upstream = data.draw(st.sampled_from(sorted(STREAMS)))
    path, whole = STREAMS[upstream]
    stream_bytes = whole()
    cuts = sorted(data.draw(st.sets(st.integers(1, len(stream_bytes) - 1), max_size=12)))
    parts = [stream_bytes[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream_bytes)], strict=True)]

    async def run() -> str:
        async with running(tmp_path_factory.mktemp("cut")) as rig:
            await rig.script(path, writes(*parts))
            return (await rig.stream({**ASK, "model": f"{upstream}/sonar"})).content

    assert asyncio.run(run()) == WORLD


async def test_escaped_halves_of_a_letter_meet_over_two_deltas(api: Rig) -> None:
    events = agent_events("HALF1", "HALF2")
    text = "".join(sse(event) for event in events)
    text = text.replace('"delta": "HALF1"', '"delta": "\\ud83d"').replace('"delta": "HALF2"', '"delta": "\\udeb2"')
    text = text.replace("HALF1HALF2", "\\ud83d\\udeb2")
    await api.script(AGENT, [{"bytes": text}])
    assert (await api.stream(ASK)).content == "🚲"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("space", [" ", ""])
@pytest.mark.parametrize("name", [None, "message", "response.output_text.delta", "nonsense"])
async def test_any_line_end_and_any_event_name_give_the_same_answer(
    both: Rig, newline: str, space: str, name: str | None
) -> None:
    def told(events: list[Json]) -> str:
        return "".join(sse(event, newline=newline, name=name).replace("data: ", f"data:{space}") for event in events)

    await both.script(AGENT, [{"bytes": "\ufeff" + told(A_BASE)}])
    assert (await both.stream({**ASK, "model": "api/sonar"})).content == TEXT
    if name in (None, "message"):
        end = f"event: end_of_stream{newline}data: {{}}{newline}{newline}"
        await both.script(ASK_PATH, [{"bytes": told(W_BASE) + end}])
        assert (await both.stream({**ASK, "model": "session/sonar"})).content == CLEANED


async def test_a_carriage_return_cut_from_its_line_feed_is_one_line_end(both: Rig) -> None:
    whole = "".join(sse(event, newline="\r\n") for event in A_BASE).encode()
    parts = whole.split(b"\r\n")
    await both.script(
        AGENT, writes(*(part + b"\r" for part in parts[:1]), *(b"\n" + p + b"\r" for p in parts[1:]), b"\n")
    )
    assert (await both.stream({**ASK, "model": "api/sonar"})).content == TEXT


async def test_pings_of_the_upstream_reach_nobody(api: Rig) -> None:
    steps = agent_steps()
    await api.script(AGENT, [*steps[:7], *({"bytes": ping} for ping in PINGS), *steps[7:]])
    stream = await api.stream(ASK)
    assert stream.content == TEXT
    assert "ping" not in stream.raw.decode()
    assert "keepalive" not in stream.raw.decode()


async def test_a_silent_upstream_is_bridged_by_comments_between_events(tmp_path: Path) -> None:
    steps = agent_steps()
    async with running(tmp_path, order=("api",), factor=40.0) as rig:
        await rig.script(AGENT, [*steps[:6], {"sleep": 40.0}, *steps[6:]])
        stream = await rig.stream(ASK)
    assert stream.content == TEXT
    assert stream.comments >= 2
    assert stream.raw.startswith(b": keep-alive\n")
    assert b"\n\n\n" not in stream.raw
    assert b": keep-alive\n\n" not in stream.raw


async def test_pings_do_not_lengthen_the_patience_with_a_silent_upstream(tmp_path: Path) -> None:
    steps = agent_steps()
    pings: list[Step] = [step for _ in range(6) for step in ({"bytes": ": ping\n\n"}, {"sleep": 30.0})]
    async with running(tmp_path, order=("api",), factor=100.0, idle_timeout_seconds=100.0) as rig:
        await rig.script(AGENT, [*steps[:7], *pings, *steps[7:]])
        stream = await rig.stream(ASK)
    assert stream.error is not None
    assert stream.error["code"] == "upstream_timeout"


async def test_a_stream_without_a_last_blank_line_is_whole(both: Rig) -> None:
    await both.script(AGENT, [{"bytes": "".join(sse(event) for event in A_BASE).rstrip("\n")}])
    assert (await both.stream({**ASK, "model": "api/sonar"})).content == TEXT
    frames = "".join(sse(frame, newline="\r\n", name="message") for frame in W_BASE)
    await both.script(ASK_PATH, [{"bytes": frames.rstrip("\r\n")}])
    assert (await both.stream({**ASK, "model": "session/sonar"})).content == CLEANED


async def test_a_frame_of_two_megabytes_is_read(session: Rig) -> None:
    bulky = [{**W_BASE[0], "telemetry_data": {"filler": "x" * 2_000_000}}, *W_BASE[1:]]
    await session.script(ASK_PATH, session_steps(bulky))
    assert (await session.stream(ASK)).content == CLEANED


async def test_each_write_to_the_caller_is_whole_events(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    async with api.open_stream(ASK) as reply:
        parts = [part async for part in reply.aiter_raw()]
    assert isinstance(reply, httpx2.Response)
    assert all(part.endswith(b"\n\n") or part == b": keep-alive\n" for part in parts)
