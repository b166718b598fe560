"""The stream of an Agent run: framing, order, numbers, and what clients make of it."""

import json
import re
import uuid

import openai
import pytest

from tests.emulator.caller import GHENT, KEY, WEATHER, Caller, Json, calls_of, text_of

FORCED = {"tools": [{"type": "web_search"}], "tool_choice": {"type": "web_search"}}
ENVELOPE = {
    *("id", "object", "created_at", "completed_at", "status", "background", "error", "incomplete_details"),
    *("instructions", "max_output_tokens", "max_tool_calls", "model", "output", "parallel_tool_calls"),
    *("previous_response_id", "prompt_cache_key", "frequency_penalty", "presence_penalty", "reasoning"),
    *("safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "tools", "top_logprobs"),
    *("top_p", "truncation", "user", "metadata", "usage"),
}


def kinds(events: list[Json]) -> list[str]:
    """The events' types in order, repeats in a row told once."""
    found = [event["type"].removeprefix("response.") for event in events]
    return [kind for place, kind in enumerate(found) if place == 0 or found[place - 1] != kind]


def test_a_searching_answer_has_the_documented_order(caller: Caller) -> None:
    events = caller.stream(GHENT, **FORCED)
    assert kinds(events) == [
        "created",
        "in_progress",
        "reasoning.started",
        "reasoning.search_queries",
        "reasoning.search_results",
        "reasoning.stopped",
        "output_item.done",
        "output_item.added",
        "output_text.delta",
        "output_text.done",
        "output_item.done",
        "completed",
    ]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))


def test_a_level_fetches_pages_too(caller: Caller) -> None:
    order = kinds(caller.stream("Who looks after old bridges?", effort="low"))
    assert order.index("reasoning.search_results") < order.index("reasoning.fetch_url_queries")
    assert order.index("reasoning.fetch_url_results") < order.index("reasoning.stopped")


def test_the_text_is_the_same_in_all_four_places(caller: Caller) -> None:
    events = caller.stream("Which heat pump is best for old houses?", **FORCED)
    joined = "".join(event["delta"] for event in events if event["type"] == "response.output_text.delta")
    (done,) = [event["text"] for event in events if event["type"] == "response.output_text.done"]
    (item,) = [e["item"] for e in events if e["type"] == "response.output_item.done" and e["item"]["type"] == "message"]
    final = events[-1]["response"]
    assert joined == done == item["content"][0]["text"] == text_of(final)
    assert item["content"][0]["annotations"] == []
    assert final["output"][-1] == item


def test_the_response_object_has_the_live_keys_in_every_event(caller: Caller) -> None:
    events = caller.stream(GHENT, **FORCED)
    objects = [event["response"] for event in events if "response" in event]
    assert len(objects) == 3
    assert {frozenset(response) for response in objects} == {frozenset(ENVELOPE)}
    assert len({response["id"] for response in objects}) == 1
    assert [response["status"] for response in objects] == ["in_progress", "in_progress", "completed"]
    assert objects[0]["output"] == []
    assert objects[0]["usage"] is None
    assert "output_text" not in objects[-1]


def test_the_headers_are_those_of_the_live_api(caller: Caller) -> None:
    reply = caller.ask(GHENT)
    assert reply.json["id"] == f"resp_{reply.headers['x-request-id']}"
    uuid.UUID(reply.headers["x-request-id"])
    assert int(reply.headers["x-ratelimit-limit"]) == 50
    assert int(reply.headers["x-ratelimit-remaining"]) + int(reply.headers["x-ratelimit-used"]) == 50
    assert reply.headers["x-ratelimit-reset"].isdigit()


def test_marks_name_result_ids_which_need_not_begin_at_one(caller: Caller) -> None:
    firsts: set[int] = set()
    forms: set[str] = set()
    for number in range(20):
        response = caller.answer(f"What is known about bridge number {number}?", **FORCED)
        (item,) = [item for item in response["output"] if item["type"] == "search_results"]
        ids = [result["id"] for result in item["results"]]
        prose = re.sub(r"```.*?```", "", text_of(response), flags=re.DOTALL)
        marks = re.findall(r"\[(web:)?(\d+)\]", prose)
        assert marks
        assert {int(number) for _, number in marks} <= set(ids)
        firsts.add(ids[0])
        forms.update(form for form, _ in marks)
    assert 1 in firsts
    assert firsts - {1}
    assert forms == {"", "web:"}


