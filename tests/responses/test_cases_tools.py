"""Tools, forms of answers, thoughts and sources: what an answer shows, and what reached the upstream for it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import asked, let_answer
from tests.cases.scripts import CLEANED, TEXT, URLS, agent_events, agent_steps
from tests.cases.test_messages import ARGUMENTS, calling
from tests.cases.test_reasoning import PLACE, SCHEMA, THOUGHT
from tests.functions.offering import let_say, proposal
from tests.responses.asking import BOTH, PATH, WAYS, Json, answered, ask, refused
from tests.rig import AGENT, running

WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
TIDES: Json = {**WEATHER, "name": "get_tides"}
QUESTION = "Weather in Lyon?"
CALL: Json = {"type": "function_call", "call_id": "call_7", "name": "get_weather", "arguments": ARGUMENTS}
RESULT: Json = {"type": "function_call_output", "call_id": "call_7", "output": '{"t":21}'}
ICELAND: Json = {
    "input": "Capital and population of Iceland",
    "text": {"format": {"type": "json_schema", "name": "place", "schema": SCHEMA}},
}

# what is chosen

BAD_CHOICES: list[tuple[Json, str]] = [
    ({"tool_choice": "required"}, "tool_choice"),
    ({"tools": [], "tool_choice": "required"}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": "sometimes"}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "function"}}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "function", "name": "get_news"}}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "file_search"}}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "web_search"}}, "tool_choice"),
    ({"tools": [WEATHER], "tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "tool_choice"),
    (
        {
            "tools": [WEATHER],
            "tool_choice": {
                "type": "allowed_tools",
                "mode": "auto",
                "tools": [{"type": "function", "name": "get_weather"}, {"type": "function", "name": "get_news"}],
            },
        },
        "tool_choice",
    ),
    ({"tools": [WEATHER, WEATHER]}, "tools"),
    ({"tools": [{**WEATHER, "name": "has space"}]}, "tools[0].name"),
    ({"tools": [{**WEATHER, "parameters": {"type": "array"}}]}, "tools[0].parameters"),
    ({"tools": [{"type": "function", "function": {"name": "nested"}}]}, "tools[0].name"),
    ({"tools": [{"name": "get_weather"}]}, "tools[0].type"),
    *(
        ({"tools": [{"type": kind}]}, "tools[0].type")
        for kind in ("file_search", "computer_use_preview", "image_generation", "mcp", "custom")
    ),
]


@BOTH
async def test_choices_and_tools_that_cannot_be_met_are_refused(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in BAD_CHOICES:
            assert (await refused(rig, fields))["param"] == param, fields


@BOTH
@WAYS
async def test_no_call_comes_out_under_the_choice_none(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        said, _ = await answered(
            rig, {"input": "Use get_weather.", "tools": [WEATHER], "tool_choice": "none"}, streamed=streamed
        )
        assert (said.items("function_call"), said.response["tool_choice"]) == ([], "none")
        assert not [kind for kind in said.types if "function" in kind]


@WAYS
async def test_a_call_that_the_api_may_not_make_is_an_error(tmp_path: Path, streamed: bool) -> None:
    """Of a function that was not offered, under the choice none, and with arguments that are no object."""
    wrong: list[tuple[list[Any], Json]] = [
        ([*calling("get_news")], {"tools": [WEATHER]}),
        ([*calling("get_weather")], {"tools": [WEATHER], "tool_choice": "none"}),
        ([*calling("get_weather", arguments="[1]")], {"tools": [WEATHER]}),
    ]
    async with running(tmp_path, order=("api",)) as rig:
        for steps, fields in wrong:
            await rig.script(AGENT, steps)
            said = await ask(rig, {"input": QUESTION, **fields}, streamed=streamed)
            assert not [kind for kind in said.types if "function" in kind]
            if said.status == 200:
                assert said.response["error"]["type"] == "tool_protocol_error"
            else:
                assert (said.status, said.error["code"]) == (502, "tool_protocol_error")
                assert said.headers["x-should-retry"] == "false"


@WAYS
async def test_a_call_comes_out_as_it_was_made_and_its_signature_goes_back(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, calling("get_weather", status="requires_action", thought_signature="c2ln"))
        first, _ = await answered(rig, {"input": QUESTION, "tools": [WEATHER]}, streamed=streamed)
        (call,) = first.items("function_call")
        assert (call["call_id"], call["name"], call["arguments"]) == ("call_7", "get_weather", ARGUMENTS)
        history: list[Json] = [{"role": "user", "content": QUESTION}, CALL, RESULT]
        ways: list[Json] = [
            {"input": [RESULT], "previous_response_id": first.response["id"]},
            {"input": history, "store": False},
        ]
        for way in ways:
            _, sent = await answered(rig, {**way, "tools": [WEATHER]}, streamed=streamed)
            assert sent["input"][1:] == [
                {
                    "type": "function_call",
                    "call_id": "call_7",
                    "name": "get_weather",
                    "arguments": ARGUMENTS,
                    "thought_signature": "c2ln",
                },
                {"type": "function_call_output", "call_id": "call_7", "output": '{"t":21}'},
            ]


@BOTH
@WAYS
async def test_a_result_that_is_sent_back_again_is_said_once(tmp_path: Path, upstream: str, streamed: bool) -> None:
    """By a client that sends everything, although the response before brings it."""
    async with running(tmp_path, order=(upstream,)) as rig:
        said: list[Json] = [{"role": "user", "content": QUESTION}, CALL, RESULT]
        first, _ = await answered(rig, {"input": said, "tools": [WEATHER]}, streamed=streamed)
        again = [CALL, RESULT, *first.response["output"], {"role": "user", "content": "And in Nice?"}]
        _, sent = await answered(rig, {"input": again, "previous_response_id": first.response["id"]}, streamed=streamed)
        told = sent["input"] if upstream == "api" else json.loads(sent["query_str"])["history"]
        results = [entry for entry in told if entry.get("type", entry.get("role")) in _RESULTS]
        assert len(results) == 1


_RESULTS = ("function_call_output", "function")


@BOTH
@WAYS
async def test_a_conversation_goes_over_from_one_upstream_to_the_other(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    other = {"api": "session", "session": "api"}[upstream]
    async with running(tmp_path) as rig:
        if upstream == "api":
            await rig.script(AGENT, calling("get_weather"))
        else:
            await let_say(rig, proposal())
        first, _ = await answered(rig, {"model": f"{upstream}/sonar", "input": QUESTION, "tools": [WEATHER]})
        (call,) = first.items("function_call")
        result = {**RESULT, "call_id": call["call_id"]}
        second, sent = await answered(
            rig,
            {"model": f"{other}/sonar", "input": [result], "previous_response_id": first.response["id"]},
            streamed=streamed,
        )
        assert "get_weather" in json.dumps(sent)
        assert "21" in second.text
        assert (second.response["tool_choice"], second.response["tools"]) == ("none", [])
        third, sent = await answered(
            rig,
            {"model": f"{upstream}/sonar", "input": "And now?", "previous_response_id": second.response["id"]},
            streamed=streamed,
        )
        assert third.text
        assert QUESTION in json.dumps(sent)


@BOTH
async def test_a_call_without_its_result_is_refused(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        error = await refused(rig, {"input": [{"role": "user", "content": QUESTION}, CALL], "tools": [WEATHER]})
        assert error["param"] == "input"
        assert "call_7" in error["message"]


@BOTH
@WAYS
async def test_functions_run_in_the_background_too(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,), factor=20.0) as rig:
        fields = {"input": "Use get_weather for 'Lyon'.", "tools": [WEATHER, TIDES], "background": True}
        said = await ask(rig, fields, streamed=streamed)
        while said.response["status"] in ("queued", "in_progress"):
            said.response = (await rig.get(f"{PATH}/{said.response['id']}")).json
        (call,) = said.items("function_call")
        assert json.loads(call["arguments"]) == {"city": "Lyon"}
        result = {**RESULT, "call_id": call["call_id"]}
        after, _ = await answered(rig, {"input": [result], "previous_response_id": said.response["id"]})
        assert "21" in after.text


# forms


@WAYS
@pytest.mark.parametrize("deltas", [("<think>look up</think>", PLACE), ("``", "`json\n", PLACE, "\n`", "``")])
async def test_the_answer_to_a_schema_is_json_and_nothing_else(
    tmp_path: Path, deltas: tuple[str, ...], streamed: bool
) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await let_answer(rig, "api", *deltas)
        said, sent = await answered(rig, {**ICELAND, "model": "sonar-pro"}, streamed=streamed)
        assert said.text.strip() == PLACE
        assert said.response["citations"] == URLS
        assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
        assert "text" not in sent
        assert said.response["text"]["format"]["schema"] == SCHEMA


@WAYS
async def test_the_session_is_asked_for_a_form_in_words_and_told_where_it_cannot_promise(
    tmp_path: Path, streamed: bool
) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        await let_answer(rig, "session", "```json\n", PLACE, "\n```")
        said, sent = await answered(rig, ICELAND, streamed=streamed)
        assert json.loads(said.text) == json.loads(PLACE)
        assert "population" in sent["query_str"]
        strict = {**ICELAND["text"]["format"], "strict": True}
        error = await refused(rig, {"text": {"format": strict}})
        assert (error["param"], error["code"]) == ("text.format.strict", "unsupported_parameter")


@BOTH
async def test_forms_that_are_none_are_refused_by_their_place(tmp_path: Path, upstream: str) -> None:
    wrong: list[tuple[object, str]] = [
        ({"type": "regex", "regex": {"regex": r"\d{4}"}}, "text.format.type"),
        ({"type": "json_schema"}, "text.format"),
        ({"type": "json_schema", "name": "x"}, "text.format.schema"),
        ({"type": "json_schema", "schema": {}}, "text.format.name"),
        ({"type": "json_schema", "name": "x", "schema": {"type": "nope"}}, "text.format.schema"),
        ("json", "text.format"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for form, param in wrong:
            assert (await refused(rig, {"text": {"format": form}}))["param"].startswith(param), form


@BOTH
@WAYS
async def test_a_think_tag_cut_over_chunks_is_a_summary_and_never_text(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        await let_answer(rig, upstream, *THOUGHT, times=2)
        said, _ = await answered(rig, {"reasoning": {"summary": "auto"}}, streamed=streamed)
        assert said.text == "The Leie."
        assert "look at the map" in said.items("reasoning")[-1]["summary"][0]["text"]
        deltas = [event["delta"] for event in said.events if event["type"] == "response.output_text.delta"]
        assert "".join(deltas) == ("The Leie." if streamed else "")
        plain, _ = await answered(rig, {}, streamed=streamed)
        assert (plain.text, plain.items("reasoning")) == ("The Leie.", [])


# sources and money


@WAYS
async def test_sources_are_told_everywhere_that_clients_look(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps(), agent_steps())
        said, sent = await answered(rig, {}, streamed=streamed)
        assert sent == {
            "model": "perplexity/sonar",
            "input": [{"type": "message", "role": "user", "content": "Which two rivers meet in Ghent?"}],
            "tools": [{"type": "web_search"}],
            "tool_choice": {"type": "web_search"},
            "stream": True,
        }
        assert said.text == TEXT
        marks = said.items("message")[0]["content"][0]["annotations"]
        assert [(mark["start_index"], mark["end_index"], mark["url"]) for mark in marks] == [
            (8, 11, URLS[0]),
            (29, 32, URLS[1]),
        ]
        assert said.response["citations"] == URLS
        assert [result["url"] for result in said.response["search_results"]] == URLS
        added = [event["annotation"] for event in said.events if "annotation" in event["type"]]
        assert added == (marks if streamed else [])
        usage = said.response["usage"]
        assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (20, 9, 29)
        assert usage["cost"]["total_cost"] == 0.00503
        listed, _ = await answered(rig, {"source_list": "append"}, streamed=streamed)
        assert listed.text.startswith(TEXT)
        assert all(listed.text.count(url) == 1 for url in URLS)


@WAYS
async def test_the_sessions_cost_is_unknown_and_its_tokens_are_estimates(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        await let_answer(rig, "session", "The Leie[1] meets ", "the Scheldt[", "2].")
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == CLEANED
        usage = said.response["usage"]
        assert (usage["estimated"], usage.get("cost")) == (True, None)
        assert [mark["url"] for mark in said.items("message")[0]["content"][0]["annotations"]] == URLS


@WAYS
async def test_marks_are_ids_and_no_positions(tmp_path: Path, streamed: bool) -> None:
    two = {"id": 2, "url": "https://two.example", "title": "Two", "snippet": "", "date": None, "source": "web"}
    four = {**two, "id": 4, "url": "https://four.example", "title": "Four"}
    said_text = "Founded in 1830[2]; renamed later[web:4]."
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps(agent_events(said_text, sources=[two, four])))
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == said_text
        marks = said.items("message")[0]["content"][0]["annotations"]
        assert [(mark["start_index"], mark["end_index"], mark["url"]) for mark in marks] == [
            (15, 18, "https://two.example"),
            (33, 40, "https://four.example"),
        ]
        citations = said.response["citations"]
        for source in (two, four):
            assert str(source["url"]) not in citations or citations[int(str(source["id"])) - 1] == source["url"]


@BOTH
@WAYS
async def test_the_same_text_in_later_events_is_no_new_text(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,), citation_marks="keep") as rig:
        await let_answer(rig, upstream, "The Leie[1] meets ", "the Scheldt[2].")
        said, _ = await answered(rig, {}, streamed=streamed)
        assert said.text == TEXT
        done = [event["text"] for event in said.events if event["type"] == "response.output_text.done"]
        assert done == ([TEXT] if streamed else [])


@BOTH
@WAYS
async def test_search_tools_show_their_searches_and_sources_if_asked(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for kind in ("web_search", "web_search_2025_08_26", "web_search_preview"):
            for include in ([], ["web_search_call.action.sources"]):
                for reasoning in (None, {"summary": "auto"}):
                    fields = {"tools": [{"type": kind}], "include": include, "reasoning": reasoning}
                    said, _ = await answered(rig, fields, streamed=streamed)
                    actions = [item["action"] for item in said.items("web_search_call")]
                    assert actions
                    assert actions[0]["queries"]
                    assert all(("sources" in action) is bool(include) for action in actions)
                    assert bool(said.items("reasoning")) is bool(reasoning)
                    if include:
                        found = {page["url"] for action in actions for page in action["sources"]}
                        assert found >= set(said.response["citations"]) - {""}, fields
        plain, _ = await answered(rig, {"reasoning": {"effort": "low"}}, streamed=streamed)
        assert [item["type"] for item in plain.response["output"]] == ["message"]


async def test_nothing_was_asked_for_what_was_refused(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for fields in ({"include": ["everything"]}, {"conversation": "conv_1"}, {"prompt": {"id": "pmpt_1"}}):
            await refused(rig, fields)
        assert not await asked(rig)


async def test_the_code_interpreter_is_the_apis_sandbox(tmp_path: Path) -> None:
    tool = {"type": "code_interpreter", "container": {"type": "auto"}}
    body = {"model": "medium", "input": "Compute 2 to the 10."}
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.post({**body, "tools": [tool]}, path=PATH)
        assert reply.status == 200, reply.json
        assert reply.json["tools"] == [tool]
        assert "x-pplx-dropped" not in reply.headers
        assert {"type": "sandbox"} in (await rig.requests(AGENT))[-1]["json"]["tools"]
        own = await rig.post({**body, "tools": [{**tool, "container": "cntr_1"}]}, path=PATH)
    assert own.headers["x-pplx-dropped"] == "tools[0].container"


async def test_the_session_refuses_the_code_interpreter_by_name(tmp_path: Path) -> None:
    tool = {"type": "code_interpreter", "container": {"type": "auto"}}
    body = {"model": "gpt", "input": "Compute 2 to the 10.", "tools": [tool]}
    async with running(tmp_path, order=("session",)) as rig:
        reply = await rig.post(body, path=PATH)
    assert (reply.status, reply.error["param"]) == (400, "tools[0].type")
