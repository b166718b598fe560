"""Answers that are no proposal in the form that was asked for: each is an error, and nothing else."""

import json
from pathlib import Path

import pytest

from tests.cases.asking import frames
from tests.cases.scripts import session_steps
from tests.functions.offering import (
    QUESTION,
    WAYS,
    WEATHER,
    Json,
    call,
    called,
    let_say,
    named,
    offer,
    proposal,
    result,
    user,
)
from tests.rig import ASK_PATH, KEY, Rig, running

GOOD = proposal()
ONE: Json = {"parallel_tool_calls": False}
MUST: Json = {"tool_choice": "required"}
NAMED: Json = {"tool_choice": named("get_tides")}
STRICT: Json = {"tools": [{"type": "function", "function": {**WEATHER["function"], "strict": True}}]}

BREACHES: dict[str, tuple[str, Json]] = {
    "text before": (f"Here you are: {GOOD}", {}),
    "text after": (f"{GOOD}\nI hope that helps.", {}),
    "a mark after": (f"{GOOD}[1]", {}),
    "text before a fence": (f"Sure:\n```json\n{GOOD}\n```", {}),
    "text after a fence": (f"```json\n{GOOD}\n```\nDone.", {}),
    "plain words": ("It is warm in Lyon.", {}),
    "two objects": (f"{GOOD}\n{GOOD}", {}),
    "two fences": (f"```json\n{GOOD}\n```\n```json\n{GOOD}\n```", {}),
    "a list": (f"[{GOOD}]", {}),
    "a trailing comma": ('{"tool_calls":[{"name":"get_weather","arguments":{"city":"Lyon"}},]}', {}),
    "cut short": (GOOD[:-3], {}),
    "single quotes": (GOOD.replace('"', "'"), {}),
    "not a number": ('{"tool_calls":[{"name":"get_tides","arguments":{"port":"Ostend","day":NaN}}]}', {}),
    "a number beyond all": ('{"tool_calls":[{"name":"get_tides","arguments":{"port":"Ostend","day":1e999}}]}', {}),
    "a key twice": ('{"tool_calls":[{"name":"get_weather","arguments":{"city":"Lyon","city":"Nice"}}]}', {}),
    "calls twice": ('{"tool_calls":[],"tool_calls":[{"name":"get_weather","arguments":{"city":"Lyon"}}]}', {}),
    "half a letter": ('{"tool_calls":[{"name":"get_weather","arguments":{"city":"\\ud83d"}}]}', {}),
    "far too deep": ('{"tool_calls":' + "[" * 5000, {}),
    "no calls": ('{"tool_calls":[]}', {}),
    "calls in an object": ('{"tool_calls":{"name":"get_weather","arguments":{"city":"Lyon"}}}', {}),
    "calls and content": (json.dumps({"tool_calls": [call()], "content": "Warm."}), {}),
    "another key beside": (json.dumps({"tool_calls": [call()], "thought": "Hm."}), {}),
    "another key alone": (json.dumps({"answer": "Warm."}), {}),
    "nothing": ("{}", {}),
    "empty content": ('{"content":" "}', {}),
    "content in an object": ('{"content":{"text":"Warm."}}', {}),
    "unknown name": (proposal(call("get_news", city="Lyon")), {}),
    "a name in other letters": (proposal(call("Get_Weather")), {}),
    "no name": ('{"tool_calls":[{"arguments":{"city":"Lyon"}}]}', {}),
    "no arguments": ('{"tool_calls":[{"name":"get_weather"}]}', {}),
    "missing argument": ('{"tool_calls":[{"name":"get_weather","arguments":{}}]}', {}),
    "wrong type": (proposal(call("get_weather", city=5)), {}),
    "arguments as text": ('{"tool_calls":[{"name":"get_weather","arguments":"{\\"city\\":\\"Lyon\\"}"}]}', {}),
    "arguments in a list": ('{"tool_calls":[{"name":"get_weather","arguments":["Lyon"]}]}', {}),
    "extra argument": (proposal(call("get_weather", city="Lyon", unit="C")), {}),
    "extra argument, strict": (proposal(call("get_weather", city="Lyon", unit="C")), STRICT),
    "an id in a call": (json.dumps({"tool_calls": [{"id": "call_1", **call()}]}), {}),
    "the second call is wrong": (proposal(call(), call("get_tides", port=1)), {}),
    "two calls where one may be": (proposal(call(), call("get_tides", port="Ostend")), ONE),
    "words where a call must be": ('{"content":"Warm."}', MUST),
    "plain words where a call must be": ("Warm.", MUST),
    "another function than the named one": (GOOD, NAMED),
    "the named function twice": (proposal(call("get_tides", port="A"), call("get_tides", port="B")), NAMED),
    "words in place of the named function": ('{"content":"High."}', NAMED),
}


