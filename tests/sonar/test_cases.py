"""Faults of other clients and gateways, in Sonar's words: sources, messages, limits, errors, patience."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.cases.scripts import S1, TEXT, URLS, Json, agent_events, agent_steps, session_steps
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer
from tests.sonar.calling import ASK, SONAR, ask, calling, read, refused, stream
from tests.sonar.test_reply import WEATHER

HTML = "<center><h1>401 Authorization Required</h1></center><hr>openresty"
CHALLENGE = "<!DOCTYPE html><title>Just a moment...</title>"


async def upstream_body(rig: Rig) -> Json:
    (request,) = await rig.requests(AGENT)
    found: Json = request["json"]
    return found


async def test_marks_are_ids_and_not_positions(both: Rig) -> None:
    two: Json = {**S1, "id": 2, "url": "https://two.example"}
    four: Json = {**S1, "id": 4, "url": "https://four.example"}
    text = "Founded in 1830[2]; renamed later[web:4]."
    await both.script(AGENT, agent_steps(agent_events(text, sources=(two, four))))
    found = (await ask(both)).json
    assert found["choices"][0]["message"]["content"] == text
    assert found["citations"] == ["", "https://two.example", "", "https://four.example"]
    assert [result["id"] for result in found["search_results"]] == [2, 4]


async def test_a_list_of_sources_is_appended_where_it_is_asked_for(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    content = (await ask(both, source_list="append")).json["choices"][0]["message"]["content"]
    assert content.startswith(TEXT)
    assert all(content.count(url) == 1 for url in URLS)


async def test_related_questions_are_no_error_where_there_are_none(both: Rig) -> None:
    reply = await ask(both, return_related_questions=True)
    assert "related_questions" not in reply.json
    assert "return_related_questions" in reply.headers["x-pplx-dropped"]


async def test_part_lists_and_the_developers_role_keep_their_text(both: Rig) -> None:
    def text(*texts: str) -> list[dict[str, str]]:
        return [{"type": "text", "text": part} for part in texts]

    turns = [
        {"role": "developer", "content": text("Be brief.")},
        {"role": "user", "content": text("Hi ", "there")},
        {"role": "assistant", "content": text("Hello.")},
        {"role": "user", "content": "Go on"},
    ]
    await ask(both, messages=turns)
    body = str(await upstream_body(both))
    places = [body.find(part) for part in ("Hi ", "there", "Hello.", "Go on")]
    assert places == sorted(places)
    assert min(*places, body.find("Be brief.")) >= 0


@pytest.mark.parametrize(
    "turns",
    [
        [{"role": "system", "content": "Give a three-word title for: rivers of Ghent"}],
        [{"role": "user", "content": "Rivers of Ghent"}, {"role": "assistant", "content": "The Leie and"}],
    ],
)
async def test_a_title_call_and_a_last_turn_of_the_assistant_pass(both: Rig, turns: list[dict[str, str]]) -> None:
    assert (await ask(both, messages=turns)).status == 200
    assert (await upstream_body(both))["input"]


async def test_a_helper_does_not_search(both: Rig) -> None:
    await ask(both, model="helper")
    body = await upstream_body(both)
    assert "tool_choice" not in body
    assert not body.get("tools")


async def test_a_function_with_a_reserved_name_is_called_by_its_own(both: Rig) -> None:
    tool = {"type": "function", "function": {**WEATHER["function"], "name": "web_search"}}  # type: ignore[dict-item]
    choice = (await ask(both, tools=[tool], tool_choice="required")).json["choices"][0]
    assert choice["message"]["tool_calls"][0]["function"]["name"] == "web_search"
    assert all(tool.get("name") != "web_search" for tool in (await upstream_body(both))["tools"])  # type: ignore[attr-defined]


async def test_a_tiny_limit_is_raised_and_told(both: Rig) -> None:
    reply = await ask(both, max_tokens=5)
    assert (await upstream_body(both))["max_output_tokens"] == 16
    assert "16" in reply.headers["x-pplx-warnings"]


async def test_stop_strings_cut_the_answer(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    choice = (await ask(both, stop=[" meets"])).json["choices"][0]
    assert (choice["message"]["content"], choice["finish_reason"]) == ("The Leie[1]", "stop")


async def test_fields_of_openais_clients_are_harmless(both: Rig) -> None:
    given: dict[str, Any] = {
        "user": "u1",
        "seed": 7,
        "logprobs": False,
        "service_tier": "auto",
        "store": False,
        "safe_prompt": True,
    }
    reply = await ask(both, **given, stream_options={"include_usage": True})
    assert reply.status == 200
    assert {"user", "seed", "safe_prompt"} <= set(reply.headers["x-pplx-dropped"].split(", "))


@pytest.mark.parametrize("status", [200, 403])
async def test_a_challenge_page_is_told_as_one(session: Rig, status: int) -> None:
    headers = {"content-type": "text/html", "cf-mitigated": "challenge"}
    await session.script(ASK_PATH, {"status": status, "headers": headers, "steps": [{"bytes": CHALLENGE}]})
    error = await refused(session, 503)
    assert (error["type"], error["code"]) == ("session_blocked", 503)
    assert "<" not in error["message"]


@pytest.mark.parametrize(
    ("status", "body", "seen"),
    [
        (401, HTML, 502),
        (502, "", 502),
        (500, '{"detail":"nope"}', 500),
        (504, HTML, 504),
        (418, '{"error":"nope"}', 418),
    ],
)
async def test_an_error_in_any_form_has_a_message(both: Rig, status: int, body: str, seen: int) -> None:
    await both.script(AGENT, {"status": status, "steps": [{"bytes": body}], "repeat": "forever"})
    error = await refused(both, seen)
    assert error["message"]
    assert error["code"] == seen


async def test_a_throttle_says_when_to_come_back(both: Rig) -> None:
    body = '{"error":{"message":"slow down","type":"request_rate_limit_exceeded","code":429}}'
    await both.script(AGENT, {"status": 429, "steps": [{"bytes": body}], "repeat": "forever"})
    replies = await asyncio.gather(*(ask(both) for _ in range(5)))
    assert {reply.status for reply in replies} == {429}
    assert all(int(reply.headers["retry-after"]) >= 1 for reply in replies)
    assert await both.requests(ASK_PATH) == []


@pytest.mark.parametrize("mode", ["plain", "full", "concise"])
async def test_nine_silent_minutes_pass(tmp_path: Path, mode: str) -> None:
    async with calling(tmp_path, factor=200.0) as rig:
        steps = agent_steps()
        await rig.script(AGENT, [*steps[:5], {"sleep": 540.0}, *steps[5:]])
        body = {**ASK, "model": "sonar-deep-research", "stream": mode != "plain"}
        if mode != "plain":
            body["stream_mode"] = mode
        reply = await rig.client.post(rig.url + SONAR, json=body, headers=bearer(KEY))
        assert reply.status_code == 200
        if mode == "plain":
            assert reply.json()["choices"][0]["message"]["content"] == TEXT
        else:
            assert "\n:" in f"\n{reply.text}", "silence is broken by comments"
            assert read(200, httpx2.Headers(), reply.text).text == TEXT
        assert len(await rig.requests(AGENT)) == 1


async def test_an_empty_answer_is_an_error(both: Rig) -> None:
    await both.script(AGENT, agent_steps(agent_events()))
    assert (await refused(both, 502))["type"] == "empty_answer"
    await both.script(ASK_PATH, session_steps([]))
    assert (await refused(both, 502, model="session/sonar"))["code"] == 502


async def test_an_answer_cut_short_says_so_in_both_modes(both: Rig) -> None:
    for mode in ("full", "concise"):
        await both.script(AGENT, agent_steps(agent_events("Low tide is", status="incomplete")))
        told = await stream(both, stream_mode=mode)
        assert told.last["choices"][0]["finish_reason"] == "length"
