"""What clients send to `/v1/responses` by default works on both upstreams, and whatever is left out is told."""

import json
from pathlib import Path

import pytest

from tests.clients.responses_bodies import BODIES, Json, Sent
from tests.clients.test_defaults import MODELS, PATHS, every_upstream, strings
from tests.responses.asking import Said, ask
from tests.rig import running


def told(said: Said) -> set[str]:
    return set(filter(None, said.headers.get("x-pplx-dropped", "").replace(" ", "").split(",")))


def questions(sent: Sent) -> list[str]:
    """All that the user said."""
    given = sent.body["input"]
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    contents = [item["content"] for item in items if item.get("role") == "user"]
    return [part["text"] for c in contents for part in ([{"text": c}] if isinstance(c, str) else c)]


def check_sent(request: Json, sent: Sent) -> None:
    got = "\n".join(strings(request))
    for text in questions(sent):
        assert text in got, text
    if any(item.get("type") == "function_call_output" for item in sent.body["input"] if isinstance(item, dict)):
        assert "06:12 and 18:40" in got


def check_answer(said: Said, sent: Sent) -> None:
    assert said.status == 200, said.error
    assert said.response["status"] == "completed"
    assert {item["type"] for item in said.response["output"]} == sent.answers
    for call in said.items("function_call"):
        assert (call["name"], json.loads(call["arguments"])) == ("tide_table", {"port": "Ostend"})
    assert sent.said in said.text
    if "message" in sent.answers and not sent.said:
        added = [event["annotation"] for event in said.events if "annotation" in event["type"]]
        shown = said.items("message")[0]["content"][0]["annotations"]
        assert shown
        assert not said.events or added == shown


@every_upstream
@pytest.mark.parametrize("sent", BODIES.values(), ids=BODIES)
async def test_what_a_client_sends_by_default_is_answered(tmp_path: Path, sent: Sent, upstream: str) -> None:
    body = {**sent.body, "model": MODELS[upstream]}
    dropped = sent.session if upstream == "session" else sent.api
    async with running(tmp_path, unsupported=sent.policy) as rig:
        for streamed in [True] if sent.streams_only else [False, True]:
            said = await ask(rig, body, streamed=streamed, headers=sent.headers)
            check_answer(said, sent)
            assert told(said) == dropped
            check_sent((await rig.requests(PATHS[upstream]))[-1]["json"], sent)


REFUSED = {name: sent for name, sent in BODIES.items() if sent.refused}


@every_upstream
@pytest.mark.parametrize("sent", REFUSED.values(), ids=REFUSED)
async def test_tools_that_nobody_has_are_refused_clearly(tmp_path: Path, sent: Sent, upstream: str) -> None:
    async with running(tmp_path) as rig:
        for streamed in (False, True):
            said = await ask(rig, {**sent.body, "model": MODELS[upstream]}, streamed=streamed, headers=sent.headers)
            assert (said.status, said.error["param"], said.error["code"]) == (
                400,
                sent.refused,
                "unsupported_parameter",
            )
            kind = sent.body["tools"][int(sent.refused[6])]["type"] if sent.refused else ""
            assert f"'{kind}'" in said.error["message"]
            assert "PPLX_UNSUPPORTED=drop" in said.error["message"]
        assert not await rig.requests(PATHS[upstream])
