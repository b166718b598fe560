from datetime import date
from typing import Any

import pytest

from pplx_gateway.errors import InvalidRequest, UnsupportedParameter
from pplx_gateway.question import (
    FilePart,
    FunctionCall,
    FunctionResult,
    FunctionTool,
    ImagePart,
    JsonObjectFormat,
    JsonSchemaFormat,
    Location,
    Message,
    NamedFunction,
    Sampling,
    Search,
    TextPart,
)
from pplx_gateway.upstreams.api.mapping import Fields
from pplx_gateway.upstreams.api.request import ANTHROPIC_OUTPUT_TOKENS, JSON_ONLY, build
from pplx_gateway.upstreams.api.tools import FIND_IMAGES, SEARCH_FIRST
from tests.api.asking import CATALOGUE, body_of, model, question, request_of, said

WEATHER = FunctionTool(name="get_weather", parameters={"type": "object", "properties": {"city": {"type": "string"}}})
WEATHER_FLAT = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}


def user(content: Any) -> Fields:
    return {"type": "message", "role": "user", "content": content}


def system(content: str) -> Fields:
    return {"type": "message", "role": "system", "content": content}


def search_tool(search: Search, model_id: str = "sonar") -> Any:
    return body_of(question(search=search, model=model_id))["tools"][0]


