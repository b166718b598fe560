"""What of a conversation with functions reaches the site: the envelope, counted whole, in a thread of its own."""

import json
from pathlib import Path

import pytest

from tests.cases.asking import refused
from tests.functions.offering import (
    QUESTION,
    TIDES,
    WAYS,
    WEATHER,
    Json,
    call,
    called,
    let_say,
    offer,
    proposal,
    queries,
    result,
    user,
)
from tests.rig import ASK_PATH, Rig, running

LIMIT = 96_000
SYSTEM: Json = {"role": "system", "content": "You are a pirate.\nAnswer in French."}


def assistant(text: str) -> Json:
    return {"role": "assistant", "content": text}


def told(name: str, arguments: object, content: str | None, **more: str) -> Json:
    return {"role": "function", "name": name, "arguments": arguments, "content": content, **more}


async def envelope(rig: Rig, body: Json) -> Json:
    """What the site was asked for `body`."""
    await rig.chat(body)
    found: Json = (await queries(rig))[-1]
    return found


async def test_the_bridges_own_words_pass_no_whitelist_and_the_callers_do(session: Rig) -> None:
    sent = await envelope(session, offer(SYSTEM, user(QUESTION)))
    french, bridge = sent["instructions"]
    assert french == "Answer in French."
    assert json.dumps(WEATHER["function"]["parameters"], separators=(",", ":")) in bridge
    assert (sent["history"], sent["query"]) == ([], QUESTION)


@pytest.mark.parametrize("mode", ["whitelist", "drop", "full"])
async def test_they_go_out_whatever_becomes_of_system_texts(tmp_path: Path, mode: str) -> None:
    async with running(tmp_path, order=("session",), system_prompts=mode) as rig:
        sent = await envelope(rig, offer(SYSTEM, user(QUESTION)))
        assert "get_weather" in sent["instructions"][-1]
        assert "get_tides" in sent["instructions"][-1]


async def test_after_a_call_the_question_is_still_what_is_asked(session: Rig) -> None:
    sent = await envelope(session, offer(user("Hello"), assistant("Hi."), user(QUESTION), called(), result()))
    assert sent["query"] == QUESTION
    assert sent["history"] == [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi."},
        told("get_weather", {"city": "Lyon"}, '{"t":21}', **{"for": "query"}),
    ]


async def test_calls_of_an_earlier_question_keep_their_place(session: Rig) -> None:
    sent = await envelope(session, offer(user("Lyon?"), called(), result(), assistant("21."), user("And Nice?")))
    assert sent["query"] == "And Nice?"
    assert sent["history"] == [
        {"role": "user", "content": "Lyon?"},
        told("get_weather", {"city": "Lyon"}, '{"t":21}'),
        {"role": "assistant", "content": "21."},
    ]


async def test_a_new_question_right_after_a_result_is_the_question(session: Rig) -> None:
    sent = await envelope(session, offer(user("Lyon?"), called(), result(), user("And Nice?")))
    assert sent["query"] == "And Nice?"
    assert sent["history"] == [
        {"role": "user", "content": "Lyon?"},
        told("get_weather", {"city": "Lyon"}, '{"t":21}'),
    ]


async def test_each_call_stands_with_its_own_result_and_what_was_said_between(session: Rig) -> None:
    two = called("call_a")
    two["tool_calls"] += called("call_b", "get_tides", '{"port":"Ostend"}')["tool_calls"]
    more = {**called("call_c", "get_tides", '["text"]'), "content": "One more."}
    body = offer(user(QUESTION), two, result("high", "call_b"), result("warm", "call_a"), more, result("?", "call_c"))
    sent = await envelope(session, body)
    assert sent["history"] == [
        told("get_tides", {"port": "Ostend"}, "high", **{"for": "query"}),
        told("get_weather", {"city": "Lyon"}, "warm", **{"for": "query"}),
        {"role": "assistant", "content": "One more."},
        told("get_tides", ["text"], "?", **{"for": "query"}),
    ]


