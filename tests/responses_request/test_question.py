from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.question import JsonObjectFormat, JsonSchemaFormat, Location, Message, Sampling, TextPart
from tests.openai.fakes import EVERYTHING
from tests.responses_request.asking import (
    NOTHING,
    PNG,
    TEXT,
    asked,
    kept,
    prepared,
    refused,
    said,
    text,
    user,
)

SCHEMA: dict[str, object] = {"type": "object", "properties": {"capital": {"type": "string"}}}


def test_a_plain_request_asks_and_repeats_the_defaults() -> None:
    found = prepared()
    echo = found.echo
    assert (found.stream, found.background, found.store) == (False, False, True)
    assert (echo.model, echo.instructions, echo.previous_response_id) == ("sonar", None, None)
    assert (echo.background, echo.store, echo.parallel_tool_calls) == (False, True, True)
    assert (echo.temperature, echo.top_p) == (1.0, 1.0)
    assert isinstance(echo.temperature, float)
    assert (echo.max_output_tokens, echo.max_tool_calls, echo.metadata) == (None, None, {})
    assert (echo.prompt_cache_key, echo.safety_identifier, echo.user) == (None, None, None)
    assert (echo.reasoning_effort, echo.reasoning_summary) == (None, None)
    assert (echo.service_tier, echo.truncation, echo.tool_choice, echo.tools) == ("default", "disabled", "auto", [])
    assert echo.text == {"format": {"type": "text"}}
    assert found.shown == (False, False, False)


def test_everything_that_is_asked_comes_through_and_is_repeated() -> None:
    found = prepared(
        instructions="Be brief.",
        previous_response_id="resp_0",
        background=True,
        stream=True,
        temperature=0,
        top_p=0.5,
        max_output_tokens=100,
        max_tool_calls=3,
        stop=["END"],
        parallel_tool_calls=False,
        metadata={"a": "b"},
        prompt_cache_key="k",
        safety_identifier="s",
        user="u",
        service_tier="flex",
        truncation="auto",
        reasoning={"effort": "high", "summary": "auto"},
        include=["web_search_call.action.sources"],
        tools=[{"type": "web_search"}],
        citation_marks="keep",
        source_list="append",
        search_recency_filter="week",
        country="BE",
    )
    question, echo = found.question, found.echo
    assert (found.stream, found.background, found.store) == (True, True, True)
    assert (question.streamed, question.background, echo.background) == (True, True, True)
    assert question.sampling == Sampling(temperature=0, top_p=0.5, max_output_tokens=100, stop=("END",))
    assert (echo.temperature, echo.top_p, echo.max_output_tokens, echo.max_tool_calls) == (0.0, 0.5, 100, 3)
    assert question.max_tool_calls == 3
    assert question.parallel_tool_calls is echo.parallel_tool_calls is False
    assert question.metadata == echo.metadata == {"a": "b"}
    assert (question.service_tier, question.prompt_cache_key, question.truncation) == ("flex", "k", "auto")
    assert (echo.service_tier, echo.prompt_cache_key, echo.truncation) == ("default", "k", "auto")
    assert (echo.safety_identifier, echo.user, echo.previous_response_id) == ("s", "u", "resp_0")
    assert (question.effort, echo.reasoning_effort, echo.reasoning_summary) == ("high", "high", "auto")
    assert (question.citation_marks, question.source_list) == ("keep", "append")
    assert (question.search.recency, question.search.location) == ("week", Location(country="BE"))
    assert found.shown == (True, True, True)


def test_metadata_is_ours_where_the_upstream_does_not_take_it() -> None:
    found = prepared(NOTHING, metadata={"a": "b"})
    assert found.question.metadata is None
    assert found.echo.metadata == {"a": "b"}
    assert found.dropped == ()


def test_the_old_name_of_a_summary_is_one() -> None:
    found = prepared(reasoning={"generate_summary": "detailed"})
    assert found.shown.reasoning is True
    assert found.echo.reasoning_summary == "detailed"


def test_formats_come_through_and_are_repeated() -> None:
    found = prepared(text={"format": {"type": "json_object"}, "verbosity": "medium"})
    assert found.question.format == JsonObjectFormat()
    assert found.echo.text == {"format": {"type": "json_object"}, "verbosity": "medium"}
    form = {"type": "json_schema", "name": "place", "schema": SCHEMA, "strict": True, "description": "A place."}
    found = prepared(text={"format": form})
    assert found.question.format == JsonSchemaFormat(name="place", schema=SCHEMA, strict=True, description="A place.")
    assert found.echo.text == {"format": form}
    short = {"type": "json_schema", "name": "place", "schema": SCHEMA}
    assert prepared(text={"format": short}).echo.text == {"format": {**short, "strict": False}}


def test_what_is_not_kept_is_kept_nowhere() -> None:
    found = prepared(store=False)
    assert (found.store, found.echo.store) == (False, False)
    assert len(kept(found)) == 1


def test_images_left_out_leave_the_text() -> None:
    image = {"type": "input_image", "image_url": "https://a.example/a.png"}
    found = prepared(NOTHING, "drop", input=[user(text("What is this?"), image)])
    assert found.question.turns == (Message("user", (TextPart("What is this?"),)),)
    assert found.dropped == ("input[0].content[1]", "input[0].content[1].image_url")
    refused("input", support=NOTHING, policy="drop", input=[user(image)], instructions="Be brief.")
    by_address = {**EVERYTHING, Feature.IMAGE_ADDRESSES: Support.REFUSED}
    refused("input[0].content[0].image_url", support=by_address, input=[user(image)])
    refused("previous_response_id", support=by_address, context=[user(image)])


def test_a_last_message_by_the_assistant_is_passed_refused_or_left_out() -> None:
    items = [user(TEXT), said("The Leie and")]
    assert len(asked(input=items).turns) == 2
    refused("input", support=NOTHING, input=items)
    assert len(prepared(NOTHING, "drop", input=items).question.turns) == 1


def test_details_of_images_are_told() -> None:
    sharp = {"type": "input_image", "image_url": PNG, "detail": "high"}
    plain = {"type": "input_image", "image_url": PNG, "detail": "auto"}
    assert prepared(input=[user(text("a"), plain, sharp)]).dropped == ("input[0].content[2].detail",)


def test_a_chain_of_ten_thousand_items_is_walked() -> None:
    context = [item for n in range(5000) for item in (user(f"q{n}"), said(f"a{n}", id=f"msg_{n}"))]
    assert len(prepared(context=context).question.turns) == 10_001