def test_sonar_is_a_bare_model_that_must_search() -> None:
    assert body_of(question()) == {
        "model": "perplexity/sonar",
        "input": [user("Which two rivers meet in Ghent?")],
        "tools": [{"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
        "stream": True,
    }


def test_a_level_brings_its_own_tools() -> None:
    assert body_of(question(model="sonar-pro")) == {
        "effort": "low",
        "input": [user("Which two rivers meet in Ghent?")],
        "stream": True,
    }


def test_a_named_model_is_offered_a_search() -> None:
    body = body_of(question(model="openai/gpt-5.6-sol"))
    assert body["model"] == "openai/gpt-5.6-sol"
    assert body["tools"] == [{"type": "web_search"}]
    assert "tool_choice" not in body


def test_the_helper_uses_no_tools() -> None:
    body = body_of(question(model="helper"))
    assert body == {"effort": "fast", "input": body["input"], "max_tool_calls": 0, "stream": True}


def test_wide_research_and_deep_research_run_in_the_background() -> None:
    assert body_of(question(model="wide-research"))["background"] is True
    assert body_of(question(model="wide-research@2026-10-16.0"))["background"] is True
    assert body_of(question(model="sonar-deep-research"))["background"] is True
    assert request_of(question(model="sonar-deep-research")).background
    assert "background" not in body_of(question(model="medium"))


def test_a_session_model_is_refused() -> None:
    session = CATALOGUE.find("session", "gpt")
    assert session is not None
    with pytest.raises(InvalidRequest):
        build(question(), session, lambda _: None)


# -------------------------------------------------------------------------------- turns


def test_leading_system_text_instructs_a_bare_model() -> None:
    body = body_of(question(said("system", "Be brief."), said("system", "Be kind."), said("user", "Hi")))
    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [user("Hi")]


def test_a_level_keeps_its_prompt_so_system_text_stays_an_item() -> None:
    body = body_of(question(said("system", "Be brief."), said("user", "Hi"), model="sonar-pro"))
    assert "instructions" not in body
    assert body["input"] == [system("Be brief."), user("Hi")]


@pytest.mark.parametrize("model_id", ["sonar", "sonar-pro"])
def test_late_system_text_keeps_its_place(model_id: str) -> None:
    turns = said("user", "Hi"), said("assistant", "Hello."), said("system", "Now in French."), said("user", "Go on")
    body = body_of(question(*turns, model=model_id))
    assert [item["role"] for item in body["input"]] == ["user", "assistant", "system", "user"]


@pytest.mark.parametrize("model_id", ["sonar", "sonar-pro"])
def test_system_text_alone_is_asked_as_a_user(model_id: str) -> None:
    body = body_of(question(said("system", "Give a title"), said("system", "in three words"), model=model_id))
    assert body["input"] == [user("Give a title\n\nin three words")]
    assert "instructions" not in body


def test_a_last_turn_by_the_assistant_is_passed_on() -> None:
    body = body_of(question(said("user", "Hi"), said("assistant", "Hel")))
    assert body["input"][-1] == {"type": "message", "role": "assistant", "content": "Hel"}


def test_same_role_turns_and_an_assistant_first_keep_their_order() -> None:
    turns = said("assistant", "Hello, how can I help?"), said("user", "I moved to Lyon."), said("user", "Best parks?")
    contents = [item["content"] for item in body_of(question(*turns))["input"]]
    assert contents == ["Hello, how can I help?", "I moved to Lyon.", "Best parks?"]


def test_text_parts_become_one_string() -> None:
    turns = (
        said("system", "Be brief."),
        said("user", "Hi ", "there"),
        said("assistant", "Hel", "lo."),
        said("user", "?"),
    )
    body = body_of(question(*turns))
    assert [item["content"] for item in body["input"]] == ["Hi there", "Hello.", "?"]


def test_mixed_parts_keep_their_order() -> None:
    parts = (
        TextPart("What is "),
        ImagePart("data:image/png;base64,AA=="),
        TextPart(" and "),
        FilePart(data="data:application/pdf;base64,JVBERi0=", filename="a.pdf"),
        FilePart(url="https://a.example/b.pdf"),
    )
    (item,) = body_of(question(Message("user", parts)))["input"]
    assert item["content"] == [
        {"type": "input_text", "text": "What is "},
        {"type": "input_image", "image_url": "data:image/png;base64,AA=="},
        {"type": "input_text", "text": " and "},
        {"type": "input_file", "file_data": "data:application/pdf;base64,JVBERi0=", "filename": "a.pdf"},
        {"type": "input_file", "file_url": "https://a.example/b.pdf"},
    ]


def test_an_image_in_an_assistant_turn_is_refused_and_not_lost() -> None:
    turn = Message("assistant", (ImagePart("https://a.example/i.png"),))
    with pytest.raises(InvalidRequest, match="assistant"):
        body_of(question(said("user", "Hi"), turn))


def test_function_turns_leave_no_empty_assistant_message() -> None:
    turns = (
        said("user", "Weather in Lyon?"),
        said("assistant", ""),
        FunctionCall("call_7", "get_weather", '{"city":"Lyon"}'),
        FunctionResult("call_7", '{"t":21}'),
    )
    body = body_of(question(*turns, functions=(WEATHER,), model="sonar-pro"))
    assert body["input"] == [
        user("Weather in Lyon?"),
        {"type": "function_call", "call_id": "call_7", "name": "get_weather", "arguments": '{"city":"Lyon"}'},
        {"type": "function_call_output", "call_id": "call_7", "output": '{"t":21}'},
    ]


def test_a_conversation_without_text_is_refused() -> None:
    with pytest.raises(InvalidRequest):
        body_of(question(said("system", "")))
    with pytest.raises(InvalidRequest):
        body_of(question(said("assistant", "")))


def test_a_signature_of_the_question_wins_over_a_kept_one() -> None:
    turns = (
        said("user", "Hi"),
        FunctionCall("call_1", "f", "{}"),
        FunctionCall("call_2", "f", "{}", signature="own"),
        FunctionCall("call_3", "f", "{}"),
    )
    asked = question(*turns, functions=(FunctionTool(name="f"),))
    kept = {"call_1": "c2ln", "call_2": "other"}
    body: dict[str, Any] = build(asked, model("sonar"), kept.get).body
    assert [item.get("thought_signature") for item in body["input"]] == [None, "c2ln", "own", None]
    assert "thought_signature" not in body["input"][3]


# -------------------------------------------------------------------------------- tools


def test_functions_are_flat_and_search_stays_forced() -> None:
    body = body_of(question(functions=(WEATHER,)))
    assert body["tools"] == [{"type": "web_search"}, WEATHER_FLAT]
    assert body["tool_choice"] == {"type": "web_search"}
    assert request_of(question(functions=(WEATHER,))).callable


@pytest.mark.parametrize(
    ("choice", "sent"), [("required", "required"), (NamedFunction("get_weather"), {"name": "get_weather"})]
)
def test_a_choice_of_functions_wins_over_the_forced_search(choice: Any, sent: Any) -> None:
    body = body_of(question(functions=(WEATHER,), tool_choice=choice))
    assert body["tool_choice"] == sent
    assert body["tools"][0] == {"type": "web_search"}
    assert body["instructions"] == SEARCH_FIRST


def test_a_level_has_no_tool_choice_unless_the_caller_made_one() -> None:
    assert "tool_choice" not in body_of(question(functions=(WEATHER,), model="sonar-pro"))
    body = body_of(question(functions=(WEATHER,), tool_choice="required", model="sonar-pro"))
    assert body["tool_choice"] == "required"
    assert "instructions" not in body


def test_a_level_with_functions_names_its_own_tools_too() -> None:
    tools = body_of(question(functions=(WEATHER,), model="sonar-pro"))["tools"]
    assert tools == [{"type": "web_search"}, {"type": "fetch_url"}, WEATHER_FLAT]


def test_under_none_no_function_is_offered() -> None:
    request = request_of(question(functions=(WEATHER,), tool_choice="none"))
    assert request.body["tools"] == [{"type": "web_search"}]
    assert request.body["tool_choice"] == {"type": "web_search"}
    assert not request.callable


def test_a_reserved_name_makes_a_detour() -> None:
    turns = said("user", "Hi"), FunctionCall("call_1", "web_search", "{}"), FunctionResult("call_1", "nothing")
    functions = FunctionTool(name="web_search"), FunctionTool(name="fn_web_search")
    request = request_of(question(*turns, functions=functions, tool_choice=NamedFunction("web_search")))
    sent = [tool["name"] for tool in request.body["tools"] if tool["type"] == "function"]  # type: ignore[attr-defined]
    assert sent == ["fn_fn_web_search", "fn_web_search"]
    assert request.body["tool_choice"] == {"name": "fn_fn_web_search"}
    assert request.body["input"][1]["name"] == "fn_fn_web_search"  # type: ignore[index]
    assert [request.names.own(name) for name in sent] == ["web_search", "fn_web_search"]


def test_the_helper_calls_no_functions() -> None:
    with pytest.raises(UnsupportedParameter) as caught:
        body_of(question(functions=(WEATHER,), model="helper"))
    assert caught.value.param == "tools"
    body_of(question(functions=(WEATHER,), tool_choice="none", model="helper"))


def test_parallel_calls_are_passed_on() -> None:
    assert body_of(question(parallel_tool_calls=False))["parallel_tool_calls"] is False


# -------------------------------------------------------------------------------- search


def test_every_filter_has_its_place() -> None:
    search = Search(
        domains=("example.org", "xn--bcher-kva.example"),
        after=date(2026, 3, 1),
        before=date(2026, 12, 31),
        updated_after=date(987, 1, 2),
        updated_before=date(2026, 10, 9),
        context_size="high",
        max_results=7,
        location=Location(country="BE", city="Ghent"),
    )
    assert search_tool(search) == {
        "type": "web_search",
        "search_context_size": "high",
        "max_results": 7,
        "user_location": {"country": "BE", "city": "Ghent"},
        "filters": {
            "search_domain_filter": ["example.org", "xn--bcher-kva.example"],
            "search_after_date_filter": "03/01/2026",
            "search_before_date_filter": "12/31/2026",
            "last_updated_after_filter": "01/02/0987",
            "last_updated_before_filter": "10/09/2026",
        },
    }
    assert search_tool(Search(recency="week"))["filters"] == {"search_recency_filter": "week"}
    assert search_tool(Search(domains=("-spam.example",)))["filters"] == {"search_domain_filter": ["-spam.example"]}


def test_a_filtered_level_lists_search_and_reading() -> None:
    tools = body_of(question(search=Search(recency="day"), model="sonar-pro"))["tools"]
    assert tools == [{"type": "web_search", "filters": {"search_recency_filter": "day"}}, {"type": "fetch_url"}]


def test_search_can_be_off_for_a_bare_model_only() -> None:
    off = Search(enabled=False, recency="day")
    request = request_of(question(search=off))
    assert "tools" not in request.body
    assert "tool_choice" not in request.body
    assert len(request.warnings) == 1
    assert not request_of(question(search=Search(enabled=False))).warnings
    with pytest.raises(UnsupportedParameter) as caught:
        body_of(question(search=off, model="sonar-pro"))
    assert caught.value.param == "disable_search"


def test_search_off_leaves_functions() -> None:
    body = body_of(question(search=Search(enabled=False), functions=(WEATHER,), tool_choice="required"))
    assert body["tools"] == [WEATHER_FLAT]
    assert body["tool_choice"] == "required"
    assert "instructions" not in body


def test_images_are_searched_for_by_a_tool_of_their_own() -> None:
    search = Search(images=True, image_formats=("PNG", "jpg"), image_domains=("a.example",))
    body = body_of(question(search=search))
    filters = {"domain_filter": ["a.example"], "format_filter": ["png", "jpeg"]}
    assert body["tools"][1] == {"type": "image_search", "filters": filters}
    assert body["instructions"] == FIND_IMAGES
    assert body_of(question(search=Search(images=True)))["tools"][1] == {"type": "image_search"}
    level = body_of(question(search=Search(images=True), model="low"))
    assert [tool["type"] for tool in level["tools"]] == ["web_search", "fetch_url", "image_search"]
    assert level["input"][0] == system(FIND_IMAGES)


def test_an_image_format_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        body_of(question(search=Search(images=True, image_formats=("tiff",))))
    assert caught.value.param == "image_format_filter"


def test_finance_has_a_tool_and_academic_a_warning() -> None:
    request = request_of(question(search=Search(sources=("finance",))))
    assert request.body["tools"] == [{"type": "web_search"}, {"type": "finance_search"}]
    assert not request.warnings
    request = request_of(question(search=Search(sources=("web", "academic", "social"))))
    assert request.body["tools"] == [{"type": "web_search"}]
    (warning,) = request.warnings
    assert "academic or social" in warning


def test_search_options_of_a_model_without_tools_are_told_to_be_left_out() -> None:
    request = request_of(question(search=Search(recency="day"), model="helper"))
    assert "tools" not in request.body
    assert len(request.warnings) == 1


# -------------------------------------------------------------------------------- the rest


def test_a_small_limit_is_raised_and_told() -> None:
    request = request_of(question(sampling=Sampling(max_output_tokens=5)))
    assert request.body["max_output_tokens"] == 16
    assert "5" in request.warnings[0]
    assert "16" in request.warnings[0]
    exact = request_of(question(sampling=Sampling(max_output_tokens=16)))
    assert exact.body["max_output_tokens"] == 16
    assert not exact.warnings


def test_anthropic_models_always_have_a_limit() -> None:
    claude = "anthropic/claude-sonnet-5"
    assert body_of(question(model=claude))["max_output_tokens"] == ANTHROPIC_OUTPUT_TOKENS
    assert body_of(question(model=claude, sampling=Sampling(max_output_tokens=99)))["max_output_tokens"] == 99
    assert "max_output_tokens" not in body_of(question(model="openai/gpt-6-sol"))


def test_sampling_effort_and_advice_are_passed_on() -> None:
    body = body_of(
        question(
            sampling=Sampling(temperature=0.0, top_p=1.0, stop=("\n",)),
            effort="minimal",
            metadata={"a": "b"},
            service_tier="flex",
            prompt_cache_key="k",
            search=Search(language="pt-BR"),
        )
    )
    assert body["temperature"] == 0.0
    assert body["top_p"] == 1.0
    assert body["reasoning"] == {"effort": "minimal"}
    assert body["metadata"] == {"a": "b"}
    assert body["service_tier"] == "flex"
    assert body["prompt_cache_key"] == "k"
    assert body["language_preference"] == "pt"
    assert "stop" not in body


def test_a_schema_is_sent_at_the_top() -> None:
    form = JsonSchemaFormat(name="place", schema={"type": "object"}, strict=True, description="A place")
    assert body_of(question(format=form))["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "place", "schema": {"type": "object"}, "strict": True, "description": "A place"},
    }
    bare = JsonSchemaFormat(name="place", schema={"type": "object"})
    inner = body_of(question(format=bare))["response_format"]["json_schema"]
    assert inner == {"name": "place", "schema": {"type": "object"}}


def test_any_json_object_is_asked_for_in_words() -> None:
    turns = said("system", "Be brief."), said("user", "Hi")
    body = body_of(question(*turns, format=JsonObjectFormat()))
    assert "response_format" not in body
    assert body["instructions"] == f"Be brief.\n\n{JSON_ONLY}"
    level = body_of(question(*turns, format=JsonObjectFormat(), model="low"))
    assert level["input"] == [system("Be brief."), system(JSON_ONLY), user("Hi")]


@pytest.mark.parametrize("more", [{"service_tier": "scale"}, {"search": Search(language="Klingon")}])
def test_what_the_upstream_lacks_is_left_out_and_told(more: dict[str, Any]) -> None:
    request = request_of(question(**more))
    assert "service_tier" not in request.body
    assert "language_preference" not in request.body
    assert len(request.warnings) == 1


@pytest.mark.parametrize("metadata", [{str(n): "" for n in range(17)}, {"k" * 65: ""}, {"k": "v" * 513}])
def test_too_much_metadata_is_refused(metadata: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest) as caught:
        body_of(question(metadata=metadata))
    assert caught.value.param == "metadata"
