"""JSON by prompt, where the owner lets the session try what it does not have."""

import json
from pathlib import Path

import pytest

from tests.cases.scripts import ASK, W_BASE, ask_text, session_steps
from tests.rig import ASK_PATH, Rig, running


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("fenced", [False, True])
async def test_by_policy_the_session_is_asked_for_json_in_words(tmp_path: Path, streamed: bool, fenced: bool) -> None:
    schema = {"type": "object", "properties": {"capital": {"type": "string"}}, "required": ["capital"]}
    text = '{"capital": "Reykjavík[1]"}'
    told = f"```json\n{text}\n```" if fenced else text
    last = {**W_BASE[-1], "blocks": [ask_text([told], 0, progress="DONE", answer=told)]}
    wanted = {"type": "json_schema", "json_schema": {"name": "place", "schema": schema}}
    body = {**ASK, "model": "gpt", "response_format": wanted}
    async with running(tmp_path, order=("session",), unsupported="drop") as rig:
        await rig.script(ASK_PATH, session_steps([*W_BASE[:2], last]))
        reply = await rig.stream(body) if streamed else await rig.chat(body)
        (asked,) = await rig.requests(ASK_PATH)
    assert json.loads(reply.content) == {"capital": "Reykjavík[1]"}
    assert "in words only" in reply.headers["x-pplx-warnings"]
    envelope = json.loads(asked["json"]["query_str"])
    assert json.dumps(schema, separators=(",", ":")) in envelope["instructions"][-1]
    assert envelope["query"] == "Which two rivers meet in Ghent?"


async def test_without_that_policy_the_session_refuses_a_format_by_name(session: Rig) -> None:
    reply = await session.chat({**ASK, "model": "gpt", "response_format": {"type": "json_object"}})
    assert (reply.status, reply.error["param"]) == (400, "response_format")
