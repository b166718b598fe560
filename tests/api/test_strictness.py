"""Whatever is asked, the API finds no field that it does not know."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.errors import RequestError
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
    Question,
    Sampling,
    Search,
    TextPart,
)
from tests.api import strict
from tests.api.asking import body_of

TEXT = st.text(max_size=12)
NAMES = st.sampled_from(["f", "get_weather", "web_search", "fetch_url", "sandbox", "fn_sandbox", "image_search"])
MODELS = st.sampled_from(
    (
        "sonar",
        "sonar-pro",
        "sonar-deep-research",
        "fast",
        "wide-research",
        "low@1.0",
        "helper",
        "perplexity/sonar",
        "anthropic/claude-sonnet-5",
        "openai/gpt-6-sol",
    )
)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


PARTS = st.one_of(
    st.builds(TextPart, TEXT),
    st.builds(ImagePart, st.just("https://a.example/i.png")),
    st.builds(
        FilePart, data=maybe(st.just("data:,x")), url=maybe(st.just("https://a.example/f")), filename=maybe(TEXT)
    ),
)
TURNS = st.one_of(
    st.builds(Message, st.just("user"), st.lists(PARTS, min_size=1, max_size=3).map(tuple)),
    st.builds(Message, st.sampled_from(["system", "assistant"]), st.tuples(st.builds(TextPart, TEXT))),
    st.builds(FunctionCall, st.just("call_1"), NAMES, st.just("{}"), maybe(TEXT)),
    st.builds(FunctionResult, st.just("call_1"), TEXT),
)
DOMAINS = st.lists(st.sampled_from(["a.example", "-b.example"]), max_size=2).map(tuple)
SEARCHES = st.builds(
    Search,
    enabled=st.sampled_from([None, True, False]),
    sources=st.lists(st.sampled_from(["web", "academic", "social", "finance"]), max_size=3).map(tuple),
    domains=DOMAINS,
    languages=st.sampled_from([(), ("en",)]),
    recency=maybe(st.sampled_from(["hour", "year"])),
    after=maybe(st.dates()),
    before=maybe(st.dates()),
    updated_after=maybe(st.dates()),
    updated_before=maybe(st.dates()),
    context_size=maybe(st.sampled_from(["low", "high"])),
    max_results=maybe(st.integers(1, 50)),
    location=maybe(st.builds(Location, country=maybe(st.just("BE")), city=maybe(TEXT), latitude=maybe(st.just(1.5)))),
    language=maybe(st.sampled_from(["en", "en-US", "x"])),
    images=st.booleans(),
    image_formats=st.sampled_from([(), ("png", "jpg")]),
    image_domains=DOMAINS,
    related_questions=st.booleans(),
)
FUNCTIONS = st.builds(
    FunctionTool, name=NAMES, description=maybe(TEXT), parameters=maybe(st.just({})), strict=maybe(st.booleans())
)
FORMATS = st.one_of(
    st.none(),
    st.just(JsonObjectFormat()),
    st.builds(JsonSchemaFormat, name=st.just("a"), schema=st.just({"type": "object"}), strict=maybe(st.booleans())),
)


@st.composite
def questions(draw: st.DrawFn) -> Question:
    functions = draw(st.lists(FUNCTIONS, max_size=3, unique_by=lambda function: function.name))
    choices: list[Any] = ["auto", "none", *(["required"] if functions else []), *map(_named, functions)]
    return Question(
        model=draw(MODELS),
        turns=tuple(draw(st.lists(TURNS, min_size=1, max_size=4))),
        effort=draw(maybe(st.sampled_from(["none", "minimal", "xhigh"]))),
        search=draw(SEARCHES),
        functions=tuple(functions),
        tool_choice=draw(st.sampled_from(choices)),
        parallel_tool_calls=draw(st.sampled_from([None, True, False])),
        format=draw(FORMATS),
        sampling=draw(
            st.builds(
                Sampling,
                temperature=maybe(st.floats(0, 2)),
                top_p=maybe(st.floats(0, 1)),
                max_output_tokens=maybe(st.integers(1, 100)),
                stop=st.sampled_from([(), ("x",)]),
            )
        ),
        metadata=draw(maybe(st.dictionaries(TEXT, TEXT, max_size=2))),
        service_tier=draw(maybe(st.sampled_from(["auto", "scale"]))),
        prompt_cache_key=draw(maybe(TEXT)),
    )


def _named(function: FunctionTool) -> NamedFunction:
    return NamedFunction(function.name)


@settings(max_examples=300, deadline=None)
@given(questions())
def test_no_question_becomes_a_body_that_the_strict_api_refuses(asked: Question) -> None:
    try:
        body_of(asked)  # checks
    except RequestError as error:
        assert error.message


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "input": [{"type": "message", "role": "user", "content": "x"}], "stop": ["x"]},
        {"model": "m", "input": []},
        {"model": "m", "input": [{"type": "message", "role": "user", "content": "x", "id": "1"}]},
        {
            "model": "m",
            "input": [{"type": "message", "role": "user", "content": "x"}],
            "tools": [{"type": "web_search", "filters": {"search_mode": "web"}}],
        },
    ],
)
def test_the_strict_api_of_these_tests_is_strict(body: dict[str, Any]) -> None:
    with pytest.raises(AssertionError):
        strict.check(body)