def test_ids_are_unique_over_all_searches_though_a_page_may_own_several(caller: Caller) -> None:
    response = caller.answer("How did the history of bridges go?", effort="medium")
    results = [r for item in response["output"] if item["type"] == "search_results" for r in item["results"]]
    ids = [result["id"] for result in results]
    assert len(set(ids)) == len(ids)
    assert len({result["url"] for result in results}) < len(results)


def test_a_bare_model_does_not_search(caller: Caller) -> None:
    response = caller.answer(GHENT)
    assert [item["type"] for item in response["output"]] == ["message"]
    assert "[" not in text_of(response)


def test_an_offered_search_is_not_always_used(caller: Caller) -> None:
    tools = [{"type": "web_search"}]
    asked = caller.answer(GHENT, tools=tools)
    told = caller.answer("Tell me about the rivers of Ghent", tools=tools)
    assert [item["type"] for item in asked["output"]] == ["search_results", "message"]
    assert [item["type"] for item in told["output"]] == ["message"]


@pytest.mark.parametrize("fields", [{"tool_choice": "none"}, {"max_tool_calls": 0}])
def test_a_level_without_tools_does_not_search(caller: Caller, fields: Json) -> None:
    response = caller.answer(GHENT, effort="fast", **fields)
    assert [item["type"] for item in response["output"]] == ["message"]


def test_an_empty_tool_list_does_not_remove_a_levels_tools(caller: Caller) -> None:
    response = caller.answer(GHENT, effort="fast", tools=[])
    assert response["output"][0]["type"] == "search_results"
    assert response["tools"] == [{"type": "web_search"}]


def test_the_model_is_the_levels_name_until_the_run_is_done(caller: Caller) -> None:
    events = caller.stream(GHENT, effort="low")
    assert events[0]["response"]["model"] == "low"
    assert events[-1]["response"]["model"] == "openai/gpt-5.6-luna"
    assert caller.stream(GHENT, effort="low", model="xai/grok-4.7")[-1]["response"]["model"] == "xai/grok-4.7"


def test_the_first_of_several_models_serves(caller: Caller) -> None:
    response = caller.answer(GHENT, models=["xai/grok-4.7", "perplexity/sonar"], model="openai/gpt-5.5")
    assert response["model"] == "xai/grok-4.7"


def test_domain_filters_and_result_limits_are_obeyed(caller: Caller) -> None:
    tool = {"type": "web_search", "max_results": 2, "filters": {"search_domain_filter": ["one.example"]}}
    response = caller.answer(GHENT, tools=[tool])
    results = response["output"][0]["results"]
    assert len(results) == 2
    assert {result["url"].split("/")[2] for result in results} == {"one.example"}


def test_usage_adds_up_and_is_the_same_every_time(caller: Caller) -> None:
    first, second = (caller.answer(GHENT, effort="low")["usage"] for _ in range(2))
    assert first == second
    assert first["total_tokens"] == first["input_tokens"] + first["output_tokens"]
    cost = first["cost"]
    parts = [cost[name] for name in ("input_cost", "output_cost", "cache_read_cost", "cache_creation_cost")]
    assert cost["total_cost"] == pytest.approx(sum(parts) + cost["tool_calls_cost"], abs=2e-5)
    assert cost["tool_calls_cost"] == pytest.approx(sum(cost["tool_calls_cost_details"].values()), abs=2e-5)
    details = first["tool_calls_details"]
    assert details["search_web"]["invocation"] >= 1
    assert details["fetch_url"]["cost_usd"] > details["fetch_url"]["invocation"] * 0.0005, "extraction is billed on top"
    assert round(cost["total_cost"], 5) == cost["total_cost"]


def test_the_same_question_gets_the_same_answer_in_another_emulator(caller: Caller) -> None:
    once = caller.answer("What is a good bicycle 🚲 for Zürich?", **FORCED)
    again = caller.answer("What is a good bicycle 🚲 for Zürich?", **FORCED)
    assert text_of(once) == text_of(again)
    assert once["output"][0] == again["output"][0]
    assert once["id"] != again["id"]


def test_images_come_on_request(caller: Caller) -> None:
    tool = {"type": "image_search", "filters": {"format_filter": ["webp"]}}
    events = caller.stream(GHENT, tools=[tool])
    order = kinds(events)
    assert order.index("reasoning.image_search_queries") < order.index("reasoning.image_search_results")
    (item,) = [item for item in events[-1]["response"]["output"] if item["type"] == "image_search_results"]
    assert item["results"]
    assert all(result["image_url"].endswith(".webp") for result in item["results"])
    assert item["results"][0]["origin_url"].startswith("https://")


