import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.gateway import Gateway
from pplx_gateway.opening import open_gateway
from pplx_gateway.settings import Secret, Settings
from tests.models.helping import asked, asking, beside, entries, eventually, listed, session, update
from tests.rig import Rig, running


async def test_a_model_is_added_changed_and_removed_while_the_gateway_runs(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        assert "mini" not in await listed(rig)
        reply = await update(rig, {"mini": ["copilot", "gpt5_mini"], "gpt": ["copilot", "gpt55"], "kimi": None})
        assert reply.status == 200
        assert reply.json["updated"] == ["gpt", "mini"]
        assert reply.json["removed"] == ["kimi"]
        assert reply.json["models"]["mini"] == ["copilot", "gpt5_mini"]
        assert "mini" in await listed(rig)
        assert "kimi" not in await listed(rig)
        assert (await rig.chat(asking("How high is it?", "mini"))).json["model"] == "mini"
        assert (await rig.chat(asking("How high is it?", "gpt"))).status == 200
        assert (await rig.chat(asking("How high is it?", "kimi"))).status == 404
        assert await asked(rig) == ["gpt5_mini", "gpt55"]
        shown = await entries(rig)
        assert shown["mini"]["source"] == "admin"
        assert shown["mini"]["pinned"]
        assert shown["mini"]["served"]
        assert shown["sonnet"]["source"] == "built-in"
        assert not shown["haiku"]["enabled"]
        assert not shown["haiku"]["served"]
        assert (await rig.get("/admin/models")).json["removed"] == ["kimi"]


async def test_without_merge_the_list_is_replaced(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        reply = await update(rig, {"auto": ["concise", "pplx_pro"], "mine": ["copilot", "gpt54"]}, merge=False)
        assert reply.status == 200
        assert await listed(rig) == {"auto", "mine", "router"}
        assert (await rig.get("/admin/models")).json["replaced"]
        assert (await rig.chat(asking("How high is it?", "gpt"))).status == 404


@pytest.mark.parametrize(
    ("models", "param", "word"),
    [
        ({"x": ["copilot"]}, "models.x", "[mode, upstream id]"),
        ({"x": "gpt55"}, "models.x", "[mode, upstream id]"),
        ({"x": ["fast", "gpt55"]}, "models.x[0]", "concise"),
        ({"x": ["copilot", "gpt 55"]}, "models.x[1]", "upstream id"),
        ({"x": ["copilot", 5]}, "models.x", "[mode, upstream id]"),
        ({"a/b": ["copilot", "gpt55"]}, "models.a/b", "id"),
        ({"": ["copilot", "gpt55"]}, "models.", "id"),
        ({"nobody": None}, "models.nobody", "remove"),
        ({}, "models", "empty"),
        ([], "models", "object"),
    ],
)
async def test_a_change_that_cannot_be_is_refused_whole(tmp_path: Path, models: Any, param: str, word: str) -> None:
    async with session(tmp_path) as rig:
        good = {"fine": ["copilot", "gpt54"]}
        wanted = {**good, **models} if models and isinstance(models, dict) else models
        reply = await update(rig, wanted)
        assert reply.status == 400
        assert reply.error["param"] == param
        assert word in reply.error["message"]
        assert "fine" not in await listed(rig)


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"merge": true}', b'{"models": {"x": null}, "merg": true}', b"\xff"])
async def test_a_body_that_is_none_is_refused(tmp_path: Path, body: bytes) -> None:
    async with session(tmp_path) as rig:
        assert (await rig.post(body, path="/admin/update-models")).status == 400


async def test_only_the_owner_gets_in(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        assert (await rig.get("/admin/models", key="wrong")).status == 401
        assert (await rig.post({"models": {}}, path="/admin/update-models", key=None)).status == 401
        assert (await rig.post({}, path="/admin/discover-models", key=None)).status == 401


async def test_without_a_session_there_is_nothing_to_rule(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        assert (await rig.get("/admin/models")).status == 404
        assert (await rig.post({}, path="/admin/discover-models")).status == 404


async def test_every_worker_sees_a_change_and_a_restart_keeps_it(tmp_path: Path) -> None:
    async with session(tmp_path) as rig, beside(rig, tmp_path) as other:
        await update(rig, {"mini": ["copilot", "gpt5_mini"]})
        await eventually(lambda: _lists(other, "mini"))
        await asyncio.gather(*(update(each, {name: ["copilot", "gpt54"]}) for each, name in ((rig, "a"), (other, "b"))))
        await eventually(lambda: _lists(rig, "a", "b", "mini"))
        async with beside(rig, tmp_path) as later:
            assert {"a", "b", "mini"} <= await listed(later)


async def _lists(rig: Rig, *names: str) -> bool:
    return set(names) <= await listed(rig)


async def test_a_free_account_has_auto_alone(tmp_path: Path) -> None:
    async with session(tmp_path, "free") as rig:
        await eventually(lambda: _is_free(rig))
        await update(rig, {"mini": ["copilot", "gpt5_mini"]})
        assert await listed(rig) == {"auto", "helper", "router"}
        reply = await rig.chat(asking("How high is it?", "mini"))
        assert reply.status == 403
        assert "pro" in reply.error["message"]
        assert (await rig.chat(asking("How high is it?", "auto"))).status == 200


async def _is_free(rig: Rig) -> bool:
    health = (await rig.get("/health")).json
    return bool(health["session"]["account_type"] == "free")


async def test_account_type_wins_over_what_the_site_says(tmp_path: Path) -> None:
    async with session(tmp_path, "free", account_type="max") as rig:
        assert "opus" in await listed(rig)
    async with session(tmp_path / "other", "max", account_type="free") as rig:
        assert await listed(rig) == {"auto", "helper", "router"}


async def test_the_list_of_an_older_installation_is_taken_over_once(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    (old / ".models.json").write_text(
        json.dumps(
            {
                "gpt": ["copilot", "gpt54"],  # older than what the release brings
                "sonnet": ["copilot", "claude52sonnet"],
                "haiku": ["copilot", "claude45haiku"],
                "own": ["copilot", "gpt5_nano"],
                "bad": ["sideways", "x"],
            }
        )
    )
    gateway = await opened(tmp_path / "data", old)
    assert upstream_ids(gateway, "gpt", "sonnet", "own") == ["gpt56_terra", "claude52sonnet", "gpt5_nano"]
    assert not {"haiku", "bad"} & {model.id for model in gateway.models()}
    assert gateway.keeper is not None
    await gateway.keeper.update({"own": None}, merge=True)
    await gateway.close()
    gateway = await opened(tmp_path / "data", old)
    assert "own" not in {model.id for model in gateway.models()}
    await gateway.close()


async def opened(folder: Path, old: Path) -> Gateway:
    settings = Settings(cookie=Secret("emulator-pro"), session_url="http://127.0.0.1:9", data_dir=folder)
    return await open_gateway(settings, Clock(), old)


def upstream_ids(gateway: Gateway, *names: str) -> list[str]:
    routes = [gateway.resolve(name).targets[0].session for name in names]
    return [route.upstream_id for route in routes if route]
