"""The Agent API's face over the session: the same objects and events, what cannot be had refused by name (B3)."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.agent_face.calling import AGENT, ASK, LONG, Json, create, events, said, stream, text_of
from tests.agent_face.test_leaving import bare
from tests.agent_face.test_sdk import told
from tests.cases.scripts import TEXT, URLS, session_steps
from tests.perplexity.calling import Caller, Sdk, native_error, running_caller
from tests.rig import ASK_PATH, KEY

MODEL = "sonar"
SESSION: dict[str, Any] = {"model": MODEL}


async def test_a_plain_answer_with_marks_and_results(on_session: Caller) -> None:
    await on_session.rig.script(ASK_PATH, session_steps())
    response = await create(on_session, "/perplexity/v1/responses", **SESSION)
    assert said(response) == TEXT
    search, message = response["output"]
    assert (search["type"], [result["url"] for result in search["results"]]) == ("search_results", URLS)
    marks = [(mark["start_index"], mark["end_index"], mark["url"]) for mark in message["content"][0]["annotations"]]
    assert [url for _, _, url in marks] == URLS
    assert [TEXT[start:end] for start, end, _ in marks] == ["[1]", "[2]"]
    assert response["usage"]["estimated"]
    assert "cost" not in response["usage"], "nobody says what it cost"


async def test_a_stream_tells_the_same(on_session: Caller) -> None:
    for _ in range(2):
        await on_session.rig.script(ASK_PATH, session_steps())
    whole = await create(on_session, **SESSION)
    told_now = await stream(on_session, **SESSION)
    assert [event["sequence_number"] for event in told_now] == list(range(len(told_now)))
    kinds = [event["type"] for event in told_now]
    assert kinds[:3] == ["response.created", "response.in_progress", "response.reasoning.started"]
    assert kinds.index("response.reasoning.search_results") < kinds.index("response.reasoning.stopped")
    assert kinds.index("response.reasoning.stopped") < kinds.index("response.output_text.delta")
    assert kinds[-3:] == ["response.output_text.done", "response.output_item.done", "response.completed"]
    assert text_of(told_now) == TEXT
    last = told_now[-1]["response"]
    changing = ("id", "created_at", "completed_at", "output", "pplx")
    assert {k: v for k, v in last.items() if k not in changing} == {k: v for k, v in whole.items() if k not in changing}
    assert said(last) == TEXT
    items = {event["output_index"]: event["item"] for event in told_now if event["type"] == "response.output_item.done"}
    assert [items[place] for place in sorted(items)] == last["output"]


async def test_the_sdk_reads_it(session_sdk: Sdk, on_session: Caller) -> None:
    for _ in range(2):
        await on_session.rig.script(ASK_PATH, session_steps())
    response = await session_sdk.do(lambda client: client.responses.create(model=MODEL, input="Which?"))
    assert response.output_text == TEXT
    found = await told(session_sdk, lambda client: client.responses.create(preset="fast", input="Which?", stream=True))
    assert "".join(event.delta for event in found if event.type == "response.output_text.delta") == TEXT
    again = await session_sdk.do(lambda client: client.responses.retrieve(response.id))
    assert again.output_text == TEXT


async def test_a_conversation_goes_on(on_session: Caller) -> None:
    first = await create(on_session, **SESSION)
    second = await create(on_session, **SESSION, input="And how long are they?", previous_response_id=first["id"])
    assert second["previous_response_id"] == first["id"]
    other = await on_session.new_key("other")
    body = {**ASK, **SESSION, "previous_response_id": first["id"]}
    error = native_error(await on_session.post(AGENT, body, key=other), 400)
    assert (error["type"], error["param"]) == ("previous_response_not_found", "previous_response_id")


async def ended(caller: Caller, response_id: str) -> Json:
    """The response once it is over."""
    async with asyncio.timeout(20):
        while True:
            now: Json = (await caller.get(f"{AGENT}/{response_id}")).json()
            if now["status"] not in ("queued", "in_progress"):
                return now
            await asyncio.sleep(0.05)


async def test_a_response_in_the_background(on_session: Caller) -> None:
    begun = await create(on_session, **SESSION, background=True)
    assert begun["status"] in ("queued", "in_progress")
    now = await ended(on_session, begun["id"])
    assert "Leie" in said(now)
    native_error(await on_session.post(f"{AGENT}/{begun['id']}/cancel", None), 400)
    assert (await on_session.get(f"{AGENT}/{begun['id']}/files")).json() == {"object": "list", "data": []}
    other = await on_session.new_key("other")
    assert native_error(await on_session.get(f"{AGENT}/{begun['id']}", key=other), 404) == native_error(
        await on_session.get(f"{AGENT}/resp_agent_none", key=other), 404
    )


async def test_a_response_in_the_background_is_cancelled(on_session: Caller) -> None:
    await on_session.rig.script(ASK_PATH, [*session_steps()[:3], LONG])
    begun = await create(on_session, **SESSION, background=True)
    await on_session.rig.wait(ASK_PATH)
    reply = await on_session.post(f"{AGENT}/{begun['id']}/cancel", None)
    assert reply.json() == {"response_id": begun["id"], "status": "cancelling"}
    await on_session.rig.wait(ASK_PATH, closed=True)
    now = (await on_session.get(f"{AGENT}/{begun['id']}")).json()
    assert (now["status"], now["error"]["code"]) == ("cancelled", "cancelled")


async def test_functions_are_called_over_the_bridge(on_session: Caller) -> None:
    tools = [{"type": "function", "name": "tide_table", "parameters": {"type": "object"}}]
    asked = {**SESSION, "input": "Use tide_table for 'Ostend'.", "tools": tools, "tool_choice": {"name": "tide_table"}}
    told_now = await stream(on_session, **asked)
    items = [event["item"] for event in told_now if event["type"] == "response.output_item.done"]
    (call,) = [item for item in items if item["type"] == "function_call"]
    assert call["name"] == "tide_table"
    given = {"type": "function_call_output", "call_id": call["call_id"], "output": "High water is at 06:12."}
    answer = await create(
        on_session, **SESSION, input=[given], tools=tools, previous_response_id=told_now[-1]["response"]["id"]
    )
    assert "06:12" in said(answer)


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"tools": [{"type": "sandbox"}]}, "tools[0]"),
    ({"tools": [{"type": "people_search"}]}, "tools[0]"),
    ({"tools": [{"type": "mcp", "server_label": "m", "server_url": "https://m.example"}]}, "tools[0]"),
    ({"skills": [{"type": "builtin", "name": "office"}]}, "skills"),
    ({"profile": {"type": "custom", "id": "p"}}, "profile"),
    (
        {"tools": [{"type": "fetch_url"}, {"type": "web_search", "filters": {"search_domain_filter": ["a.example"]}}]},
        "tools[1].filters.search_domain_filter",
    ),
    (
        {"tools": [{"type": "web_search", "filters": {"search_after_date_filter": "03/01/2026"}}]},
        "tools[0].filters.search_after_date_filter",
    ),
    ({"max_output_tokens": 100}, "max_output_tokens"),
    ({"temperature": 0.3}, "temperature"),
    (
        {
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "n", "schema": {"type": "object"}, "strict": True},
            }
        },
        "response_format.json_schema.strict",
    ),
    ({"background": True, "stream": True}, "stream"),
]


@pytest.mark.parametrize(("body", "param"), REFUSED, ids=[param for _, param in REFUSED])
async def test_what_the_session_has_not_is_refused_by_name(
    on_session: Caller, body: dict[str, Any], param: str
) -> None:
    error = native_error(await on_session.post(AGENT, {**ASK, **SESSION, **body}), 400)
    assert error["param"] == param, error
    assert await on_session.rig.requests(ASK_PATH) == []


async def test_dropping_is_told_by_the_caller_s_names(tmp_path: Path) -> None:
    async with running_caller(tmp_path, order=("session",), unsupported="drop") as caller:
        search = {"type": "web_search", "filters": {"search_domain_filter": ["a.example"]}}
        body = {**ASK, **SESSION, "tools": [search, {"type": "sandbox"}], "max_steps": 2, "temperature": 0.1}
        reply = await caller.post(AGENT, body)
        assert reply.status_code == 200, reply.text
        dropped = set(reply.headers["x-pplx-dropped"].split(", "))
        assert dropped == {"tools[0].filters.search_domain_filter", "tools[1]", "max_steps", "temperature"}


async def test_levels_have_their_like(on_session: Caller) -> None:
    for level in ("fast", "pro-search", "medium"):
        await create(on_session, model=None, preset=level)
    error = native_error(
        await on_session.post(AGENT, {"effort": "wide-research", "input": "x", "background": True}), 404
    )
    assert error["param"] == "effort"


async def test_the_session_is_asked_for_by_name(tmp_path: Path) -> None:
    async with running_caller(tmp_path, order=("session", "api")) as caller:
        await create(caller, model="session/sonar")
        assert len(await caller.rig.requests(ASK_PATH)) == 1
        await create(caller, model="sonar")
        assert len(await caller.rig.requests(AGENT)) == 1, "on these paths the api comes first"


@pytest.mark.parametrize("streamed", [False, True])
async def test_leaving_closes_the_answer(on_session: Caller, streamed: bool) -> None:
    await on_session.rig.script(ASK_PATH, [*session_steps()[:3], LONG])
    async with bare(on_session, {**ASK, **SESSION, "stream": streamed}) as reader:
        await on_session.rig.wait(ASK_PATH)
        if streamed:
            await reader.readuntil(b"The Leie")
    await on_session.rig.wait(ASK_PATH, closed=True, seconds=1)


@pytest.mark.parametrize("fault", ["upstream_500", "midstream_drop", "quota_gone"])
async def test_failures(on_session: Caller, fault: str) -> None:
    asked = {**SESSION, "input": f"fault:{fault} Why?"}
    reply = await on_session.post(AGENT, {**ASK, **asked})
    assert reply.status_code >= 400
    error = native_error(reply, reply.status_code)
    client = on_session.rig.client
    async with client.stream(
        "POST",
        on_session.rig.url + AGENT,
        json={**ASK, **asked, "stream": True},
        headers={"authorization": f"Bearer {KEY}"},
    ) as streamed:
        if streamed.status_code == 200:
            found = [event async for event in events(streamed)]
            assert found[-1]["type"] == "error"
            assert found[-1]["error"]["type"] == error["type"]
            assert not any(event["type"] == "response.completed" for event in found)
