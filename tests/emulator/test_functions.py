"""Functions on the Agent API: when they are called, with what, and what follows."""

import json

import jsonschema_rs
import pytest

from tests.emulator.caller import GHENT, WEATHER, Caller, Json, calls_of, text_of

PLACES: Json = {
    "type": "function",
    "name": "find_places",
    "parameters": {
        "type": "object",
        "properties": {
            "kind": {"type": "string", "enum": ["museum", "park"]},
            "near": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "limit": {"type": "integer", "minimum": 1, "maximum": 50},
            "open": {"type": "boolean"},
            "note": {"type": "string"},
        },
        "required": ["kind", "near", "limit", "open"],
        "additionalProperties": False,
    },
}


def call(call_id: str = "call_7", name: str = "get_weather") -> Json:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": '{"city":"Lyon"}'}


def result(output: object = '{"t":21}', call_id: str = "call_7") -> Json:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def user(text: str) -> Json:
    return {"role": "user", "content": text}


def test_a_question_that_names_a_function_gets_a_call_of_it(caller: Caller) -> None:
    (made,) = calls_of(caller.answer("Please use get_weather for Lyon", tools=[PLACES, WEATHER]))
    assert (made["name"], json.loads(made["arguments"])) == ("get_weather", {"city": "Lyon"})
    assert made["call_id"] != made["id"]


def test_a_question_that_names_none_gets_text(caller: Caller) -> None:
    response = caller.answer(GHENT, tools=[WEATHER])
    assert not calls_of(response)
    assert "Leie" in text_of(response)


@pytest.mark.parametrize("choice", ["required", {"type": "required"}, {"name": "get_weather"}])
def test_a_call_can_be_demanded(caller: Caller, choice: object) -> None:
    (made,) = calls_of(caller.answer("How is it in Lyon?", tools=[WEATHER, PLACES], tool_choice=choice))
    assert made["name"] == "get_weather"


def test_a_demanded_call_comes_before_a_search(caller: Caller) -> None:
    response = caller.answer("How is it in Lyon?", tools=[{"type": "web_search"}, WEATHER], tool_choice="required")
    assert [item["type"] for item in response["output"]] == ["function_call"]


def test_a_forced_search_comes_before_a_named_function(caller: Caller) -> None:
    choice = {"type": "web_search"}
    response = caller.answer("get_weather in Lyon", tools=[{"type": "web_search"}, WEATHER], tool_choice=choice)
    assert response["output"][0]["type"] == "search_results"
    assert calls_of(response)


def test_none_means_none(caller: Caller) -> None:
    response = caller.answer("Please use get_weather for Lyon", tools=[WEATHER], tool_choice="none")
    assert not calls_of(response)
    assert text_of(response)


def test_arguments_fit_the_schema_and_speak_of_the_question(caller: Caller) -> None:
    (made,) = calls_of(caller.answer('find_places: 12 of kind "park" near New York', tools=[PLACES]))
    arguments = json.loads(made["arguments"])
    assert jsonschema_rs.is_valid(PLACES["parameters"], arguments)
    assert arguments["kind"] == "park"
    assert arguments["limit"] == 12
    assert arguments["near"]["city"] in ("park", "New York")
    assert "note" not in arguments


def test_two_named_functions_are_called_side_by_side_unless_told_not_to(caller: Caller) -> None:
    question = "Use find_places and then get_weather for Lyon"
    both = calls_of(caller.answer(question, tools=[WEATHER, PLACES]))
    assert [made["name"] for made in both] == ["find_places", "get_weather"]
    one = calls_of(caller.answer(question, tools=[WEATHER, PLACES], parallel_tool_calls=False))
    assert [made["name"] for made in one] == ["find_places"]


def test_calls_arrive_whole_in_the_stream(caller: Caller) -> None:
    events = caller.stream("Use get_weather for Lyon", tools=[WEATHER], tool_choice="required")
    items = [event["item"] for event in events if event["type"].startswith("response.output_item")]
    assert len(items) == 2
    assert items[0] == items[1] == events[-1]["response"]["output"][0]
    assert not [event for event in events if "arguments" in event["type"]]


