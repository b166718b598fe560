"""Answers held against the form that was asked for, and forms beside functions."""

import json
from pathlib import Path

import pytest

from tests.cases.asking import Said, ask, let_answer
from tests.functions.offering import QUESTION, WAYS, Json, call, let_say, offer, proposal, queries, user
from tests.rig import AGENT, Rig, running

SCHEMA: Json = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "degrees": {"type": "integer"}},
    "required": ["city", "degrees"],
    "additionalProperties": False,
}
GOOD = '{"city": "Lyon", "degrees": 21}'
WRONG = {
    '{"city": "Lyon", "degrees": "21"}': "'properties/degrees/type'",
    '{"city": "Lyon"}': "'required'",
    '{"city": "Lyon", "degrees": 21, "sky": "clear"}': "'additionalProperties'",
    '{"city": "Lyon", "degrees": 21': "no valid JSON",
    "It is 21 degrees in Lyon.": "no valid JSON",
    "[]": "'type'",
}


def formed(*, strict: bool | None, **more: object) -> Json:
    form = {"type": "json_schema", "json_schema": {"name": "weather", "schema": SCHEMA, "strict": strict}}
    return {"model": "sonar", "messages": [user(QUESTION)], "response_format": form, **more}


def told(said: Said) -> list[str]:
    warnings: list[str] = said.beside["pplx"].get("warnings", [])
    return [warning for warning in warnings if "form that was asked for" in warning]


@WAYS
@pytest.mark.parametrize("text", [GOOD, f"```json\n{GOOD}\n```"])
@pytest.mark.parametrize("strict", [True, False, None])
async def test_an_answer_in_its_form_passes(api: Rig, text: str, strict: bool | None, streamed: bool) -> None:
    await let_answer(api, "api", text[:20], text[20:])
    said = await ask(api, formed(strict=strict), streamed=streamed)
    assert said.error is None
    assert json.loads(said.content) == json.loads(GOOD)
    assert told(said) == []


@WAYS
@pytest.mark.parametrize(("text", "where"), WRONG.items())
async def test_an_answer_that_breaks_a_strict_schema_is_an_error(
    api: Rig, text: str, where: str, streamed: bool
) -> None:
    await let_answer(api, "api", text)
    said = await ask(api, formed(strict=True), streamed=streamed)
    assert said.error is not None
    assert said.error["code"] == "upstream_error"
    assert where in said.error["message"]
    assert "Lyon" not in said.error["message"]
    if not streamed:
        assert said.status == 502


@WAYS
@pytest.mark.parametrize("strict", [False, None])
@pytest.mark.parametrize(("text", "where"), WRONG.items())
async def test_an_answer_that_breaks_a_loose_schema_is_told(
    api: Rig, text: str, where: str, strict: bool | None, streamed: bool
) -> None:
    await let_answer(api, "api", text)
    said = await ask(api, formed(strict=strict), streamed=streamed)
    assert said.error is None
    assert said.content == text
    (warning,) = told(said)
    assert where in warning


@WAYS
async def test_an_answer_that_a_limit_cut_is_not_held_to_its_form(api: Rig, streamed: bool) -> None:
    cut: Json = {"incomplete_details": {"reason": "max_output_tokens"}}
    run: Json = {"id": "resp_1", "object": "response", "created_at": 1, "model": "perplexity/sonar"}
    said_so_far = {"type": "message", "id": "m", "content": [{"type": "output_text", "text": GOOD[:12]}]}
    end = {**run, "status": "incomplete", "output": [said_so_far], **cut}
    data = json.dumps({"type": "response.incomplete", "sequence_number": 1, "response": end})
    await api.script(AGENT, [{"bytes": f"data: {data}\n\n"}])
    said = await ask(api, formed(strict=True), streamed=streamed)
    assert (said.error, said.reason, said.content) == (None, "length", GOOD[:12])


@WAYS
async def test_an_answer_that_a_stop_string_cut_is_not_held_to_its_form(api: Rig, streamed: bool) -> None:
    await let_answer(api, "api", GOOD)
    said = await ask(api, formed(strict=True, stop=["degrees"]), streamed=streamed)
    assert (said.error, said.reason, said.content) == (None, "stop", GOOD.partition("degrees")[0])


@WAYS
@pytest.mark.parametrize(("text", "count"), [('{"any": 1}', 0), ("[1]", 1), ("words", 1)])
async def test_any_object_will_do_where_any_was_asked_for(api: Rig, text: str, count: int, streamed: bool) -> None:
    await let_answer(api, "api", text)
    body = {"model": "sonar", "messages": [user(QUESTION)], "response_format": {"type": "json_object"}}
    assert len(told(await ask(api, body, streamed=streamed))) == count


@WAYS
@pytest.mark.parametrize(("text", "count"), [(GOOD, 0), *((text, 1) for text in WRONG)])
async def test_a_form_by_prompt_that_is_not_kept_is_told(tmp_path: Path, text: str, count: int, streamed: bool) -> None:
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        await let_say(rig, text)
        said = await ask(rig, formed(strict=None, model="gpt"), streamed=streamed)
        assert said.error is None
        assert len(told(said)) == count


@WAYS
async def test_the_emulated_session_keeps_to_a_form(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        said = await ask(rig, formed(strict=None, model="gpt", messages=[user("'Lyon', 21?")]), streamed=streamed)
        assert json.loads(said.content) == {"city": "Lyon", "degrees": 21}
        assert told(said) == []


@WAYS
async def test_a_form_beside_functions_is_the_form_of_the_content(tmp_path: Path, streamed: bool) -> None:
    body = offer(**{key: value for key, value in formed(strict=None).items() if key == "response_format"})
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        await let_say(rig, json.dumps({"content": json.loads(GOOD)}))
        said = await ask(rig, body, streamed=streamed)
        assert (json.loads(said.content), said.reason) == (json.loads(GOOD), "stop")
        await let_say(rig, proposal(call()))
        said = await ask(rig, body, streamed=streamed)
        assert (said.reason, told(said)) == ("tool_calls", [])
        await let_say(rig, json.dumps({"content": GOOD}))
        said = await ask(rig, body, streamed=streamed)
        assert said.error is not None
        assert said.error["code"] == "tool_protocol_error"
        said = await ask(rig, {**body, "messages": [user("'Lyon', 21?")]}, streamed=streamed)
        assert json.loads(said.content) == json.loads(GOOD)
        (sent, *_) = await queries(rig)
        assert len(sent["instructions"]) == 1
