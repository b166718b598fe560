"""Several keys, as the running program uses them."""

import asyncio
import logging
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.opening import open_gateway
from pplx_gateway.settings import Secret, Settings, SettingsError
from tests.keys.calling import ASK, ask, counted, gateway, listed, states, used, value
from tests.keys.files import entry, put, write
from tests.rig import AGENT, API_KEY

DOCUMENT = Path(__file__).resolve().parents[2] / "docs/keys.md"
THREE = (entry("a", weight=3), entry("b", weight=2), entry("c", weight=1))


@pytest.mark.parametrize("together", [1, 30])
async def test_three_healthy_keys_share_by_weight_exactly(tmp_path: Path, together: int) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        for _ in range(60 // together):
            replies = await asyncio.gather(*(ask(rig) for _ in range(together)))
            assert {reply.status for reply in replies} == {200}
        assert await counted(rig) == {"a": 30, "b": 20, "c": 10}


@pytest.mark.parametrize("together", [1, 20])
async def test_a_dead_and_a_throttled_key_cost_no_answer_and_are_left_alone(tmp_path: Path, together: int) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        await states(rig, a="dead", b={"state": "throttled", "retry_after": 3600})
        statuses: Counter[int] = Counter()
        for _ in range(200 // together):
            statuses.update(reply.status for reply in await asyncio.gather(*(ask(rig) for _ in range(together))))
        assert statuses == {200: 200}
        assert await counted(rig) == {"a": 1, "b": 1, "c": 200}
        health = {name: key["health"] for name, key in (await listed(rig)).items()}
        assert [health[name]["state"] for name in "abc"] == ["refused", "throttled", "good"]
        assert 0 < health["a"]["rest_seconds"] <= 60
        assert health["b"]["rest_seconds"] > 3000
        assert "Check the key 'a'" in health["a"]["message"]
        assert health["c"]["requests"] == 200


async def test_a_dead_key_is_tried_again_once_its_rest_is_over_and_comes_back(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a"), entry("b"), factor=100) as rig:
        await states(rig, a="dead")
        for _ in range(4):
            await ask(rig)
        assert await counted(rig) == {"a": 1, "b": 4}
        await states(rig, a="good")
        rest = (await listed(rig))["a"]["health"]["rest_seconds"]
        await Clock(100).sleep(rest + 0.1)
        for _ in range(4):
            await ask(rig)
        assert (await counted(rig))["a"] >= 3
        assert (await listed(rig))["a"]["health"]["state"] == "good"


@pytest.mark.parametrize(
    ("state", "status", "code"), [("dead", 502, "upstream_auth"), ("broke", 402, "insufficient_quota")]
)
async def test_all_dead_is_told_as_what_it_is_and_not_tried_again_and_again(
    tmp_path: Path, state: str, status: int, code: str
) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        await states(rig, **dict.fromkeys("abc", state))
        for _ in range(5):
            reply = await ask(rig)
            assert (reply.status, reply.error["code"]) == (status, code)
        assert await counted(rig) == {"a": 1, "b": 1, "c": 1}


async def test_all_throttled_says_when_to_come_back(tmp_path: Path) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        for name, seconds in (("a", 90), ("b", 40), ("c", 60)):
            await states(rig, **{name: {"state": "throttled", "retry_after": seconds}})
        for _ in range(2):
            reply = await ask(rig)
            assert (reply.status, reply.error["code"]) == (429, "rate_limit_exceeded")
            assert 30 < int(reply.headers["retry-after"]) <= 40
        assert await counted(rig) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(
    "failure",
    [
        {"status": 500, "steps": [{"bytes": "{}"}]},
        {"status": 502, "steps": [{"bytes": "<html></html>"}]},
        {"status": 200, "headers": {"content-type": "text/event-stream"}, "steps": [{"cut": True}]},
        {"steps": [{"abort": True}]},
        {
            "status": 200,
            "headers": {"content-type": "text/event-stream"},
            "steps": [{"bytes": 'data: {"type":"error","error":{"message":"slow down","code":429}}\n\n'}],
        },
    ],
)
async def test_what_may_have_been_billed_is_not_asked_again_with_any_key(tmp_path: Path, failure: Any) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        await rig.script(AGENT, failure)
        reply = await ask(rig)
        assert reply.status >= 429
        assert len(await used(rig)) == 1
        assert (await ask(rig)).status == 200


async def test_allow_lists_decide_who_serves_a_model(tmp_path: Path) -> None:
    keys = entry("a", models=["perplexity/sonar"]), entry("b", models=["sonar", "low"]), entry("c", models=["low"])
    async with gateway(tmp_path, *keys) as rig:
        for _ in range(4):
            assert (await ask(rig)).status == 200
        assert await counted(rig) == {"a": 2, "b": 2}
        assert (await ask(rig, model="low", key="c")).status == 200
        reply = await ask(rig, model="high")
        assert (reply.status, reply.error["code"], reply.error["param"]) == (403, "model_not_allowed", "model")
        assert len(await used(rig)) == 5


async def test_a_request_may_name_its_key(tmp_path: Path) -> None:
    async with gateway(tmp_path, *THREE, entry("spare key", value("spare"), weight=0)) as rig:
        for name in ("c", "spare key", "c"):
            assert (await ask(rig, key=name)).status == 200
        assert await used(rig) == ["c", "spare", "c"]
        await states(rig, c="broke")
        assert (await ask(rig, key="c")).status == 402
        assert (await used(rig))[3:] == ["c"]
        reply = await ask(rig, key="nobody")
        assert (reply.status, reply.error["param"]) == (400, "x-pplx-key-name")


async def test_a_key_by_name_leads_to_the_api_or_nowhere(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a"), order=("session", "api"), allow_spending=True) as rig:
        assert (await ask(rig)).headers["x-pplx-upstream"] == "session"
        assert (await ask(rig, key="a")).headers["x-pplx-upstream"] == "api"
        reply = await ask(rig, key="a", model="session/sonar")
        assert (reply.status, reply.error["param"]) == (400, "x-pplx-key-name")


# -------------------------------------------------------------------------------- where keys come from


async def test_without_a_file_the_variable_is_the_key_named_default(tmp_path: Path) -> None:
    async with gateway(tmp_path, perplexity_api_key=Secret(API_KEY)) as rig:
        assert (await ask(rig, key="default")).status == 200
        (key,) = (await listed(rig)).values()
        assert (key["name"], key["origin"], key["reference"]) == ("default", "environment", "env.PERPLEXITY_API_KEY")


async def test_a_file_with_keys_takes_the_variables_place(tmp_path: Path) -> None:
    keys = entry("a"), entry("mine", "env.PERPLEXITY_API_KEY"), entry("gone", "env.NO_SUCH_VARIABLE_HERE")
    async with gateway(tmp_path, *keys, perplexity_api_key=Secret(API_KEY)) as rig:
        found = await listed(rig)
        assert list(found) == ["a", "mine", "gone"]
        assert (found["gone"]["usable"], found["gone"]["reason"]) == (False, "NO_SUCH_VARIABLE_HERE is not set")
        assert (await ask(rig, key="mine")).status == 200
        assert rig.log.getvalue().count("'gone' is disabled: NO_SUCH_VARIABLE_HERE is not set") == 1


async def test_the_file_that_the_documents_show_works_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = re.search(r"```json\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
    assert example
    put(tmp_path, example[1], 0o644)
    monkeypatch.setenv("TEAM_KEY", value("team"))
    async with gateway(tmp_path, perplexity_api_key=Secret(value("work"))) as rig:
        for _ in range(6):
            assert (await ask(rig)).status == 200
        assert await counted(rig) == {"work": 4, "team": 2}
        assert (await ask(rig, model="high", key="work")).status == 200
        assert (await ask(rig, model="high", key="team")).status == 403


async def test_the_file_may_lie_elsewhere_and_must_be_there_then(tmp_path: Path) -> None:
    path = write(tmp_path / "etc", entry("elsewhere"))
    async with gateway(tmp_path / "data", config=str(path)) as rig:
        assert list(await listed(rig)) == ["elsewhere"]
    settings = Settings(data_dir=tmp_path / "data", config=str(tmp_path / "none.json"))
    with pytest.raises(SettingsError, match=r"PPLX_CONFIG names .*none\.json, which is not there"):
        await open_gateway(settings, Clock())


async def test_a_wrong_file_keeps_the_gateway_from_starting(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), mode=0o644)
    with pytest.raises(SettingsError, match="chmod 600"):
        await open_gateway(Settings(data_dir=tmp_path), Clock())


async def test_without_any_key_nothing_can_be_asked_until_one_is_added(tmp_path: Path) -> None:
    async with gateway(tmp_path) as rig:
        reply = await ask(rig)
        assert (reply.status, reply.error["code"]) == (502, "upstream_auth")


async def test_a_changed_file_is_taken_up_and_a_wrong_one_is_told_and_left(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a"), factor=20) as rig:
        await ask(rig)
        write(tmp_path, entry("a", weight=2), entry("b"))
        found = await listed(rig)
        assert (list(found), found["a"]["weight"], found["a"]["health"]["requests"]) == (["a", "b"], 2, 1)
        put(tmp_path, "{")
        assert list(await listed(rig)) == ["a", "b"]
        assert rig.log.getvalue().count("the keys stay as they are") == 1
        write(tmp_path, entry("b"), mode=0o644)
        assert list(await listed(rig)) == ["a", "b"]
        assert "chmod 600" in rig.log.getvalue()
        write(tmp_path, entry("b"))
        assert list(await listed(rig)) == ["b"]
        assert (await ask(rig)).status == 200
        assert await used(rig) == ["a", "b"]


async def test_a_changed_file_is_noticed_without_being_asked_about(tmp_path: Path) -> None:
    noticed = Noticed("keys read again")
    logging.getLogger("pplx_gateway.keys").addHandler(noticed)
    async with gateway(tmp_path, entry("a"), factor=100) as rig:
        write(tmp_path, entry("b"))
        await asyncio.wait_for(noticed.event.wait(), 30)
        await ask(rig)
        assert await used(rig) == ["b"]
    logging.getLogger("pplx_gateway.keys").removeHandler(noticed)


class Noticed(logging.Handler):
    """Sets its event at the first line that says so."""

    def __init__(self, message: str) -> None:
        super().__init__()
        self.event = asyncio.Event()
        self._message = message

    def emit(self, record: logging.LogRecord) -> None:
        if record.getMessage() == self._message:
            self.event.set()


async def test_network_settings_of_the_file_reach_the_wire(tmp_path: Path) -> None:
    write(tmp_path, entry("a"), network={"extra_headers": {"X-Team": "blue", "User-Agent": "mine"}, "max_retries": 0})
    async with gateway(tmp_path) as rig:
        await ask(rig)
        (sent,) = await rig.requests(AGENT)
        assert (sent["headers"]["x-team"], sent["headers"]["user-agent"]) == ("blue", "mine")
        await states(rig, a="throttled")
        assert (await ask(rig)).status == 429
        assert len(await used(rig)) == 2


async def test_a_stream_fails_over_before_its_first_byte(tmp_path: Path) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        await states(rig, a="broke", b="dead")
        for _ in range(3):
            stream = await rig.stream(ASK)
            assert (stream.done, "Leie" in stream.content) == (True, True)
        assert await counted(rig) == {"a": 1, "b": 1, "c": 3}


@pytest.mark.parametrize("background", [False, True])
async def test_a_response_may_name_its_key_too(tmp_path: Path, background: bool) -> None:
    async with gateway(tmp_path, *THREE) as rig:
        body = {"model": "sonar", "input": "Which two rivers meet in Ghent?", "background": background}
        for name in ("c", "b", "c"):
            reply = await rig.post(body, path="/v1/responses", headers={"x-pplx-key-name": name})
            assert reply.status == 200
        await rig.wait(AGENT, count=3)
        assert await used(rig) == ["c", "b", "c"]
        reply = await rig.post(body, path="/v1/responses", headers={"x-pplx-key-name": "nobody"})
        assert (reply.status, reply.error["param"]) == (400, "x-pplx-key-name")
