"""Gateways that die, stop and come back, as processes: background runs go on, or have failed and say so."""

import asyncio
import contextlib
import signal
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.cases.scripts import Step, agent_steps
from tests.responses.calling import ASK, LONG, RUN, SESSION_ASK, SSE, Caller, Event, told
from tests.rig import AGENT, ASK_PATH
from tests.test_commands import Program, program

FACTOR = 5.0  # a lease of ten seconds lasts two


class Emulator:
    def __init__(self, url: str) -> None:
        self.url = url
        self._client = httpx2.AsyncClient(base_url=url, timeout=30, trust_env=False, verify=False)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.aclose()

    async def script(self, path: str, steps: Sequence[Step], **more: object) -> None:
        answer = {"headers": SSE, "steps": list(steps), **more}
        reply = await self._client.post("/_emulator/script", json={"path": path, "answers": [answer]})
        assert reply.status_code == 200, reply.text

    async def wait(self, path: str, **params: str) -> list[dict[str, Any]]:
        reply = await self._client.get("/_emulator/wait", params={"path": path, "timeout": "20", **params})
        assert reply.status_code == 200, reply.text
        found: list[dict[str, Any]] = reply.json()["requests"]
        return found

    async def count(self, path: str) -> int:
        reply = await self._client.get("/_emulator/requests", params={"path": path})
        return len(reply.json()["requests"])


@contextlib.asynccontextmanager
async def emulator() -> AsyncGenerator[Emulator, None]:
    async with EmulatorServer(Clock(FACTOR)) as server, Emulator(server.url) as running:
        yield running


@contextlib.asynccontextmanager
async def gateway(folder: Path, upstream: Emulator, *options: str) -> AsyncGenerator[tuple[Program, Caller], None]:
    keys = {
        "PERPLEXITY_API_KEY": "pplx-test",
        "PPLX_COOKIE": "emulator-max-cookie",
        "PPLX_API_URL": upstream.url,
        "PPLX_SESSION_URL": upstream.url,
        "PPLX_CLOCK_FACTOR": str(FACTOR),
        "LOG_LEVEL": "INFO",
    }
    async with program("serve", "--port", "0", *options, folder=folder, **keys) as running:
        async with Caller(running.url, key=None) as caller:
            yield running, caller
        if running.process.returncode is None:
            await running.stop()


async def seen_of(caller: Caller, response_id: str, count: int) -> list[Event | None]:
    """The first events of a response that runs."""
    async with caller.open_follow(response_id) as events:
        return [await anext(events) for _ in range(count)]


@pytest.mark.parametrize(
    ("how", "options"), [(signal.SIGKILL, []), (signal.SIGTERM, []), (signal.SIGTERM, ["--workers", "2"])]
)
async def test_an_agent_run_goes_on_after_the_gateways_death_or_stop(
    tmp_path: Path, how: signal.Signals, options: list[str]
) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        await upstream.script(RUN, agent_steps(), repeat="forever")
        async with gateway(tmp_path, upstream, *options) as (first, caller):
            created = await caller.create(background=True)
            seen = await seen_of(caller, created["id"], 7)
            await first.stop(how)
        async with gateway(tmp_path, upstream) as (_, caller):
            rest = await caller.follow(created["id"], 6)
            whole = await caller.ended(created["id"])
            assert told([*seen, *rest.events, None]).response == whole
            assert whole["status"] == "completed"
            assert whole["citations"]
            assert (await caller.follow(created["id"])).events == [*seen, *rest.events]
        assert await upstream.count(AGENT) == 1
        assert await upstream.count("*/cancel") == 0