async def test_a_call_without_an_answer_is_told_without_one(session: Rig) -> None:
    sent = await envelope(session, offer(user("Lyon?"), called(), user("Leave it.")))
    assert sent["history"][1] == told("get_weather", {"city": "Lyon"}, None)


@WAYS
async def test_a_continuation_without_tools_is_answered_in_words(session: Rig, streamed: bool) -> None:
    body = {"model": "gpt", "messages": [user(QUESTION), called(), result("warm and dry")]}
    said = (await session.stream(body)).content if streamed else (await session.chat(body)).content
    assert "warm and dry" in said
    (sent,) = await queries(session)
    (recalled,) = sent["instructions"]
    assert "Functions:" not in recalled
    assert "answer in words" in recalled
    assert sent["history"] == [told("get_weather", {"city": "Lyon"}, "warm and dry", **{"for": "query"})]


async def test_tools_that_come_again_and_differ_are_the_ones_that_hold(session: Rig) -> None:
    body = offer(user(QUESTION), called(), result(), tools=[TIDES])
    sent = await envelope(session, body)
    assert "get_tides" in sent["instructions"][-1]
    assert "get_weather" not in sent["instructions"][-1]
    await let_say(session, proposal(call("get_weather", city="Lyon")))
    assert (await session.chat(body)).status == 502
    await let_say(session, proposal(call("get_tides", port="Ostend")))
    assert (await session.chat(body)).status == 200


@WAYS
async def test_tools_under_the_choice_none_are_not_even_shown(session: Rig, streamed: bool) -> None:
    body = offer(user("Use get_weather for 'Lyon'."), tool_choice="none")
    said = (await session.stream(body)).content if streamed else (await session.chat(body)).content
    assert said
    assert await queries(session) == ["Use get_weather for 'Lyon'."]


async def test_results_without_a_question_are_refused(session: Rig) -> None:
    assert (await refused(session, offer(SYSTEM, called(), result())))["param"] == "messages"


async def test_the_envelope_counts_whole_with_what_the_bridge_adds(session: Rig) -> None:
    await session.chat(offer(user("x")))
    (request,) = await session.requests(ASK_PATH)
    room = LIMIT - len(request["json"]["query_str"]) + 1
    assert room < LIMIT - 1000
    assert (await session.chat(offer(user("é" * room)))).status == 200
    error = await refused(session, offer(user("é" * (room + 1))))
    assert error["param"] == "messages"
    assert f"{LIMIT + 1} characters" in error["message"]


async def test_a_conversation_with_functions_goes_on_in_no_thread(session: Rig) -> None:
    first = await session.chat(offer(user("Which rivers meet in Ghent?")))
    turns = [user("Which rivers meet in Ghent?"), assistant(first.content), user("How long are they?")]
    await session.chat(offer(*turns))
    await session.chat({"model": "gpt", "messages": turns})
    sent = [request["json"]["params"] for request in await session.requests(ASK_PATH)]
    assert [params["last_backend_uuid"] for params in sent] == [None] * 3


@WAYS
@pytest.mark.parametrize("after", [False, True], ids=["offered", "after a call"])
async def test_answers_around_functions_carry_no_notices(tmp_path: Path, after: bool, streamed: bool) -> None:
    body: Json = {"model": "gpt", "messages": [user("fault:substituted get on"), called(), result("warm")]}
    if not after:
        body = offer(user("fault:substituted Which rivers meet in Ghent?"))
    async with running(tmp_path, order=("session",), notices=True) as rig:
        said = (await rig.stream(body)).content if streamed else (await rig.chat(body)).content
        assert said
        assert "Substituted" not in said
        plain = await rig.chat({"model": "gpt", "messages": [user("fault:substituted Hello")]})
        assert "Substituted" in plain.content


async def test_searches_that_a_call_took_are_counted(session: Rig) -> None:
    replies = [await session.chat(offer(user("Use get_weather for 'Lyon'."))) for _ in range(2)]
    left = [reply.json["pplx"]["remaining_pro"] for reply in replies]
    assert left[0] - left[1] == 1
