"""Two workers as two real processes on one data folder: what one has learned or used up, the other knows."""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.life.programs import ASK, SESSION, Emulator, ask, number_of, settings
from tests.life.waiting import until
from tests.rig import ASK_PATH, KEY, bearer
from tests.session.stories import W_BASE, wire
from tests.test_commands import Program, program

QUOTA = "/rest/rate-limit/all"
CONFIG = "/rest/models/config"
DISCOVER = "/admin/discover-models"
SSE = {"content-type": "text/event-stream"}
PLAIN = wire(W_BASE).decode()
CONNECTIONS = 20  # the kernel hands them out to the workers, so that hardly one worker gets them all


@contextlib.asynccontextmanager
async def two(folder: Path, emulator: Emulator, cookie: str, **more: str) -> AsyncGenerator[list[Program], None]:
    environ = settings(emulator.url, cookie, **more)
    async with (
        program("serve", "--port", "0", folder=folder, **environ) as one,
        program("serve", "--port", "0", folder=folder, **environ) as other,
    ):
        yield [one, other]
        for each in (one, other):
            await each.stop()


async def health(url: str) -> dict[str, Any]:
    """Over a connection of its own."""
    async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
        found: dict[str, Any] = (await client.get(f"{url}/health", headers=bearer(KEY))).json()
        return found


async def agreed(urls: list[str], remaining: int | None = None) -> int:
    """What is left, once all tell the same: `remaining`, if that is given."""

    async def look() -> int | None:
        told = {(await health(url))["remaining_pro"] for url in urls}
        left = told.pop() if len(told) == 1 else None
        return left if remaining in (None, left) else None

    return await until(look)


async def admin(emulator: Emulator, worker: Program, path: str, method: str = "GET") -> httpx2.Response:
    return await emulator.client.request(method, worker.url + path, headers=bearer(KEY))


async def test_a_cookie_that_is_renewed_for_one_process_is_used_by_the_other(
    tmp_path: Path, emulator: Emulator
) -> None:
    async with two(tmp_path, emulator, "emulator-max-rotateask") as (one, other):
        for asker, waiting in ((one, other), (other, one)):
            assert await ask(emulator.client, asker) == 200
            newest = await emulator.rotations()
            # From here on the site renews nothing, so that the waiting one can have the newest from the other alone.
            await emulator.script(ASK_PATH, {"headers": SSE, "steps": [{"bytes": PLAIN}], "repeat": "forever"})

            async def uses(asker: Program = waiting, newest: int = newest) -> bool:
                assert await ask(emulator.client, asker) == 200
                return number_of((await emulator.tokens(ASK_PATH))[-1]) == newest

            assert newest > 0
            await until(uses)
            await emulator.client.delete(f"{emulator.url}/_emulator/script")


async def test_both_processes_tell_the_same_quota_and_it_is_the_sites(tmp_path: Path, emulator: Emulator) -> None:
    async with two(tmp_path, emulator, "emulator-pro-left90", ACCOUNT_TYPE="pro") as both:
        urls = [each.url for each in both]
        assert await agreed(urls, 90) == 90
        statuses = await asyncio.gather(*(ask(emulator.client, both[number % 2]) for number in range(6)))
        assert statuses == [200] * 6
        assert await agreed(urls, 84) == 84
        (account,) = await emulator.accounts()
        assert account["left"]["pro"] == 84
        assert len(await emulator.requests(QUOTA)) == 1, "one of the two has read it, for both"


async def test_of_two_processes_one_discovers(tmp_path: Path, emulator: Emulator) -> None:
    async with two(tmp_path, emulator, "emulator-max") as (one, other):
        await emulator.wait(SESSION, 1)
        await emulator.script(ASK_PATH, {"headers": SSE, "steps": [{"sleep": 600}]})  # the first probe is held
        assert (await admin(emulator, one, DISCOVER, "POST")).status_code == 202
        await emulator.wait(ASK_PATH, 1)
        reply = await admin(emulator, other, f"{DISCOVER}?wait=1", "POST")
        assert (reply.status_code, reply.json()["status"]) == (202, "running elsewhere")
        assert len(await emulator.requests(ASK_PATH)) == len(await emulator.requests(CONFIG)) == 1
        await one.stop()
        reply = await admin(emulator, other, f"{DISCOVER}?wait=1", "POST")
        assert (reply.status_code, reply.json()["status"]) == (200, "done"), "who stops in the middle gives its turn up"
        assert len(await emulator.requests(CONFIG)) == 2


async def test_what_is_due_is_discovered_by_one_process_and_known_to_both(tmp_path: Path, emulator: Emulator) -> None:
    interval = 3.0
    hours = {"PROBE_INTERVAL_HOURS": str(interval / 3600), "PPLX_PROBES_PER_DAY": "1"}
    async with two(tmp_path, emulator, "emulator-max", **hours) as both:
        await emulator.wait(CONFIG, 3)
        times = [request["time"] for request in await emulator.requests(CONFIG)]
        assert all(later - earlier >= interval * 0.99 for earlier, later in pairwise(times)), times

        async def same() -> bool:
            told = [(await admin(emulator, each, "/admin/models")).json()["discovery"]["last"] for each in both]
            return told[0] is not None and told[0] == told[1]

        assert await until(same)


async def test_two_workers_of_one_command_share_one_check_one_reading_and_one_count(
    tmp_path: Path, emulator: Emulator
) -> None:
    environ = settings(emulator.url, "emulator-pro-left90", ACCOUNT_TYPE="pro")
    async with program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **environ) as gateway:
        urls = [gateway.url] * CONNECTIONS
        await agreed(urls, 90)

        async def asked() -> int:
            async with httpx2.AsyncClient(timeout=30, trust_env=False) as client:
                return await ask(client, gateway)

        assert await asyncio.gather(*(asked() for _ in range(CONNECTIONS))) == [200] * CONNECTIONS
        await agreed(urls, 90 - CONNECTIONS)
        assert (len(await emulator.requests(SESSION)), len(await emulator.requests(QUOTA))) == (1, 1)
        await gateway.stop()


@pytest.mark.parametrize("word", ["logged_out", "upstream_401", "quota_gone"])
async def test_a_fault_in_the_demo_is_about_one_question(tmp_path: Path, word: str) -> None:
    question = {"model": "gpt", "messages": [{"role": "user", "content": f"fault:{word} Why is the sky blue?"}]}
    async with (
        program("demo", "--port", "0", folder=tmp_path) as demo,
        httpx2.AsyncClient(timeout=30, trust_env=False, base_url=demo.url) as client,
    ):
        for _ in range(2):
            failed = await client.post("/v1/chat/completions", json=question)
            code = "quota_exhausted" if word == "quota_gone" else "session_expired"
            assert failed.json()["error"]["code"] == code

            async def read_anew() -> bool:
                return bool((await client.get("/health")).json()["remaining_pro"])

            await until(read_anew)  # behind the answer, which does not wait for it
            assert (await client.post("/v1/chat/completions", json=ASK)).status_code == 200
        await demo.stop()
