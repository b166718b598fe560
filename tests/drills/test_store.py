"""The disk is full, the store is locked by somebody else, the process is killed: what was promised is kept, what cannot
be kept is an error, and everything goes on once the trouble is over."""

import asyncio
import json
import random
import resource
import sqlite3
import stat
from itertools import product
from pathlib import Path

import httpx2
import pytest

from tests.drills.faces import FACES, Json
from tests.drills.processes import Running, emulator, gateway
from tests.life.waiting import until

QUESTION = "Which two rivers meet in Ghent?"
CHAT: Json = {"model": "api/sonar", "messages": [{"role": "user", "content": QUESTION}]}
RESPONSE: Json = {"model": "api/sonar", "input": QUESTION}
KEEPING = [
    ("/v1/responses", RESPONSE),
    ("/v1/responses", {**RESPONSE, "stream": True}),
    ("/v1/responses", {**RESPONSE, "background": True}),
    ("/v1/agent", {"model": "perplexity/sonar", "input": QUESTION, "background": True}),
    ("/v1/async/sonar", {"request": {**CHAT, "model": "sonar"}}),
    ("/admin/caller-keys", {"name": "phone"}),
    ("/admin/keys", {"name": "second", "value": "pplx-second"}),
]
"""What cannot be done without the store."""


async def test_a_full_disk_is_told_and_nothing_is_half_kept(tmp_path: Path) -> None:
    async with emulator(tmp_path) as upstream, gateway(tmp_path, upstream) as program:
        first = await program.client.post("/v1/responses", json=RESPONSE)
        assert first.status_code == 200
        whole = resource.prlimit(program.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, (4096, whole[1]))
        for path, body in KEEPING:
            refused(await program.client.post(path, json=body))
        files = {"file": ("notes.txt", b"water " * 20_000)}
        refused(await program.client.post("/v1/files", files=files, data={"purpose": "user_data"}))
        assert (await program.client.post("/v1/chat/completions", json=CHAT)).status_code == 200
        assert (await program.client.get(f"/v1/responses/{first.json()['id']}")).json() == first.json()
        resource.prlimit(program.pid, resource.RLIMIT_FSIZE, whole)
        for path, body in KEEPING:
            assert (await program.client.post(path, json=body)).status_code in (200, 201), path
        _, err = await program.program.stop()
    assert "Traceback" not in err
    check_store(program.store)


def refused(reply: httpx2.Response) -> None:
    """As the table has it; a stream may have begun with the answer, but it does not end as one."""
    assert reply.status_code == 503, (reply.url.path, reply.text[-400:])
    assert reply.headers["x-should-retry"] == "true"
    error = reply.json()["error"]
    assert "store_unavailable" in (error["code"], error["type"])


def check_store(store: Path) -> None:
    """The file is sound, and nobody else can read it or its companions."""
    found = sqlite3.connect(store)
    assert found.execute("pragma integrity_check").fetchone() == ("ok",)
    found.close()
    for file in store.parent.rglob("*"):
        wanted = 0o700 if file.is_dir() else 0o600
        assert stat.S_IMODE(file.stat().st_mode) == wanted, file


async def test_a_store_that_another_program_locks_holds_up_only_what_needs_it(tmp_path: Path) -> None:
    async with emulator(tmp_path) as upstream, gateway(tmp_path, upstream) as program:
        kept = (await program.client.post("/v1/responses", json=RESPONSE)).json()
        other = sqlite3.connect(program.store, isolation_level=None)
        other.execute("begin immediate")
        async with asyncio.timeout(50):  # five seconds for each would be more than a minute
            replies = await asyncio.gather(*(program.client.post("/v1/responses", json=RESPONSE) for _ in range(15)))
            for reply in replies:
                refused(reply)
            asking = [
                program.client.post(face.path, json=face.body(model, QUESTION))
                for face, model in product(FACES, ("api/sonar", "session/sonar"))
                if face.name in ("chat", "chat, streamed", "messages", "messages, streamed", "sonar", "agent")
                if (face.name, model) != ("agent", "session/sonar")  # which is a response that is kept
            ]
            assert [reply.status_code for reply in await asyncio.gather(*asking)] == [200] * len(asking)
        other.execute("rollback")
        other.close()
        assert (await program.client.get(f"/v1/responses/{kept['id']}")).json() == kept
        assert (await program.client.post("/v1/responses", json=RESPONSE)).status_code == 200


@pytest.mark.parametrize("seed", range(2))
async def test_what_was_told_to_be_complete_outlives_a_kill(tmp_path: Path, seed: int) -> None:
    """Eight callers ask without a pause; after so many answers the process is killed in the middle of the others."""
    dice = random.Random(seed)
    told: dict[str, Json] = {}
    enough, most = asyncio.Event(), dice.randint(5, 25)

    async def ask(program: Running, way: str) -> None:
        while True:
            answer = await asked(program.client, way)
            told[answer["id"]] = answer
            if len(told) >= most:
                enough.set()

    async with emulator(tmp_path) as upstream:
        async with gateway(tmp_path, upstream, PPLX_CLOCK_FACTOR="4") as program:
            ways = ("plain", "streamed", "background", "queued") * 2
            asking = [asyncio.create_task(ask(program, way)) for way in ways]
            await asyncio.wait_for(enough.wait(), 60)
            program.program.process.kill()
            await program.program.process.wait()
            ended = await asyncio.gather(*asking, return_exceptions=True)
            assert all(isinstance(outcome, httpx2.HTTPError) for outcome in ended), ended
        check_store(tmp_path / "data" / "gateway.sqlite")
        async with gateway(tmp_path, upstream, PPLX_CLOCK_FACTOR="4") as program:
            assert len(told) >= most
            for answer in told.values():
                found = (await program.client.get(f"/v1/responses/{answer['id']}")).json()
                if answer["status"] == "completed":
                    assert found == answer
                else:
                    assert (await over(program.client, answer["id"]))["status"] in ("completed", "failed")


async def asked(client: httpx2.AsyncClient, way: str) -> Json:
    """One response, as far as its caller was told of it. Raises httpx2.HTTPError where the connection ends first."""
    model = "session/sonar" if way == "background" else "api/sonar"
    body: Json = {"model": model, "input": QUESTION, "background": way in ("background", "queued")}
    if way != "streamed":
        reply = await client.post("/v1/responses", json=body)
        first: Json = reply.json()
        return await over(client, first["id"]) if way == "background" else first
    async with client.stream("POST", "/v1/responses", json={**body, "stream": True}) as reply:
        lines = [line async for line in reply.aiter_lines() if line.startswith("data: {")]
    last: Json = json.loads(lines[-1].removeprefix("data: "))["response"]
    return last


async def over(client: httpx2.AsyncClient, response_id: str) -> Json:
    """The response once it has ended."""

    async def look() -> Json | None:
        found: Json = (await client.get(f"/v1/responses/{response_id}")).json()
        return found if found["status"] not in ("queued", "in_progress") else None

    return await until(look, seconds=60)
