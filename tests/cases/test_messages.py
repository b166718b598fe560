"""Messages, their content, and tools."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import answered, ask, asked, let_answer, refused
from tests.cases.scripts import ASK, USAGE, Json, Step, agent_steps
from tests.rig import AGENT, Rig, running

BOTH = pytest.mark.parametrize("upstream", ["api", "session"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(16)).decode()
LIMIT = 96_000


def chat(*messages: Json, model: str = "sonar", **more: object) -> Json:
    return {"model": model, "messages": list(messages), **more}


def user(content: object) -> Json:
    return {"role": "user", "content": content}


def assistant(content: object) -> Json:
    return {"role": "assistant", "content": content}


def system(content: object) -> Json:
    return {"role": "system", "content": content}


def text(words: object) -> Json:
    return {"type": "text", "text": words}


def image(url: object) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}


def envelope(sent: dict[str, Any]) -> dict[str, Any]:
    """What the session was really asked, where it was more than the question alone."""
    found: dict[str, Any] = json.loads(sent["query_str"])
    return found


# the order of roles

GREETED = chat(assistant("Hello, how can I help?"), user("I moved to Lyon."), user("Best parks?"))


@WAYS
async def test_the_api_gets_two_turns_of_one_role_as_they_are(api: Rig, streamed: bool) -> None:
    _, sent = await answered(api, GREETED, streamed=streamed)
    assert [(item["role"], item["content"]) for item in sent["input"]] == [
        ("assistant", "Hello, how can I help?"),
        ("user", "I moved to Lyon."),
        ("user", "Best parks?"),
    ]


@WAYS
async def test_the_session_gets_two_turns_of_one_role_as_one(session: Rig, streamed: bool) -> None:
    _, sent = await answered(session, GREETED, streamed=streamed)
    assert envelope(sent) == {
        "instructions": [],
        "history": [{"role": "assistant", "content": "Hello, how can I help?"}],
        "query": "I moved to Lyon.\n\nBest parks?",
    }


@WAYS
async def test_of_two_answers_in_a_row_the_session_gets_the_last_and_the_api_both(
    tmp_path: Path, streamed: bool
) -> None:
    body = chat(user("Where is Lyon?"), assistant("In Spain."), assistant("In France."), user("And Nice?"))
    async with running(tmp_path) as rig:
        said, sent = await answered(rig, body, streamed=streamed)
        assert envelope(sent)["history"] == [
            {"role": "user", "content": "Where is Lyon?"},
            {"role": "assistant", "content": "In France."},
        ]
        assert said.dropped == ["assistant"]
        assert "1 left out" in said.warnings
        said, sent = await answered(rig, {**body, "model": "api/sonar"}, streamed=streamed)
        texts = [item["content"] for item in sent["input"]]
        assert texts == ["Where is Lyon?", "In Spain.", "In France.", "And Nice?"]
        assert not said.dropped


@WAYS
async def test_late_system_text_is_hoisted_on_the_session_and_keeps_its_place_on_the_api(
    tmp_path: Path, streamed: bool
) -> None:
    body = chat(user("Best parks?"), assistant("In which city?"), system("Answer in French."), user("In Lyon."))
    async with running(tmp_path) as rig:
        _, sent = await answered(rig, body, streamed=streamed)
        assert envelope(sent)["instructions"] == ["Answer in French."]
        assert envelope(sent)["query"] == "In Lyon."
        _, sent = await answered(rig, {**body, "model": "api/sonar"}, streamed=streamed)
        assert [item["role"] for item in sent["input"]] == ["user", "assistant", "system", "user"]


# parts and the developer's role

IN_PARTS = chat(
    {"role": "developer", "content": [text("Be brief.")]},
    user([text("Hi "), text("there")]),
    assistant([text("Hello.")]),
    user("Go on"),
)


@WAYS
async def test_text_in_parts_reaches_the_api_whole(api: Rig, streamed: bool) -> None:
    _, sent = await answered(api, IN_PARTS, streamed=streamed)
    assert sent["instructions"] == "Be brief."
    assert [item["content"] for item in sent["input"]] == ["Hi there", "Hello.", "Go on"]
    _, sent = await answered(api, {**IN_PARTS, "model": "sonar-pro"}, streamed=streamed)
    assert "instructions" not in sent
    assert [(item["role"], item["content"]) for item in sent["input"]] == [
        ("system", "Be brief."),
        ("user", "Hi there"),
        ("assistant", "Hello."),
        ("user", "Go on"),
    ]


@WAYS
async def test_text_in_parts_reaches_the_session_whole(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("session",), system_prompts="full") as rig:
        said, sent = await answered(rig, IN_PARTS, streamed=streamed)
    assert envelope(sent) == {
        "instructions": ["Be brief."],
        "history": [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello."}],
        "query": "Go on",
    }
    assert not said.dropped


@WAYS
async def test_system_text_that_the_session_does_not_get_is_told(session: Rig, streamed: bool) -> None:
    body = chat(system("You are a pirate.\nAnswer in French."), user("Where is Lyon?"))
    said, sent = await answered(session, body, streamed=streamed)
    assert envelope(sent)["instructions"] == ["Answer in French."]
    assert "1 of 2 lines" in said.warnings
    assert "pirate" not in said.warnings
    assert said.dropped == ["system"]


# who speaks last


@BOTH
@WAYS
async def test_system_text_alone_is_the_question(tmp_path: Path, upstream: str, streamed: bool) -> None:
    title = "Give a three-word title for: rivers of Ghent"
    async with running(tmp_path, order=(upstream,)) as rig:
        _, sent = await answered(rig, chat(system(title)), streamed=streamed)
    if upstream == "api":
        assert [(item["role"], item["content"]) for item in sent["input"]] == [("user", title)]
    else:
        assert sent["query_str"] == title


ENDS_WITH_ASSISTANT = chat(user("Name two rivers of Ghent."), assistant("The two rivers are"))


@WAYS
async def test_the_api_goes_on_from_an_assistants_turn(api: Rig, streamed: bool) -> None:
    _, sent = await answered(api, ENDS_WITH_ASSISTANT, streamed=streamed)
    assert [item["role"] for item in sent["input"]] == ["user", "assistant"]
    assert sent["input"][-1]["content"] == "The two rivers are"


async def test_the_session_cannot_go_on_from_an_assistants_turn(session: Rig) -> None:
    assert (await refused(session, ENDS_WITH_ASSISTANT))["param"] == "messages"


@WAYS
async def test_an_assistants_turn_at_the_end_is_dropped_by_name_where_that_is_wanted(
    tmp_path: Path, streamed: bool
) -> None:
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        said, sent = await answered(rig, ENDS_WITH_ASSISTANT, streamed=streamed)
    assert said.dropped == ["messages"]
    assert sent["query_str"] == "Name two rivers of Ghent."


@WAYS
async def test_the_helper_costs_no_search_on_the_api(api: Rig, streamed: bool) -> None:
    body = chat(system("Give a three-word title for: rivers of Ghent"), model="helper", max_tokens=1000)
    _, sent = await answered(api, body, streamed=streamed)
    assert "web_search" not in json.dumps(sent)
    assert "tool_choice" not in sent
    assert sent["effort"] == "fast"
    assert sent["max_tool_calls"] == 0


@WAYS
async def test_the_helper_is_the_automatic_choice_on_the_session(session: Rig, streamed: bool) -> None:
    _, sent = await answered(session, chat(user("A title, please"), model="helper"), streamed=streamed)
    assert (sent["params"]["mode"], sent["params"]["model_preference"]) == ("concise", "pplx_pro")


# tools

WEATHER: Json = {
    "name": "get_weather",
    "description": "The weather now",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
TOOLS: Json = {"tools": [{"type": "function", "function": WEATHER}]}
ARGUMENTS = '{"city":"Lyon"}'
CALL: Json = {"id": "call_7", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
CALLED: Json = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT: Json = {"role": "tool", "tool_call_id": "call_7", "content": '{"t":21}'}
AFTER_CALL = chat(user("Weather in Lyon?"), CALLED, RESULT, model="sonar-pro", **TOOLS)


def calling(name: str, *, status: str = "completed", **more: object) -> list[Step]:
    """A run that ends in one call of `name`."""
    call: Json = {"type": "function_call", "id": "fc_1", "call_id": "call_7", "name": name, "arguments": ARGUMENTS}
    call |= {"status": "completed", **more}
    run: Json = {"id": "resp_t1", "object": "response", "created_at": 1767225600, "model": "perplexity/sonar"}
    events: list[Json] = [
        {"type": "response.created", "response": {**run, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": call},
        {"type": "response.output_item.done", "output_index": 0, "item": call},
        {"type": "response.completed", "response": {**run, "status": status, "output": [call], "usage": USAGE}},
    ]
    return agent_steps([{"sequence_number": number, **event} for number, event in enumerate(events)])


@WAYS
async def test_tool_turns_reach_the_api_as_calls_and_their_results(api: Rig, streamed: bool) -> None:
    for call in (CALLED, {**CALLED, "content": ""}, {key: CALLED[key] for key in ("role", "tool_calls")}):
        body = {**AFTER_CALL, "messages": [user("Weather in Lyon?"), call, RESULT]}
        _, sent = await answered(api, body, streamed=streamed)
        assert sent["input"] == [
            {"type": "message", "role": "user", "content": "Weather in Lyon?"},
            {"type": "function_call", "call_id": "call_7", "name": "get_weather", "arguments": ARGUMENTS},
            {"type": "function_call_output", "call_id": "call_7", "output": '{"t":21}'},
        ]
        assert [tool for tool in sent["tools"] if tool["type"] == "function"] == [{"type": "function", **WEATHER}]


@WAYS
@pytest.mark.parametrize("status", ["completed", "requires_action"])
async def test_a_call_of_the_api_is_a_tool_call(api: Rig, status: str, streamed: bool) -> None:
    await api.script(AGENT, calling("get_weather", status=status))
    said, _ = await answered(api, chat(user("Weather in Lyon?"), model="sonar-pro", **TOOLS), streamed=streamed)
    assert said.reason == "tool_calls"
    assert said.content == ""
    (call,) = said.tool_calls
    assert (call["id"], call["type"]) == ("call_7", "function")
    assert call["function"] == {"name": "get_weather", "arguments": ARGUMENTS}


@WAYS
async def test_a_thought_signature_goes_back_although_the_client_never_saw_it(api: Rig, streamed: bool) -> None:
    await api.script(AGENT, calling("get_weather", thought_signature="c2ln"))
    await answered(api, chat(user("Weather in Lyon?"), model="sonar-pro", **TOOLS), streamed=streamed)
    _, sent = await answered(api, AFTER_CALL, streamed=streamed)
    assert sent["input"][1]["thought_signature"] == "c2ln"


@WAYS
async def test_tool_turns_reach_the_session_as_history(session: Rig, streamed: bool) -> None:
    for call in (CALLED, {**CALLED, "content": ""}, {key: CALLED[key] for key in ("role", "tool_calls")}):
        body = {**AFTER_CALL, "model": "sonar", "messages": [user("Weather in Lyon?"), call, RESULT]}
        said, sent = await answered(session, body, streamed=streamed)
        whole = envelope(sent)
        assert whole["query"] == "Weather in Lyon?"
        assert whole["history"] == [
            {
                "role": "function",
                "name": "get_weather",
                "arguments": {"city": "Lyon"},
                "content": '{"t":21}',
                "for": "query",
            }
        ]
        assert '{"t":21}' in said.content
        assert said.reason == "stop"


@WAYS
async def test_a_proposal_of_the_session_is_a_tool_call(session: Rig, streamed: bool) -> None:
    await let_answer(session, "session", '{"tool_calls":[{"name":"get_weather",', f'"arguments":{ARGUMENTS}}}]}}')
    said, _ = await answered(session, {**ASK, **TOOLS}, streamed=streamed)
    assert (said.reason, said.content) == ("tool_calls", "")
    (call,) = said.tool_calls
    assert call["type"] == "function"
    assert call["function"] == {"name": "get_weather", "arguments": ARGUMENTS}


@WAYS
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("get_tides", {}),
        ("web_search", {}),
        ("get_weather", {"arguments": "{"}),
        ("get_weather", {"arguments": '{"city":}'}),
        ("get_weather", {"arguments": '["Lyon"]'}),
    ],
)
async def test_a_call_that_cannot_be_made_is_an_error(
    api: Rig, name: str, wrong: dict[str, Any], streamed: bool
) -> None:
    await api.script(AGENT, calling(name, **wrong))
    said = await ask(api, chat(user("Weather in Lyon?"), model="sonar-pro", **TOOLS), streamed=streamed)
    assert said.error is not None
    assert said.error["code"] == "tool_protocol_error"
    assert not said.tool_calls
    if not streamed:
        assert (said.status, said.headers["x-should-retry"]) == (502, "false")


@WAYS
@pytest.mark.parametrize("name", ["web_search", "search_web", "fetch_url", "sandbox"])
async def test_a_tool_of_a_reserved_name_is_renamed_on_the_way_and_back(api: Rig, name: str, streamed: bool) -> None:
    body = chat(user("Weather in Lyon?"), tools=[{"type": "function", "function": {**WEATHER, "name": name}}])
    _, sent = await answered(api, body, streamed=streamed)
    (tool,) = [tool for tool in sent["tools"] if tool["type"] == "function"]
    assert tool == {"type": "function", **WEATHER, "name": tool["name"]}
    assert tool["name"] != name
    await api.script(AGENT, calling(tool["name"]))
    said, again = await answered(api, body, streamed=streamed)
    assert [tool["name"] for tool in again["tools"] if tool["type"] == "function"] == [tool["name"]]
    assert [call["function"]["name"] for call in said.tool_calls] == [name]


@BOTH
async def test_a_choice_of_tools_that_cannot_be_met_is_refused(tmp_path: Path, upstream: str) -> None:
    reference: Json = {"type": "function", "function": {"name": "get_weather"}}
    allowed: Json = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [reference]}}
    cases: list[tuple[Json, str]] = [
        ({"tool_choice": "required"}, "tool_choice"),
        ({"tool_choice": "required", "tools": []}, "tool_choice"),
        ({"tool_choice": reference}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {"name": "other"}}, **TOOLS}, "tool_choice"),
        ({"tool_choice": {"type": "function"}, **TOOLS}, "tool_choice"),
        ({"tool_choice": {"type": "function", "function": {}}, **TOOLS}, "tool_choice.function.name"),
        ({"tool_choice": "sometimes", **TOOLS}, "tool_choice"),
        ({"tool_choice": 1, **TOOLS}, "tool_choice"),
        ({"tool_choice": allowed}, "tool_choice"),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "allowed_tools": {
                        "mode": "auto",
                        "tools": [reference, {"type": "function", "function": {"name": "other"}}],
                    },
                },
                **TOOLS,
            },
            "tool_choice",
        ),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in cases:
            assert (await refused(rig, {**ASK, **fields}))["param"] == param, fields


@WAYS
async def test_no_call_comes_out_under_the_choice_none(api: Rig, streamed: bool) -> None:
    await let_answer(api, "api", "It rains.")
    said, sent = await answered(api, {**ASK, **TOOLS, "tool_choice": "none"}, streamed=streamed)
    assert not said.tool_calls
    assert not [tool for tool in sent["tools"] if tool["type"] == "function"]
    await api.script(AGENT, calling("get_weather"))
    said = await ask(api, {**ASK, **TOOLS, "tool_choice": "none"}, streamed=streamed)
    assert said.status == 502
    assert said.error is not None
    assert said.error["code"] == "tool_protocol_error"
    assert said.headers["x-should-retry"] == "false"


@WAYS
async def test_choices_of_tools_reach_the_api(api: Rig, streamed: bool) -> None:
    other: Json = {"type": "function", "function": {**WEATHER, "name": "get_tides"}}
    reference: Json = {"type": "function", "function": {"name": "get_tides"}}
    tools = [*TOOLS["tools"], other]  # type: ignore[misc]
    cases: list[tuple[object, object, list[str]]] = [
        (None, None, ["get_weather", "get_tides"]),
        ("auto", None, ["get_weather", "get_tides"]),
        ("required", "required", ["get_weather", "get_tides"]),
        (reference, {"name": "get_tides"}, ["get_weather", "get_tides"]),
        (
            {"type": "allowed_tools", "allowed_tools": {"mode": "required", "tools": [reference]}},
            "required",
            ["get_tides"],
        ),
    ]
    for choice, sent_choice, names in cases:
        await api.script(AGENT, calling("get_tides"))
        body = chat(user("Tides in Ghent?"), model="perplexity/sonar", tools=tools, tool_choice=choice)
        _, sent = await answered(api, body, streamed=streamed)
        assert sent.get("tool_choice") == sent_choice
        assert [tool["name"] for tool in sent["tools"] if tool["type"] == "function"] == names


# messages that are none


@BOTH
async def test_messages_that_are_none_are_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[Json, str]] = [
        ({"messages": []}, "messages"),
        ({}, "messages"),
        ({"messages": None}, "messages"),
        ({"messages": "Why?"}, "messages"),
        ({"messages": {"role": "user", "content": "Why?"}}, "messages"),
        ({"messages": ["Why?"]}, "messages[0]"),
        ({"messages": [None]}, "messages[0]"),
        ({"messages": [{"content": "Why?"}]}, "messages[0].role"),
        ({"messages": [{"role": "narrator", "content": "Why?"}]}, "messages[0].role"),
        ({"messages": [user("Why?"), {"role": 7, "content": "Why?"}]}, "messages[1].role"),
        ({"messages": [assistant("")]}, "messages"),
        ({"messages": [system("")]}, "messages"),
        ({"messages": [user("Weather?"), CALLED]}, "messages"),
        ({"messages": [user("Weather?"), RESULT]}, "messages[1].tool_call_id"),
        ({"messages": [user("Weather?"), {"role": "tool", "content": "21"}]}, "messages[1].tool_call_id"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in cases:
            assert (await refused(rig, {"model": "sonar", **fields}))["param"] == param, fields


@BOTH
async def test_content_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[list[Json], str]] = [
        ([user(None)], "messages[0].content"),
        ([{"role": "user"}], "messages[0].content"),
        ([user("")], "messages[0].content"),
        ([user([])], "messages[0].content"),
        ([user([text("")])], "messages[0].content"),
        ([user(5)], "messages[0].content"),
        ([user({"type": "text", "text": "Why?"})], "messages[0].content"),
        ([user("Hi"), system(None), user("Why?")], "messages[1].content"),
        ([system([]), user("Why?")], "messages[0].content"),
        ([user("Hi"), assistant(None), user("Why?")], "messages[1].content"),
        ([user("Hi"), assistant([]), user("Why?")], "messages[1].content"),
        ([user("Hi"), {**assistant(None), "tool_calls": []}, user("Why?")], "messages[1].content"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for messages, param in cases:
            assert (await refused(rig, chat(*messages)))["param"] == param, messages


@BOTH
@WAYS
async def test_an_assistants_empty_text_is_no_turn(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        _, sent = await answered(rig, chat(user("Where is Lyon?"), assistant(""), user("Why?")), streamed=streamed)
    if upstream == "api":
        assert [item["content"] for item in sent["input"]] == ["Where is Lyon?", "Why?"]
    else:
        assert sent["query_str"] == "Where is Lyon?\n\nWhy?"


@BOTH
async def test_a_part_that_is_none_is_refused_by_its_place(tmp_path: Path, upstream: str) -> None:
    at = "messages[0].content[1]"
    cases: list[tuple[object, str]] = [
        ({"type": "hologram"}, f"{at}.type"),
        ({"text": "Why?"}, f"{at}.type"),
        ({"type": None, "text": "Why?"}, f"{at}.type"),
        ({"type": "text"}, f"{at}.text"),
        (text(5), f"{at}.text"),
        (text(None), f"{at}.text"),
        ("Why?", at),
        (None, at),
        ({"type": "input_text", "text": "Why?"}, f"{at}.type"),
        ({"type": "refusal", "refusal": "No."}, f"{at}.type"),
        ({"type": "image_url"}, f"{at}.image_url"),
        ({"type": "image_url", "image_url": "https://img.example/l.png"}, f"{at}.image_url"),
        ({"type": "image_url", "image_url": {}}, f"{at}.image_url.url"),
        ({"type": "file", "file": {}}, f"{at}.file.file_data"),
        ({"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}, f"{at}.type"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for part, param in cases:
            assert (await refused(rig, chat(user([text("Look: "), part]))))["param"] == param, part
        error = await refused(rig, chat(user("Hi"), assistant([image("https://img.example/l.png")]), user("Why?")))
        assert error["param"] == "messages[1].content[0].type"
        error = await refused(rig, chat(system([image("https://img.example/l.png")]), user("Why?")))
        assert (error["param"] or "").startswith("messages[0].content[0]")


# images


@WAYS
async def test_text_and_images_keep_their_order_on_the_api(api: Rig, streamed: bool) -> None:
    url = f"data:image/png;base64,{PNG}"
    body = chat(user([text("This"), image(url), text("or this?"), image("https://img.example/l.png")]))
    _, sent = await answered(api, body, streamed=streamed)
    assert sent["input"][0]["content"] == [
        {"type": "input_text", "text": "This"},
        {"type": "input_image", "image_url": url},
        {"type": "input_text", "text": "or this?"},
        {"type": "input_image", "image_url": "https://img.example/l.png"},
    ]


@WAYS
async def test_a_data_url_in_capitals_is_one(api: Rig, streamed: bool) -> None:
    body = chat(user([image(f"DATA:Image/PNG;BASE64,{PNG}")]))
    _, sent = await answered(api, body, streamed=streamed)
    assert sent["input"][0]["content"] == [{"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"}]


@BOTH
async def test_a_data_url_that_is_no_image_is_refused_by_its_place(tmp_path: Path, upstream: str) -> None:
    svg = base64.b64encode(b"<svg xmlns='http://www.w3.org/2000/svg'/>").decode()
    big = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(22 << 20)).decode()
    bad, other = "invalid_base64_image", "unsupported_image_media_type"
    cases = [
        ("data:image/png;base64,", bad),
        (f"data:image/png;base64,{PNG[:8]} {PNG[8:]}", bad),
        (f"data:image/png;base64,{PNG[:8]}\n{PNG[8:]}", bad),
        (f"data:image/png;base64,{PNG[:-1]}!", bad),
        (f"data:image/png,{PNG}", bad),
        (f"data:image/jpeg;base64,{PNG}", bad),
        (f"data:image/png;base64,{big}", bad),
        (f"data:image/svg+xml;base64,{svg}", other),
        (f"data:text/html;base64,{svg}", other),
        (f"data:;base64,{PNG}", other),
        ("data:,", other),
        ("data:", other),
        ("http://169.254.169.254/x", "invalid_request"),
        ("file:///etc/passwd", "invalid_request"),
        ("", "invalid_request"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for url, code in cases:
            error = await refused(rig, chat(user([text("Look: "), image(url)])))
            found = (error["param"], error["code"])
            assert found == ("messages[0].content[1].image_url.url", code), url[:60]
            assert url[30:60] == "" or url[30:60] not in error["message"]


async def test_the_session_refuses_an_image_by_address_by_its_place(session: Rig) -> None:
    error = await refused(session, chat(user([text("Look: "), image("https://img.example/l.png")])))
    assert (error["param"], error["code"]) == ("messages[0].content[1].image_url.url", "unsupported_parameter")


@WAYS
async def test_the_session_answers_without_an_image_that_is_dropped_by_name(tmp_path: Path, streamed: bool) -> None:
    body = chat(user([text("What is a leie?"), image("https://img.example/l.png")]))
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        said, sent = await answered(rig, body, streamed=streamed)
        assert said.dropped == ["messages[0].content[1].image_url.url"]
        assert sent["query_str"] == "What is a leie?"
        alone = await refused(rig, chat(user([image("https://img.example/l.png")])))
        assert alone["param"] == "messages"


# length


@pytest.mark.parametrize("letter", ["a", "é", "東", "🚲"])
async def test_a_query_of_exactly_the_limit_passes_whole_and_one_more_is_refused(session: Rig, letter: str) -> None:
    """Counted in characters as sent, not in bytes."""
    _, sent = await answered(session, chat(user(letter * LIMIT)))
    assert sent["query_str"] == letter * LIMIT
    error = await refused(session, chat(user(letter * (LIMIT + 1))))
    assert error["param"] == "messages"
    assert str(LIMIT + 1) in error["message"]


async def test_what_is_counted_is_what_is_sent(session: Rig) -> None:
    """The envelope counts, and what JSON makes of a line break."""
    wrapped = len(json.dumps({"instructions": [], "history": [assistant("Hi"), user("")], "query": ""}))
    history = [user("Hi"), assistant("Hello")]
    room = LIMIT - wrapped - 200
    said, sent = await answered(session, chat(*history, user("a" * room)))
    assert said.status == 200
    assert len(sent["query_str"]) <= LIMIT
    spare = LIMIT - len(sent["query_str"])
    _, sent = await answered(session, chat(*history, user("b" * (room + spare))))
    assert len(sent["query_str"]) == LIMIT
    assert envelope(sent)["query"] == "b" * (room + spare)
    error = await refused(session, chat(*history, user("b" * (room + spare + 1))))
    assert str(LIMIT + 1) in error["message"]
    error = await refused(session, chat(*history, user("\n" + "b" * (room + spare - 1))))
    assert str(LIMIT + 1) in error["message"]


async def test_system_text_that_is_not_sent_does_not_count(session: Rig) -> None:
    said, _ = await answered(session, chat(system("You are a pirate. " * 8000), user("Where is Lyon?")))
    assert "left out" in said.warnings


async def test_the_api_has_no_such_limit(api: Rig) -> None:
    _, sent = await answered(api, chat(user("a" * (LIMIT + 1))))
    assert sent["input"][0]["content"] == "a" * (LIMIT + 1)


@WAYS
async def test_a_name_beside_a_message_is_no_reason_to_fail(api: Rig, streamed: bool) -> None:
    await answered(api, chat({**user("Where is Lyon?"), "name": "ada"}), streamed=streamed)
    assert "ada" not in json.dumps(await asked(api))