def test_runs_with_calls_end_completed_or_requiring_action(caller: Caller) -> None:
    statuses = {caller.answer(f"Use get_weather for place {number}", tools=[WEATHER])["status"] for number in range(12)}
    assert statuses == {"completed", "requires_action"}


def test_google_models_sign_their_calls(caller: Caller) -> None:
    (signed,) = calls_of(caller.answer("get_weather in Lyon", model="google/gemini-3.8-flash", tools=[WEATHER]))
    (unsigned,) = calls_of(caller.answer("get_weather in Lyon", model="openai/gpt-5.5", tools=[WEATHER]))
    assert signed["thought_signature"]
    assert "thought_signature" not in unsigned


@pytest.mark.parametrize("output", ['{"t":21}', "plain words", "```\nfenced\n```"])
def test_after_a_result_the_answer_is_text_that_contains_it(caller: Caller, output: str) -> None:
    turns = [user("Use get_weather for Lyon"), call(), result(output)]
    response = caller.answer(turns, tools=[WEATHER], tool_choice="auto")
    assert not calls_of(response)
    assert output in text_of(response)
    assert "get_weather" in text_of(response)


def test_a_result_is_in_the_answer_of_a_run_that_must_be_json(caller: Caller) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "any", "schema": {"type": "object"}}}
    turns = [user("Use get_weather for Lyon"), call(), result("warm and dry")]
    answer = json.loads(text_of(caller.answer(turns, tools=[WEATHER], response_format=form)))
    assert "warm and dry" in answer["answer"]


def test_instructions_that_ask_for_a_json_object_get_one(caller: Caller) -> None:
    wanted = "Answer with one JSON object and nothing else."
    texts = [text_of(caller.answer(f"What is number {n}?", instructions=wanted)) for n in range(8)]
    assert {text.startswith("```json\n") for text in texts} == {True, False}, "some models put a fence around it"
    for text in texts:
        assert json.loads(text.removeprefix("```json\n").removesuffix("\n```"))["answer"]


def test_a_result_in_parts_is_read_too(caller: Caller) -> None:
    parts = [{"type": "input_text", "text": "warm"}, {"type": "input_image", "image_url": "data:image/png;base64,"}]
    assert "warm" in text_of(caller.answer([user("get_weather?"), call(), result(parts)], tools=[WEATHER]))


def test_a_new_question_after_a_result_is_a_new_question(caller: Caller) -> None:
    turns = [user("get_weather in Lyon"), call(), result(), user(GHENT)]
    assert "Leie" in text_of(caller.answer(turns, tools=[WEATHER]))


def test_a_result_for_an_unknown_call_is_refused(caller: Caller) -> None:
    reply = caller.ask([user("x"), result(call_id="call_8")], tools=[WEATHER])
    assert (reply.status, reply.error["message"]) == (400, "invalid request")


def test_a_result_can_continue_the_run_that_made_the_call(caller: Caller) -> None:
    first = caller.answer("Use get_weather for Lyon", tools=[WEATHER])
    (made,) = calls_of(first)
    second = caller.answer([result("21 degrees", made["call_id"])], tools=[WEATHER], previous_response_id=first["id"])
    assert "21 degrees" in text_of(second)
    assert second["previous_response_id"] == first["id"]


def test_a_reserved_name_in_the_question_finds_the_renamed_function(caller: Caller) -> None:
    tool = {**WEATHER, "name": "client_web_search"}
    (made,) = calls_of(caller.answer("Use web_search for Lyon", tools=[tool]))
    assert made["name"] == "client_web_search"


def test_a_schema_that_wants_too_much_is_refused_in_words(caller: Caller) -> None:
    endless = {"type": "object", "properties": {"city": {"type": "string", "minLength": 10**15}}, "required": ["city"]}
    reply = caller.ask("Use get_weather for Lyon", tools=[{**WEATHER, "parameters": endless}])
    assert (reply.status, reply.error["type"]) == (400, "invalid_request")
    assert "characters" in reply.error["message"]
