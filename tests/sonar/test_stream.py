"""Streams in both modes: order, the first chunk, failures, callers who leave."""

import asyncio
from typing import Any

import pytest

from tests.cases.scripts import S1, S2, TEXT, URLS, agent_events, agent_steps, session_steps
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer
from tests.sonar.calling import ASK, SONAR, stream
from tests.sonar.test_reply import WEATHER

MODES = pytest.mark.parametrize("mode", ["full", "concise"])
COST = {
    "total_cost": 0.00503,
    "input_tokens_cost": 0.00002,
    "output_tokens_cost": 0.00001,
    "request_cost": 0.005,
}


@MODES
async def test_a_stream_ends_with_everything_that_a_plain_answer_has(both: Rig, mode: str) -> None:
    await both.script(AGENT, agent_steps())
    told = await stream(both, stream_mode=mode)
    assert told.text == told.message["content"] == TEXT
    assert told.last["citations"] == URLS
    assert told.last["search_results"] == [S1, S2]
    assert told.last["usage"]["cost"] == COST
    assert told.last["pplx"]["upstream"] == "api"


@MODES
async def test_the_session_streams_in_the_same_order(both: Rig, mode: str) -> None:
    await both.script(ASK_PATH, session_steps())
    told = await stream(both, model="session/sonar", stream_mode=mode, return_related_questions=True)
    assert told.last["related_questions"] == ["How long is the Leie?"]
    assert told.last["citations"] == URLS
    assert told.last["usage"]["cost"] is None


async def test_full_is_the_mode_of_those_who_name_none(both: Rig) -> None:
    assert set((await stream(both)).objects) == {"chat.completion.chunk"}


async def test_the_first_chunk_in_full_waits_for_the_sources(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    told = await stream(both)
    first = told.chunks[0]
    assert first["citations"] == URLS
    assert first["choices"][0]["delta"]["content"] == ""
    assert sum("citations" in chunk for chunk in told.chunks) == 2, "beside the first and the last chunk alone"


async def test_the_first_chunk_in_full_does_not_wait_longer_than_for_text(both: Rig) -> None:
    await both.script(AGENT, agent_steps(agent_events("Low ", "tide.", sources=())))
    told = await stream(both)
    assert "citations" not in told.chunks[0]
    assert told.chunks[0]["choices"][0]["delta"]["content"].startswith("Low ")


async def test_concise_tells_the_way_before_the_answer(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    told = await stream(both, stream_mode="concise")
    first, second = told.chunks[:2]
    (step,) = first["choices"][0]["delta"]["reasoning_steps"]
    assert step["web_search"] == {"search_keywords": ["rivers of Ghent"], "search_results": [S1, S2]}
    assert second["object"] == "chat.reasoning.done"
    assert second["choices"][0]["message"]["reasoning_steps"] == [step]
    assert second["search_results"] == [S1, S2]
    assert told.message["reasoning_steps"] == [step]


async def test_steps_of_a_long_way_come_in_their_order_and_once(both: Rig) -> None:
    told = await stream(both, model="sonar-deep-research", stream_mode="concise")
    steps = [
        step
        for chunk in told.chunks
        if chunk["object"] == "chat.reasoning"
        for step in chunk["choices"][0]["delta"]["reasoning_steps"]
    ]
    assert {step.get("type") for step in steps} >= {None, "web_search", "fetch_url_content"}
    assert told.message["reasoning_steps"] == steps
    plain = await both.post({**ASK, "model": "sonar-deep-research"}, path=SONAR)
    assert plain.json["choices"][0]["message"]["reasoning_steps"] == steps


@MODES
async def test_function_calls_come_whole(both: Rig, mode: str) -> None:
    told = await stream(both, stream_mode=mode, tools=[WEATHER], tool_choice="required")
    deltas = [chunk["choices"][0]["delta"] for chunk in told.chunks]
    (calls,) = [delta["tool_calls"] for delta in deltas if "tool_calls" in delta]
    assert [call["index"] for call in calls] == [0]
    (last,) = told.message["tool_calls"]
    assert last["id"] == calls[0]["id"]
    assert told.last["choices"][0]["finish_reason"] == "tool_calls"


@MODES
async def test_letters_survive_however_they_are_cut(both: Rig, mode: str) -> None:
    await both.script(AGENT, agent_steps(agent_events("Zürich 🚲 ", '"東京"\n', "\u2028end")))
    assert (await stream(both, stream_mode=mode)).text == 'Zürich 🚲 "東京"\n\u2028end'


@MODES
async def test_a_stream_that_breaks_ends_with_an_error_event(both: Rig, mode: str) -> None:
    await both.script(AGENT, agent_steps()[:7])
    await both.script("/v1/agent/resp_t1", {"status": 404, "steps": [{"bytes": "{}"}], "repeat": "forever"})
    told = await stream(both, stream_mode=mode)
    assert told.text == "The Leie[1] meets "
    assert told.error
    assert (told.error["type"], told.error["code"]) == ("upstream_truncated", 502)


@MODES
async def test_an_error_before_the_first_chunk_is_an_http_answer(both: Rig, mode: str) -> None:
    await both.script(AGENT, {"status": 500, "steps": [{"bytes": "{}"}], "repeat": "forever"})
    told = await stream(both, stream_mode=mode)
    assert told.status == 500
    assert told.error
    assert told.error["code"] == 500


async def test_a_caller_who_leaves_ends_the_run(both: Rig) -> None:
    steps: list[Any] = [*agent_steps()[:7], {"sleep": 600.0}]
    await both.script(AGENT, steps)
    await both.script("/v1/agent/resp_t1/cancel", {"steps": [{"bytes": "{}"}]})
    sent = {**ASK, "stream": True}
    async with both.client.stream("POST", both.url + SONAR, json=sent, headers=bearer(KEY)) as reply:
        await anext(reply.aiter_raw())
    async with asyncio.timeout(5):
        await both.wait(AGENT, closed=True)
        await both.wait("/v1/agent/resp_t1/cancel")