@pytest.mark.parametrize(("text", "more"), BREACHES.values(), ids=BREACHES)
async def test_a_breach_is_an_error_and_nothing_else(session: Rig, text: str, more: Json) -> None:
    await let_say(session, *(text[:9], text[9:]), times=2)
    reply = await session.chat(offer(**more))
    assert reply.status == 502
    assert reply.error["code"] == "tool_protocol_error"
    assert reply.error["param"] is None
    assert reply.headers["x-should-retry"] == "false"
    stream = await session.stream(offer(**more))
    error = stream.error
    assert error is not None
    assert (error["code"], error["message"]) == ("tool_protocol_error", reply.error["message"])
    assert not stream.done
    assert not [delta for delta in stream.deltas if delta.get("content") or delta.get("tool_calls")]
    assert len(await session.requests(ASK_PATH)) == 2, "nothing is asked again"
    for private in ("Lyon", "Nice", "Warm", "Ostend"):
        assert private not in error["message"], "an error repeats nothing of the answer"


@WAYS
@pytest.mark.parametrize("fault", ["tool_bad_json", "tool_bad_arguments", "tool_unknown_name"])
async def test_the_emulators_faults_are_such_breaches(session: Rig, fault: str, streamed: bool) -> None:
    body = offer(user(f"fault:{fault} get_weather in 'Lyon'?"))
    error = (await session.stream(body)).error if streamed else (await session.chat(body)).error
    assert error is not None
    assert error["code"] == "tool_protocol_error"


PROPOSED = ("{", '"tool', '_calls": [{"name": "get_weather", "arguments": {"city": "Lyon"}}]}')


@WAYS
@pytest.mark.parametrize(
    "body",
    [
        offer(tool_choice="none"),
        offer(user(QUESTION), called(), result(), tool_choice="none"),
        {"model": "gpt", "messages": [user(QUESTION), called(), result()]},
    ],
    ids=["none", "none after a call", "nothing offered after a call"],
)
@pytest.mark.parametrize(
    "chunks",
    [PROPOSED, ("```json\n", *PROPOSED, "\n```"), ("\n ", *PROPOSED)],
    ids=["bare", "fenced", "after blanks"],
)
async def test_a_call_that_may_not_be_is_an_error(
    session: Rig, body: Json, chunks: tuple[str, ...], streamed: bool
) -> None:
    await let_say(session, *chunks)
    if streamed:
        stream = await session.stream(body)
        error = stream.error
        assert not stream.content
    else:
        reply = await session.chat(body)
        error = reply.error
        assert (reply.status, reply.headers["x-should-retry"]) == (502, "false")
    assert error is not None
    assert error["code"] == "tool_protocol_error"


@WAYS
@pytest.mark.parametrize("text", ['{"t":21}', "{21 degrees}", '{"tool', "```\n{}\n```", '{"tool_calls": 3 of them'])
async def test_text_that_only_begins_like_a_call_comes_out_whole(session: Rig, text: str, streamed: bool) -> None:
    body: Json = {"model": "gpt", "messages": [user(QUESTION), called(), result()]}
    await let_say(session, *(text[:4], text[4:]))
    said = (await session.stream(body)).content if streamed else (await session.chat(body)).content
    assert said == text


async def test_other_text_after_a_call_streams_as_it_comes(session: Rig) -> None:
    body = {"model": "gpt", "messages": [user(QUESTION), called(), result()], "stream": True}
    *said, _, _ = session_steps(frames("It is ", "warm ", "in Lyon.", model="gpt56_terra"))
    await session.script(ASK_PATH, [*said, {"sleep": 600.0}])
    address, key = f"{session.url}/v1/chat/completions", {"authorization": f"Bearer {KEY}"}
    heard = ""
    async with session.client.stream("POST", address, json=body, headers=key) as reply:
        async for line in reply.aiter_lines():
            if '"content"' in line:
                heard += json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content", "")
            if heard == "It is warm in Lyon.":
                break


async def test_what_an_answer_breaks_is_told_by_its_place_in_the_schema(session: Rig) -> None:
    await let_say(session, proposal(call("get_tides", port="Ostend", day="tomorrow")))
    error = (await session.chat(offer())).error
    assert "'get_tides'" in error["message"]
    assert "'properties/day/type'" in error["message"]


async def test_a_breach_fails_over_to_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, allow_spending=True) as rig:
        await let_say(rig, "Warm.")
        assert (await rig.chat(offer(model="sonar"))).status == 502
        assert not await rig.requests("/v1/agent")
