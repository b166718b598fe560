"""`/admin/keys`: seen without their values, added, changed, disabled, removed."""

from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.settings import Secret
from tests.keys.calling import ADMIN, admin, ask, counted, gateway, listed, states, used, value
from tests.keys.files import entry, write
from tests.rig import API_KEY, Rig, check_error
from tests.web.test_openapi import validator


async def changed(rig: Rig, method: str, path: str, body: object = None, status: int = 200) -> dict[str, Any]:
    reply = await admin(rig, method, path, body)
    assert reply.status_code == status, reply.text
    found: dict[str, Any] = reply.json()
    return found


async def refused(rig: Rig, method: str, path: str, body: object = None) -> tuple[int, str | None, str]:
    reply = await admin(rig, method, path, body)
    check_error(reply.json())
    error = reply.json()["error"]
    return reply.status_code, error["param"], error["message"]


async def test_a_key_is_added_changed_disabled_and_removed(tmp_path: Path) -> None:
    async with gateway(tmp_path) as rig:
        added = await changed(rig, "POST", ADMIN, entry("a"), 201)
        validator("ChangedKey").validate(added)
        key = added["key"]
        assert (key["name"], key["origin"], key["reference"], key["usable"]) == ("a", "admin", None, True)
        assert (await ask(rig)).status == 200
        await changed(rig, "POST", ADMIN, entry("b", weight=2, models=["low", "sonar"]), 201)
        for _ in range(3):
            await ask(rig)
        assert await counted(rig) == {"a": 2, "b": 2}
        await changed(rig, "PATCH", f"{ADMIN}/b", {"enabled": False})
        for _ in range(2):
            await ask(rig)
        assert await counted(rig) == {"a": 4, "b": 2}
        edited = await changed(rig, "PATCH", f"{ADMIN}/b", {"enabled": True, "weight": 0.5, "value": value("new")})
        assert (edited["key"]["weight"], edited["key"]["models"]) == (0.5, ["low", "sonar"])
        assert (await ask(rig, key="b")).status == 200
        assert (await used(rig))[-1] == "new"
        assert await changed(rig, "DELETE", f"{ADMIN}/a") == {"status": "ok", "removed": "a"}
        assert list(await listed(rig)) == ["b"]
        validator("ShownKeys").validate((await admin(rig, "GET")).json())


async def test_changes_outlive_a_restart_and_stand_above_file_and_environment(tmp_path: Path) -> None:
    keys = entry("a"), entry("b"), entry("c")
    async with gateway(tmp_path, *keys) as rig:
        await changed(rig, "PATCH", f"{ADMIN}/a", {"weight": 5})
        await changed(rig, "PATCH", f"{ADMIN}/b", {"value": value("other")})
        await changed(rig, "DELETE", f"{ADMIN}/c")
        await changed(rig, "POST", ADMIN, entry("d", "env.PERPLEXITY_API_KEY"), 201)
    write(tmp_path, entry("a", models=["sonar"]), entry("b"), entry("c"), entry("e"))
    async with gateway(tmp_path, perplexity_api_key=Secret(API_KEY)) as rig:
        found = await listed(rig)
        assert list(found) == ["a", "b", "e", "d"]
        assert (found["a"]["weight"], found["a"]["models"], found["a"]["origin"]) == (5, ["sonar"], "file")
        assert (found["b"]["origin"], found["d"]["reference"]) == ("admin", "env.PERPLEXITY_API_KEY")
        for name in "bd":
            assert (await ask(rig, key=name)).status == 200
        assert (await used(rig))[0] == "other"
        await changed(rig, "DELETE", f"{ADMIN}/d")
        await changed(rig, "POST", ADMIN, entry("c", weight=4), 201)
        assert (await listed(rig))["c"]["weight"] == 4
    async with gateway(tmp_path, perplexity_api_key=Secret(API_KEY)) as rig:
        assert sorted(await listed(rig)) == ["a", "b", "c", "e"]


async def test_the_variables_key_can_be_changed_too(tmp_path: Path) -> None:
    async with gateway(tmp_path, perplexity_api_key=Secret(API_KEY)) as rig:
        await changed(rig, "DELETE", f"{ADMIN}/default")
        assert (await ask(rig)).status == 502
    async with gateway(tmp_path, perplexity_api_key=Secret(API_KEY)) as rig:
        assert list(await listed(rig)) == []
        await changed(rig, "POST", ADMIN, {"name": "default", "value": "env.PERPLEXITY_API_KEY"}, 201)
        assert (await ask(rig)).status == 200


async def test_what_one_worker_changes_another_uses(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a")) as one, gateway(tmp_path, factor=50) as other:
        await changed(one, "POST", ADMIN, entry("b"), 201)
        await changed(other, "PATCH", f"{ADMIN}/a", {"weight": 3})
        assert {name: key["weight"] for name, key in (await listed(one)).items()} == {"a": 3, "b": 1}
        await changed(one, "DELETE", f"{ADMIN}/b")
        assert list(await listed(other)) == ["a"]


async def test_a_key_that_was_mended_is_tried_at_once(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a"), entry("b", weight=0.01)) as rig:
        await states(rig, a="broke")
        await ask(rig)
        assert (await listed(rig))["a"]["health"]["state"] == "out_of_balance"
        await states(rig, a="good")
        await ask(rig)
        await changed(rig, "PATCH", f"{ADMIN}/a", {"enabled": True})
        await ask(rig)
        assert await used(rig) == ["a", "b", "b", "a"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"value": "pplx-SECRET"}, "name"),
        ({"name": "b"}, "value"),
        ({"name": "a", "value": "pplx-SECRET"}, "name"),
        ({"name": "b", "value": "two SECRET words"}, "value"),
        ({"name": "b", "value": "env.A B"}, "value"),
        ({"name": "b/c", "value": "pplx-SECRET"}, "name"),
        ({"name": "b", "value": "pplx-SECRET", "weight": -1}, "weight"),
        ({"name": "b", "value": "pplx-SECRET", "models": []}, "models"),
        ({"name": "b", "value": "pplx-SECRET", "heft": 1}, "heft"),
    ],
)
async def test_a_wrong_key_is_not_added(tmp_path: Path, body: dict[str, Any], param: str | None) -> None:
    async with gateway(tmp_path, entry("a")) as rig:
        status, named, message = await refused(rig, "POST", ADMIN, body)
        assert (status, named) == (400, param)
        assert "SECRET" not in message
        assert list(await listed(rig)) == ["a"]


async def test_mistakes_are_told(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a")) as rig:
        assert (await refused(rig, "PATCH", f"{ADMIN}/b", {"weight": 1}))[0] == 404
        assert (await refused(rig, "DELETE", f"{ADMIN}/b"))[0] == 404
        assert (await refused(rig, "PATCH", f"{ADMIN}/a", {}))[0] == 400
        assert (await refused(rig, "PATCH", f"{ADMIN}/a", {"weight": "x"}))[:2] == (400, "weight")
        assert (await refused(rig, "PATCH", f"{ADMIN}/a", {"name": "c"}))[0] == 400
        assert (await refused(rig, "PUT", ADMIN, {}))[0] == 405
        stranger = await rig.client.get(rig.url + ADMIN)
        assert stranger.status_code == 401
    async with gateway(tmp_path / "other", order=("session",)) as rig:
        assert (await refused(rig, "GET", ADMIN))[0] == 404
