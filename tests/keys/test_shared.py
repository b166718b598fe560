"""What one worker has learnt of a key, in another one and after a restart."""

from pathlib import Path
from typing import Any

import pytest

from tests.keys.calling import admin, ask, counted, gateway, listed, states
from tests.keys.files import entry
from tests.life.waiting import until
from tests.rig import Rig

TWO = (entry("a"), entry("b"))


async def known(rig: Rig, state: str, name: str = "a") -> dict[str, Any]:
    async def look() -> dict[str, Any] | None:
        health: dict[str, Any] = (await listed(rig))[name]["health"]
        return health if health["state"] == state else None

    return await until(look)


@pytest.mark.parametrize(
    ("verdict", "state"), [("dead", "refused"), ({"state": "throttled", "retry_after": 3600}, "throttled")]
)
async def test_a_key_that_rests_in_one_worker_is_left_alone_by_the_other(
    tmp_path: Path, verdict: object, state: str
) -> None:
    async with gateway(tmp_path, *TWO) as one, gateway(tmp_path, *TWO) as other:
        await states(one, a=verdict)
        for _ in range(4):
            assert (await ask(one)).status == 200
        health = await known(other, state)
        assert health["requests"] == 0
        assert 0 < health["rest_seconds"] <= (await listed(one))["a"]["health"]["rest_seconds"] + 10
        for _ in range(4):
            assert (await ask(other)).status == 200
        assert await counted(one) == {"a": 1, "b": 4}
        assert await counted(other) == {"b": 4}


async def test_a_key_that_is_tried_anew_in_one_worker_is_tried_anew_in_the_other(tmp_path: Path) -> None:
    async with gateway(tmp_path, *TWO) as one, gateway(tmp_path, *TWO) as other:
        await states(one, a="dead")
        for _ in range(2):
            await ask(one)
        await known(other, "refused")
        assert (await admin(one, "PATCH", "/admin/keys/a", {"weight": 1})).status_code == 200
        await known(other, "untried")
        for _ in range(4):
            await ask(other)
        assert await counted(other) == {"a": 2, "b": 2}


async def test_a_rest_lasts_over_a_restart_but_not_for_another_value(tmp_path: Path) -> None:
    async with gateway(tmp_path, *TWO) as rig, gateway(tmp_path, *TWO) as other:
        await states(rig, a="dead")
        for _ in range(2):
            await ask(rig)
        await known(other, "refused")
    async with gateway(tmp_path, *TWO) as rig:
        await known(rig, "refused")
        for _ in range(3):
            await ask(rig)
        assert await counted(rig) == {"b": 3}
    async with gateway(tmp_path, {**entry("a"), "value": "pplx-anew-SECRET-KEY"}, entry("b")) as rig:
        assert (await listed(rig))["a"]["health"]["state"] == "untried"
        for _ in range(4):
            await ask(rig)
        assert await counted(rig) == {"anew": 2, "b": 2}
