"""A real process is killed while its cookie is renewed: what it had taken over is what the next one begins with."""

import asyncio
import json
import stat
from pathlib import Path

import httpx2
import pytest

from pplx_gateway.upstreams.session.cookies import NAME
from tests.life.programs import SESSION, Emulator, ask, killed, number_of, settings
from tests.life.waiting import until
from tests.rig import ASK_PATH, KEY, bearer
from tests.test_commands import program


async def first_token(emulator: Emulator, tmp_path: Path, environ: dict[str, str]) -> str:
    """With which a new process checks the session, once it has started."""
    await emulator.forget()
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        await emulator.wait(SESSION, 1)
        await killed(gateway)
    return (await emulator.tokens(SESSION))[0]


@pytest.mark.parametrize("shape", ["", "-toggle"])
async def test_a_restart_uses_the_newest_cookie_after_a_kill(tmp_path: Path, emulator: Emulator, shape: str) -> None:
    environ = settings(emulator.url, f"emulator-max-rotate-rotateask{shape}")
    newest = 0
    for _ in range(2):
        async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
            await emulator.wait(SESSION, 1)
            assert [await ask(emulator.client, gateway) for _ in range(3)] == [200] * 3
            known = await emulator.rotations()
            await killed(gateway)
        begun = number_of(await first_token(emulator, tmp_path, environ))
        assert begun >= known > newest, "an answer that was given had its cookie kept before"
        newest = known


async def test_a_kill_in_the_middle_of_many_renewals_leaves_a_whole_cookie(tmp_path: Path, emulator: Emulator) -> None:
    environ = settings(emulator.url, "emulator-max-rotate-rotateask-chunked")
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        await emulator.wait(SESSION, 1)
        assert await ask(emulator.client, gateway) == 200
        known = await emulator.rotations()
        asking = [asyncio.create_task(ask(emulator.client, gateway)) for _ in range(12)]
        await emulator.wait(ASK_PATH, 8)
        await killed(gateway)
        await asyncio.gather(*asking, return_exceptions=True)
    begun = await first_token(emulator, tmp_path, environ)
    assert known <= number_of(begun) <= await emulator.rotations()
    assert begun.endswith("~" + "x" * 4200), "no half of a cookie"


async def test_only_the_owner_can_read_what_is_kept(tmp_path: Path, emulator: Emulator) -> None:
    environ = settings(emulator.url, "emulator-max-rotate")
    async with program("serve", "--port", "0", folder=tmp_path, **environ) as gateway:
        await emulator.wait(SESSION, 1)
        assert await ask(emulator.client, gateway) == 200
        files = [file for file in (tmp_path / "data").rglob("*") if file.is_file()]
        assert any(b"emulator-max-rotate~1" in file.read_bytes() for file in files)
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
        await gateway.stop()


async def test_a_variable_that_changed_wins_over_the_kept_cookie_and_else_not(
    tmp_path: Path, emulator: Emulator
) -> None:
    first, second = (settings(emulator.url, f"emulator-max-rotate-{name}") for name in ("a", "b"))
    assert await first_token(emulator, tmp_path, first) == "emulator-max-rotate-a"
    assert (await first_token(emulator, tmp_path, first)).startswith("emulator-max-rotate-a")
    assert await first_token(emulator, tmp_path, second) == "emulator-max-rotate-b"
    assert (await first_token(emulator, tmp_path, settings(emulator.url, None))).startswith("emulator-max-rotate-b")


async def test_the_old_file_in_the_working_directory_is_taken_over_once(tmp_path: Path, emulator: Emulator) -> None:
    file = tmp_path / ".cookie_cache.json"
    file.write_text(json.dumps({"cookies": {NAME: "emulator-max-old"}, "timestamp": 1790000000}))
    environ = settings(emulator.url, "emulator-max-variable")
    assert await first_token(emulator, tmp_path, environ) == "emulator-max-old"
    file.write_text(json.dumps({NAME: "emulator-max-older"}))
    assert await first_token(emulator, tmp_path, environ) == "emulator-max-old"


async def test_two_workers_of_one_gateway_share_the_cookie(tmp_path: Path, emulator: Emulator) -> None:
    """After a new cookie was given to one of the two, soon every question goes out with it, whoever answers."""
    environ = settings(emulator.url, "emulator-max-expired")
    async with program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **environ) as gateway:
        await emulator.wait(SESSION, 1)
        body = {"session_token": "emulator-max-new"}
        reply = await emulator.client.post(f"{gateway.url}/admin/refresh-cookie", json=body, headers=bearer(KEY))
        assert reply.status_code == 200

        async def healed() -> bool:
            """Twenty connections in a row, which the two workers share between them."""
            answers = []
            for _ in range(20):
                async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
                    answers.append(await ask(client, gateway))
            return set(answers) == {200}

        await until(healed, seconds=60)
        await emulator.forget()
        assert await healed()
        assert set(await emulator.tokens(ASK_PATH)) == {"emulator-max-new"}
        await gateway.stop()