def test_special_tools_leave_their_items(caller: Caller) -> None:
    tools = [{"type": "sandbox"}, {"type": "finance_search"}, {"type": "people_search"}]
    response = caller.answer("Who can compute the revenue of bridges?", tools=tools)
    assert [item["type"] for item in response["output"]] == [
        "people_search_results",
        "finance_results",
        "sandbox_results",
        "message",
    ]
    assert response["usage"]["tool_calls_details"].keys() == {"search_people", "finance_search", "sandbox"}


def test_a_skill_is_loaded_before_it_is_used(caller: Caller) -> None:
    assert caller.answer(GHENT, skills=[{"type": "builtin", "name": "office/pdf"}])["output"][0] == {
        "type": "skill_loaded",
        "name": "office/pdf",
    }


def test_reasoning_shows_as_thoughts_and_tokens(caller: Caller) -> None:
    events = caller.stream(GHENT, reasoning={"effort": "high"})
    started = next(event for event in events if event["type"] == "response.reasoning.started")
    assert started["thought"]
    assert events[-1]["response"]["usage"]["output_tokens_details"]["reasoning_tokens"] > 0
    assert not [item for item in events[-1]["response"]["output"] if item["type"] == "reasoning"]


def test_a_small_limit_ends_incomplete(caller: Caller) -> None:
    events = caller.stream("Tell me a long story about bridges?", max_output_tokens=20)
    final = events[-1]["response"]
    assert events[-1]["type"] == "response.incomplete"
    assert (final["status"], final["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert 0 < len(text_of(final)) <= 80


def test_limits_below_sixteen_are_raised_to_it(caller: Caller) -> None:
    assert caller.answer(GHENT, max_output_tokens=5)["max_output_tokens"] == 16


def test_long_thoughts_can_eat_the_whole_budget(caller: Caller) -> None:
    response = caller.answer(GHENT, max_output_tokens=16, reasoning={"effort": "high"})
    assert (response["status"], response["output"]) == ("incomplete", [])


def test_an_answer_with_a_schema_is_json_that_fits_while_the_format_still_says_text(caller: Caller) -> None:
    schema = {
        "type": "object",
        "properties": {"capital": {"type": "string"}, "population": {"type": "integer", "minimum": 1000}},
        "required": ["capital", "population"],
        "additionalProperties": False,
    }
    form = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    reply = caller.ask('Capital of Iceland, "Reykjavík", 390000 people', response_format=form)
    assert reply.json["text"]["format"]["type"] == "text"
    answer = json.loads(reply.text)
    assert answer == {"capital": "Reykjavík", "population": 390000}


@pytest.fixture
def sdk(caller: Caller) -> openai.OpenAI:
    return openai.OpenAI(base_url=f"{caller.url}/v1", api_key=KEY, max_retries=0)


def test_the_openai_sdk_reads_the_stream(sdk: openai.OpenAI) -> None:
    stream = sdk.responses.create(model="perplexity/sonar", input=GHENT, stream=True, extra_body={"max_steps": 3})
    events = list(stream)
    text = "".join(event.delta for event in events if event.type == "response.output_text.delta")
    assert events[-1].type == "response.completed"
    assert text == events[-1].response.output_text


def test_the_openai_sdk_reads_functions_and_errors(sdk: openai.OpenAI) -> None:
    tool = {**WEATHER, "strict": False}
    response = sdk.responses.create(
        model="perplexity/sonar",
        input="Use get_weather for Lyon",
        tools=[tool],  # type: ignore[list-item]
    )
    (call,) = [item for item in response.output if item.type == "function_call"]
    assert (call.name, call.arguments) == ("get_weather", '{"city":"Lyon"}')
    with pytest.raises(openai.BadRequestError, match="unknown field") as caught:
        sdk.responses.create(model="perplexity/sonar", input="x", user="u")
    assert caught.value.param == "user"


def test_both_agent_paths_are_the_same(caller: Caller) -> None:
    body = {"model": "perplexity/sonar", "input": "Use get_weather for Lyon", "tools": [WEATHER]}
    run = caller.send("POST", "/v1/responses", body).json
    assert calls_of(run)
    assert caller.send("GET", f"/v1/agent/{run['id']}").json["id"] == run["id"]
