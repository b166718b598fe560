"""A stop while streams run goes through its stages: what ends in time ends whole, the rest ends with an error."""

import asyncio
import json
import signal
from pathlib import Path

import httpx2
import pytest

from tests.cases.scripts import TEXT, Json, agent_steps
from tests.drills.faces import check
from tests.drills.processes import Running, emulator, gateway
from tests.rig import AGENT, check_stream, read_stream

STOP_SECONDS = 30.0
"""Ample: the stages themselves take nine."""
CHAT: Json = {"model": "api/sonar", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}


async def test_a_stop_ends_every_answer_in_its_stage(tmp_path: Path) -> None:
    begun, rest = agent_steps()[:7], agent_steps()[7:]
    async with emulator(tmp_path) as upstream, gateway(tmp_path, upstream) as program:
        await upstream.script(AGENT, [*begun, {"sleep": 2.0}, *rest])
        in_time = asyncio.create_task(streamed(program))
        await upstream.wait(AGENT)
        await upstream.script(AGENT, [*begun, {"sleep": 600.0}], repeat=3)
        too_late = [asyncio.create_task(work) for work in (streamed(program), plain(program, CHAT), plain(program, {}))]
        await upstream.wait(AGENT, count="4")
        _, err = await asyncio.wait_for(program.program.stop(signal.SIGTERM), STOP_SECONDS)
        assert program.program.process.returncode == 0
        with pytest.raises(httpx2.ConnectError):
            await program.client.get("/health")
        whole = read_stream(200, httpx2.Headers(), (await in_time).content, broken=False)
        assert (whole.content, whole.done, whole.error) == (TEXT, True, None)
        for reply in await asyncio.gather(*too_late):
            check(reply)
            if "text/event-stream" in reply.headers["content-type"]:
                check_stream(read_stream(200, reply.headers, reply.content, broken=False))
                assert '"error"' in reply.text
            else:
                assert reply.status_code >= 500, reply.text
                assert reply.json()["error"]["message"]
    assert "Traceback" not in err
    told = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    assert any("ended with an error" in line["message"] for line in told)


async def streamed(program: Running) -> httpx2.Response:
    return await program.client.post("/v1/chat/completions", json={**CHAT, "stream": True})


async def plain(program: Running, body: Json) -> httpx2.Response:
    """A chat, or a response without one."""
    if body:
        return await program.client.post("/v1/chat/completions", json=body)
    return await program.client.post("/v1/responses", json={"model": "api/sonar", "input": "Which rivers?"})
