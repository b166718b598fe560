"""The machine's clock jumps by hours, either way: nothing under way ends for it, and nobody waits until it is right."""

import asyncio
from pathlib import Path

import httpx2
import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.store import Database, Leases, Responses
from tests.cases.scripts import Json, agent_steps, session_steps
from tests.drills.faces import FACES, over
from tests.responses.test_store import new
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer, running
from tests.session.fakes import HandClock

HOUR = 3600.0
QUESTION = "Which two rivers meet in Ghent?"
MODELS = {"api/sonar": (AGENT, agent_steps(), 7), "session/sonar": (ASK_PATH, session_steps(), 4)}
jumps = pytest.mark.parametrize("hours", [12, -12])


class JumpingClock(Clock):
    """Its wall time can be put forward and back; durations go on as they do."""

    shift_seconds = 0.0

    def now(self) -> float:
        return super().now() + self.shift_seconds


@jumps
async def test_what_is_under_way_comes_to_its_end(tmp_path: Path, hours: float) -> None:
    clock = JumpingClock()
    async with running(tmp_path, clock=clock) as rig:
        for model, (path, steps, shown) in MODELS.items():
            body: Json = {"model": model, "input": QUESTION}
            whole = (await rig.post(body, path="/v1/responses")).json
            await rig.script(path, *[[*steps[:shown], {"sleep": 1.5}, *steps[shown:]]] * 3)
            asking = [asyncio.create_task(asked(rig, body, **way)) for way in WAYS]
            await rig.wait(path, count=4)
            clock.shift_seconds += hours * HOUR
            for reply in await asyncio.gather(*asking):
                assert "Scheldt" in reply.text
                assert '"status":"completed"' in reply.text
            assert (await rig.get(f"/v1/responses/{whole['id']}")).json == whole
        assert "Traceback" not in rig.log.getvalue()


WAYS: tuple[Json, ...] = ({}, {"stream": True}, {"background": True})


async def asked(rig: Rig, body: Json, **way: object) -> httpx2.Response:
    reply = await rig.client.post(f"{rig.url}/v1/responses", json={**body, **way}, headers=bearer(KEY))
    return await over(rig, reply.json()["id"]) if "background" in way else reply


@jumps
async def test_every_face_answers_after_a_jump(tmp_path: Path, hours: float) -> None:
    clock = JumpingClock(4.0)
    async with running(tmp_path, clock=clock) as rig:
        for _ in range(2):
            for face in FACES:
                if face.path == "/mcp":
                    continue
                reply = await rig.client.post(
                    rig.url + face.path, json=face.body("sonar", QUESTION), headers=bearer(KEY)
                )
                assert reply.status_code == 200, (face.name, reply.text)
            clock.shift_seconds = hours * HOUR


async def test_a_callers_limit_does_not_last_until_the_clock_is_right_again(tmp_path: Path) -> None:
    clock = JumpingClock()
    async with running(tmp_path, order=("api",), clock=clock) as rig:
        made = await rig.post({"name": "phone", "requests_per_minute": 1}, path="/admin/caller-keys")
        body = {"model": "sonar", "messages": [{"role": "user", "content": QUESTION}]}
        statuses = []
        for hours in (0.0, 0.0, -12.0, -12.0, 12.0):
            clock.shift_seconds = hours * HOUR
            statuses.append((await rig.post(body, key=made.json["secret"])).status)
        assert statuses == [200, 429, 200, 429, 200]


@jumps
async def test_nothing_is_taken_from_a_worker_that_lives(tmp_path: Path, hours: float) -> None:
    clock = JumpingClock()
    database = await Database.open(tmp_path / "s.sqlite")
    mine, other = (Leases(database, clock, name) for name in ("mine", "other"))
    responses = Responses.of(database, clock, days=30, most_bytes=1 << 30, lease_seconds=300)
    assert await mine.take("turn", 300)
    assert await responses.add(new("resp_1"))
    clock.shift_seconds = hours * HOUR
    assert not await other.take("turn", 300)
    assert await responses.runs.take_abandoned() is None
    await database.close()


@pytest.mark.parametrize("later", [301.0, -900.0], ids=["its time is over", "the machine was started anew"])
async def test_what_a_dead_worker_held_is_taken_over(tmp_path: Path, later: float) -> None:
    clock = HandClock()
    database = await Database.open(tmp_path / "s.sqlite")
    dead, alive = (Leases(database, clock, name) for name in ("dead", "alive"))
    responses = Responses.of(database, clock, days=30, most_bytes=1 << 30, lease_seconds=300)
    assert await dead.take("turn", 300)
    hold = await responses.add(new("resp_1"))
    assert hold is not None
    assert not await alive.take("turn", 300)
    assert await responses.runs.take_abandoned() is None
    clock.seconds += later
    assert await alive.take("turn", 300)
    taken = await responses.runs.take_abandoned()
    assert taken is not None
    assert taken.hold.number == hold.number
    assert await responses.runs.take_abandoned() is None
    await database.close()
