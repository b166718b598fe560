"""Reasoning and structure."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import answered, ask, let_answer, refused
from tests.cases.scripts import A_BASE, ASK, CLEANED, TEXT, URLS, Json, agent_events, agent_steps
from tests.rig import AGENT, Rig, running

BOTH = pytest.mark.parametrize("upstream", ["api", "session"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])

THOUGHT = ("<thi", "nk>look at the map</th", "ink>\n\nThe Leie.")

SCHEMA: Json = {
    "type": "object",
    "properties": {"capital": {"type": "string"}, "population": {"type": "integer"}},
    "required": ["capital", "population"],
    "additionalProperties": False,
}
JSON_SCHEMA: Json = {"type": "json_schema", "json_schema": {"name": "place", "schema": SCHEMA}}
PLACE = '{"capital":"Reykjavík[1]","population":387758}'
ICELAND: Json = {
    "model": "sonar-pro",
    "messages": [{"role": "user", "content": "Capital and population of Iceland"}],
    "response_format": JSON_SCHEMA,
}

# a think block


@BOTH
@WAYS
async def test_a_think_tag_cut_over_chunks_is_reasoning_and_never_content(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        await let_answer(rig, upstream, *THOUGHT)
        said, _ = await answered(rig, ASK, streamed=streamed)
    assert said.reasoning == "look at the map"
    assert said.content == "The Leie."
    assert not [delta for delta in said.deltas if "<thi" in delta or "</th" in delta]


async def test_a_think_tag_is_found_wherever_the_stream_is_cut(api: Rig) -> None:
    text = "".join(THOUGHT)
    for place in range(1, len(text)):
        await let_answer(api, "api", text[:place], text[place:])
        said, _ = await answered(api, ASK, streamed=True)
        assert (said.reasoning, said.content) == ("look at the map", "The Leie."), place


@BOTH
@WAYS
async def test_a_think_tag_further_on_is_a_part_of_the_answer(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        await let_answer(rig, upstream, "Write `<thi", "nk>` and `</think>` around it.")
        said, _ = await answered(rig, ASK, streamed=streamed)
    assert said.content == "Write `<think>` and `</think>` around it."
    assert "nk>" not in said.reasoning


# structured answers


@WAYS
@pytest.mark.parametrize(
    "deltas",
    [
        ("<think>look up</think>", PLACE),
        ("<thi", "nk>look up</think>\n", PLACE[:13], PLACE[13:]),
        ("``", "`json\n", PLACE, "\n`", "``"),
        ("<think>look up</think>\n\n```json\n", PLACE, "\n```\n"),
    ],
    ids=["think", "think in pieces", "fence", "think and fence"],
)
async def test_the_answer_to_a_schema_is_json_and_nothing_else(
    api: Rig, deltas: tuple[str, ...], streamed: bool
) -> None:
    await let_answer(api, "api", *deltas)
    said, sent = await answered(api, ICELAND, streamed=streamed)
    assert json.loads(said.content) == {"capital": "Reykjavík[1]", "population": 387758}
    assert said.content.strip() == PLACE
    assert said.beside["citations"] == URLS
    assert [result["url"] for result in said.beside["search_results"]] == URLS
    assert sent["response_format"] == JSON_SCHEMA
    assert "text" not in sent


@WAYS
async def test_a_schemas_strictness_and_description_reach_the_upstream(api: Rig, streamed: bool) -> None:
    definition = {"name": "place", "schema": SCHEMA, "strict": True, "description": "A country's capital"}
    await let_answer(api, "api", PLACE)
    form = {"type": "json_schema", "json_schema": definition}
    _, sent = await answered(api, {**ICELAND, "response_format": form}, streamed=streamed)
    assert sent["response_format"] == form


@WAYS
async def test_a_json_object_is_asked_for_in_words_and_comes_bare(api: Rig, streamed: bool) -> None:
    await let_answer(api, "api", "```json\n", PLACE, "\n```")
    said, sent = await answered(api, {**ASK, "response_format": {"type": "json_object"}}, streamed=streamed)
    assert json.loads(said.content)["capital"] == "Reykjavík[1]"
    assert "response_format" not in sent
    assert "JSON" in sent["instructions"]


@BOTH
async def test_a_format_that_nobody_can_honour_is_refused(tmp_path: Path, upstream: str) -> None:
    form = {"type": "regex", "regex": {"regex": r"\d{4}"}}
    async with running(tmp_path, order=(upstream,)) as rig:
        error = await refused(rig, {**ASK, "response_format": form})
    assert (error["param"], error["code"]) == ("response_format.type", "unsupported_parameter")
    assert upstream in error["message"]


@BOTH
async def test_a_format_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[object, str]] = [
        ({"type": "xml"}, "response_format.type"),
        ({"type": 5}, "response_format.type"),
        ({}, "response_format.type"),
        ("json", "response_format"),
        ({"type": "json_schema"}, "response_format.json_schema"),
        ({"type": "json_schema", "json_schema": {"name": "x"}}, "response_format.json_schema.schema"),
        ({"type": "json_schema", "json_schema": {"schema": {}}}, "response_format.json_schema.name"),
        ({"type": "json_schema", "json_schema": {"name": "x", "schema": "{}"}}, "response_format.json_schema.schema"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for form, param in cases:
            assert (await refused(rig, {**ASK, "response_format": form}))["param"] == param


@pytest.mark.parametrize("form", [{"type": "json_object"}, JSON_SCHEMA], ids=["object", "schema"])
async def test_the_session_refuses_formats_that_it_cannot_promise(session: Rig, form: Json) -> None:
    error = await refused(session, {**ASK, "response_format": form})
    assert (error["param"], error["code"]) == ("response_format", "unsupported_parameter")


@WAYS
@pytest.mark.parametrize("form", [{"type": "json_object"}, JSON_SCHEMA], ids=["object", "schema"])
async def test_the_session_is_asked_in_words_where_dropping_is_allowed_and_that_is_told(
    tmp_path: Path, form: Json, streamed: bool
) -> None:
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        await let_answer(rig, "session", "```json\n", PLACE[:13], PLACE[13:], "\n```")
        said, sent = await answered(rig, {**ASK, "response_format": form}, streamed=streamed)
    assert json.loads(said.content) == {"capital": "Reykjavík[1]", "population": 387758}
    assert "in words only" in said.warnings
    (instruction,) = json.loads(sent["query_str"])["instructions"]
    assert "JSON" in instruction
    assert ("population" in instruction) == (form is JSON_SCHEMA)


@BOTH
@WAYS
async def test_plain_text_is_a_format_that_asks_for_nothing(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        said, sent = await answered(rig, {**ASK, "response_format": {"type": "text"}}, streamed=streamed)
    assert not said.dropped
    assert "response_format" not in sent


# thinking on the session

THINKING: list[Json] = [
    {"thinking": True},
    {"thinking": {"type": "enabled", "budget_tokens": 1024}},
    {"thinking": {"type": "adaptive"}},
    {"reasoning_effort": "minimal"},
    {"reasoning_effort": "high"},
    {"reasoning": {"effort": "low"}},
    {"reasoning_effort": "max"},
]
NOT_THINKING: list[Json] = [
    {},
    {"thinking": False},
    {"thinking": {"type": "disabled"}},
    {"thinking": None},
    {"reasoning_effort": "none"},
    {"reasoning": {"effort": "none"}},
    {"reasoning": {}},
]


def gpt(**more: Any) -> Json:
    return {**ASK, "model": "gpt", **more}


@WAYS
async def test_thinking_chooses_the_thinking_variant(session: Rig, streamed: bool) -> None:
    for fields, preference in (
        *((fields, "gpt56_terra_thinking") for fields in THINKING),
        *((fields, "gpt56_terra") for fields in NOT_THINKING),
    ):
        said, sent = await answered(session, gpt(**fields), streamed=streamed)
        assert sent["params"]["model_preference"] == preference, fields
        assert said.dropped == (["thinking.budget_tokens"] if "budget" in str(fields) else []), fields
        assert bool(said.reasoning) == (fields in THINKING), fields


@WAYS
async def test_the_way_to_the_answer_arrives_as_reasoning(session: Rig, streamed: bool) -> None:
    await let_answer(session, "session", TEXT, model="gpt56_terra_thinking")
    said, _ = await answered(session, gpt(thinking=True), streamed=streamed)
    assert said.content == CLEANED
    assert "Find the rivers" in said.reasoning
    for title, url in zip(("Leie", "Scheldt"), URLS, strict=True):
        assert [line for line in said.reasoning.splitlines() if title in line and url in line]


async def test_reasoning_comes_before_the_text(session: Rig) -> None:
    await let_answer(session, "session", TEXT, model="gpt56_terra_thinking")
    stream = await session.stream(gpt(thinking=True))
    kinds = ["text" if delta.get("content") else "reasoning" for delta in stream.deltas[1:-1]]
    assert kinds == sorted(kinds)
    assert set(kinds) == {"reasoning", "text"}


@WAYS
async def test_who_did_not_ask_for_thinking_is_not_shown_the_way(session: Rig, streamed: bool) -> None:
    await let_answer(session, "session", TEXT, model="gpt56_terra")
    said, _ = await answered(session, gpt(), streamed=streamed)
    assert said.reasoning == ""
    assert said.content == CLEANED


@WAYS
async def test_a_model_that_cannot_think_answers_and_says_so(session: Rig, streamed: bool) -> None:
    said, sent = await answered(session, {**ASK, "model": "nemotron", "reasoning_effort": "high"}, streamed=streamed)
    assert sent["params"]["model_preference"] == "nv_nemotron_3_ultra"
    assert said.dropped == ["reasoning_effort"]
    assert "reasoning_effort" in said.warnings


# reasoning on the api


@WAYS
async def test_efforts_reach_the_api_as_they_are(api: Rig, streamed: bool) -> None:
    for effort in ("none", "minimal", "low", "medium", "high", "xhigh"):
        said, sent = await answered(api, {**ASK, "reasoning_effort": effort}, streamed=streamed)
        assert sent["reasoning"] == {"effort": effort}
        assert not said.dropped
        _, sent = await answered(api, {**ASK, "reasoning": {"effort": effort}}, streamed=streamed)
        assert sent["reasoning"] == {"effort": effort}
    _, sent = await answered(api, ASK, streamed=streamed)
    assert "reasoning" not in sent


@WAYS
async def test_an_effort_above_all_is_the_highest_and_said(api: Rig, streamed: bool) -> None:
    said, sent = await answered(api, {**ASK, "reasoning_effort": "max"}, streamed=streamed)
    assert sent["reasoning"] == {"effort": "xhigh"}
    assert "xhigh" in said.warnings


async def test_thinking_alone_is_a_medium_effort_on_the_api(api: Rig) -> None:
    for thinking in (True, {"type": "enabled"}):
        _, sent = await answered(api, {**ASK, "thinking": thinking})
        assert sent["reasoning"] == {"effort": "medium"}


@WAYS
async def test_the_apis_steps_are_reasoning_for_who_asked(api: Rig, streamed: bool) -> None:
    thought: Json = {"type": "response.reasoning.started", "thought": "The map first."}
    events = [thought if event["type"] == thought["type"] else event for event in A_BASE]
    await api.script(AGENT, agent_steps(events), agent_steps(events))
    said, _ = await answered(api, {**ASK, "reasoning_effort": "low"}, streamed=streamed)
    for told in ("The map first.", "rivers of Ghent", *URLS):
        assert told in said.reasoning
    assert said.content == TEXT
    unasked, _ = await answered(api, ASK, streamed=streamed)
    assert not [url for url in URLS if url in unasked.reasoning]
    assert unasked.content == TEXT


@WAYS
async def test_a_reasoning_model_shows_its_way_unasked(api: Rig, streamed: bool) -> None:
    await api.script(AGENT, agent_steps(agent_events(TEXT)))
    said, sent = await answered(api, {**ASK, "model": "sonar-reasoning-pro"}, streamed=streamed)
    assert sent["effort"] == "medium"
    assert "rivers of Ghent" in said.reasoning
    assert said.content == TEXT


# what contradicts itself


@BOTH
async def test_efforts_that_contradict_each_other_are_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[Json, str]] = [
        ({"reasoning_effort": "low", "reasoning": {"effort": "high"}}, "reasoning.effort"),
        ({"reasoning_effort": "none", "thinking": True}, "thinking"),
        ({"reasoning_effort": "high", "thinking": False}, "thinking"),
        ({"reasoning_effort": "enormous"}, "reasoning_effort"),
        ({"reasoning_effort": 3}, "reasoning_effort"),
        ({"reasoning": {"effort": "enormous"}}, "reasoning.effort"),
        ({"thinking": "yes"}, "thinking"),
        ({"thinking": {"type": "perhaps"}}, "thinking.type"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in cases:
            assert (await refused(rig, gpt(**fields) if upstream == "session" else {**ASK, **fields}))["param"] == param


async def test_two_efforts_that_agree_are_one(api: Rig) -> None:
    said = await ask(api, {**ASK, "reasoning_effort": "low", "reasoning": {"effort": "low"}, "thinking": True})
    assert said.status == 200