async def test_a_job_with_its_key_is_paid_once_also_over_a_restart(tmp_path: Path) -> None:
    key = {"idempotency-key": "job"}
    body = {"model": "sonar-deep-research", "input": "History of the Leie", "background": True}
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        await upstream.script(RUN, agent_steps(), repeat="forever")
        async with gateway(tmp_path, upstream) as (first, caller):
            body["model"] = "api/sonar-deep-research"
            created, again = await caller.create(key, **body), await caller.create(key, **body)
            assert created["id"] == again["id"]
            now = (await caller.get(created["id"])).json()
            assert (now["status"], now["output"]) == ("in_progress", [])
            await upstream.wait(AGENT)
            await seen_of(caller, created["id"], 3)
            await first.stop()
        async with gateway(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(created["id"])
            assert whole["status"] == "completed"
            assert whole["search_results"]
            assert (await caller.get(created["id"])).json() == whole
            assert await caller.create(key, **body) == whole
        assert await upstream.count(AGENT) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_what_died_with_the_gateway_under_a_key_is_asked_anew(tmp_path: Path, stream: bool) -> None:
    key, body = {"idempotency-key": "job"}, {**ASK, "stream": stream}
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        async with gateway(tmp_path, upstream) as (first, caller):
            asking = asyncio.create_task(caller.post(body, headers=key))
            await upstream.wait(AGENT)
            await first.stop(signal.SIGKILL)
            with contextlib.suppress(httpx2.HTTPError):
                await asking
        async with gateway(tmp_path, upstream) as (_, caller):
            reply = await caller.post(body, headers=key)
            if "response.failed" in reply.text:  # its worker was still taken for alive, and its end was waited for
                reply = await caller.post(body, headers=key)
            assert reply.status_code == 200
            assert '"status":"completed"' in reply.text
            assert (await caller.post(body, headers=key)).text.count('"status":"completed"')
        assert await upstream.count(AGENT) == 2


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_a_session_run_is_told_to_have_failed_with_the_reason(tmp_path: Path, how: signal.Signals) -> None:
    async with emulator() as upstream:
        await upstream.script(ASK_PATH, [], delay=6000.0)
        async with gateway(tmp_path, upstream) as (first, caller):
            created = await caller.create(**SESSION_ASK, background=True)
            await upstream.wait(ASK_PATH)
            await first.stop(how)
        async with gateway(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(created["id"])
            assert whole["status"] == "failed"
            assert whole["error"]["code"] == "server_error"
            assert "stopped" in whole["error"]["message"]
            stream = await caller.follow(created["id"])
            assert stream.response == whole
            assert stream.types[-1] == "response.failed"


async def test_a_foreground_response_does_not_stay_under_way_after_a_death(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:7], LONG])
        async with gateway(tmp_path, upstream) as (first, caller), caller.open() as events:
            created = await anext(events)
            await first.stop(signal.SIGKILL)
            with pytest.raises(httpx2.HTTPError):
                _ = [event async for event in events]
        assert created
        async with gateway(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(created["response"]["id"])
            assert (whole["status"], whole["background"]) == ("failed", False)


async def test_a_foreground_stream_at_a_stop_ends_as_failed(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:7], LONG])
        async with gateway(tmp_path, upstream) as (first, caller), caller.open() as events:
            seen = [await anext(events)]
            first.process.send_signal(signal.SIGTERM)
            seen += [event async for event in events]
            assert told(seen).types[-1] == "response.failed"
            await first.stop()
        async with gateway(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(told(seen).response["id"])
            assert whole["status"] == "failed"


async def test_a_run_of_which_another_story_is_told_fails_with_the_reason(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        async with gateway(tmp_path, upstream) as (first, caller):
            created = await caller.create(background=True, tools=[{"type": "web_search"}])
            seen = await seen_of(caller, created["id"], 9)
            await first.stop(signal.SIGKILL)
        steps = agent_steps()
        await upstream.script(RUN, [steps[0], *steps[5:]], repeat="forever")  # nothing was searched this time
        async with gateway(tmp_path, upstream) as (_, caller):
            whole = await caller.ended(created["id"])
            assert whole["status"] == "failed"
            assert "run_changed" in whole["error"]["message"]
            rest = await caller.follow(created["id"], len(seen) - 1)
            assert told([*seen, *rest.events]).response == whole


async def test_a_follower_at_a_stop_is_told_to_come_back(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        await upstream.script(RUN, agent_steps(), repeat="forever")
        async with gateway(tmp_path, upstream) as (first, caller):
            created = await caller.create(background=True)
            async with caller.open_follow(created["id"]) as events:
                seen = [await anext(events) for _ in range(7)]
                first.process.send_signal(signal.SIGTERM)
                last = [event async for event in events][-1]
            assert last
            assert (last["type"], last["sequence_number"]) == ("error", 6)
            assert "starting_after" in last["message"]
            await first.stop()
        async with gateway(tmp_path, upstream) as (_, caller):
            rest = await caller.follow(created["id"], last["sequence_number"])
            assert told([*seen, *rest.events, None]).response["status"] == "completed"


async def test_two_workers_follow_and_cancel_each_others_runs(tmp_path: Path) -> None:
    """Two programs on one folder, so that it is known which one is asked."""
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG], repeat=2)
        cancelling: Step = {"bytes": '{"response_id":"resp_t1","status":"cancelling"}'}
        await upstream.script(f"{RUN}/cancel", [cancelling], repeat="forever")
        async with gateway(tmp_path, upstream) as (_, one), gateway(tmp_path, upstream) as (_, two):
            for stop in (two.cancel, two.delete):
                created = await one.create(background=True)
                seen = await seen_of(two, created["id"], 7)
                assert [event["sequence_number"] for event in seen if event] == list(range(7))
                async with one.open_follow(created["id"], 6) as events:
                    reply = await stop(created["id"])
                    assert reply.status_code == 200
                    rest = [event async for event in events]
                assert rest[-1]
                assert rest[-1]["type"] == "error"
                if stop == two.cancel:
                    assert (await one.get(created["id"])).json() == reply.json()
                else:
                    assert (await one.get(created["id"])).status_code == 404
            await upstream.wait(AGENT, closed="1", count="2")
            await upstream.wait(f"{RUN}/cancel", ended="1", count="2")
            assert await upstream.count(f"{RUN}/cancel") == 2


async def test_another_worker_goes_on_when_one_dies(tmp_path: Path) -> None:
    async with emulator() as upstream:
        await upstream.script(AGENT, [*agent_steps()[:8], LONG])
        await upstream.script(RUN, agent_steps(), repeat="forever")
        async with gateway(tmp_path, upstream) as (first, one), gateway(tmp_path, upstream) as (_, two):
            created = await one.create(background=True)
            async with two.open_follow(created["id"]) as events:
                seen = [await anext(events) for _ in range(7)]
                await first.stop(signal.SIGKILL)
                rest = [event async for event in events]
            assert told([*seen, *rest]).response == await two.ended(created["id"])
        assert await upstream.count(AGENT) == 1


async def test_any_of_several_workers_answers_for_all(tmp_path: Path) -> None:
    async with emulator() as upstream, gateway(tmp_path, upstream, "--workers", "2") as (_, caller):
        created = await asyncio.gather(*(caller.create(background=True) for _ in range(8)))
        for response in created:
            whole = await caller.ended(response["id"])
            assert whole["status"] == "completed"
            stream = await caller.follow(response["id"])
            assert stream.response == whole
        chained = await caller.create(input="More", previous_response_id=created[0]["id"])
        assert chained["status"] == "completed"
