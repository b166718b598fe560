"""Callers who leave when they like, who do not read, and who keep half of a connection."""

import asyncio
import json
import random
import socket
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cases.scripts import Json, agent_events, agent_steps
from tests.drills.faces import FACES, Face
from tests.drills.processes import Running, emulator, gateway
from tests.life.waiting import until
from tests.rig import AGENT, KEY, Rig, bearer, running

LEAVING = 300
SLOW = "slow: Which two rivers meet in Ghent?"
QUESTION = "Which two rivers meet in Ghent?"

PIECE = "water " * 10_000
PIECES = 250
"""As many make 15 MB: far more than the buffers of sockets hold."""
READERS = 4
BOUND_BYTES = 30 << 20


async def test_hundreds_who_leave_at_random_leave_nothing_behind(tmp_path: Path) -> None:
    dice = random.Random(9)
    async with running(tmp_path, factor=4.0) as rig:
        assert (await rig.post(_chat("api/sonar", QUESTION))).status == 200
        tasks = len(asyncio.all_tasks())
        for _ in range(LEAVING // 50):
            asking = [leave(rig, dice.choice(FACES), dice.choice(MODELS), dice.uniform(0, 0.25)) for _ in range(50)]
            await asyncio.gather(*asking)
        await until(lambda: _idle(rig), seconds=60)
        await until(lambda: _at_most(tasks), seconds=60)
        assert (await rig.post(_chat("api/sonar", QUESTION))).status == 200
        await rig.check()
        assert "Traceback" not in rig.log.getvalue()


MODELS = ("api/sonar", "session/sonar")


async def leave(rig: Rig, face: Face, model: str, seconds: float) -> None:
    """Asks, and is gone after `seconds`, whatever has come by then."""
    if face.background:  # such a run is meant to go on
        return
    try:
        async with asyncio.timeout(seconds):
            await rig.client.post(rig.url + face.path, json=face.body(model, SLOW), headers=bearer(KEY))
    except TimeoutError:
        return


async def _idle(rig: Rig) -> bool:
    found: int = json.loads(await rig.emulated("/_emulator/state"))["open_requests"]
    return found <= 1  # this one


async def _at_most(tasks: int) -> bool:
    return len(asyncio.all_tasks()) <= tasks + 2


def _chat(model: str, question: str, **more: object) -> Json:
    return {"model": model, "messages": [{"role": "user", "content": question}], **more}


async def test_slow_readers_cost_no_memory_and_nobody_elses_time(tmp_path: Path) -> None:
    async with emulator(tmp_path) as upstream, gateway(tmp_path, upstream) as program:
        assert (await program.client.post("/v1/chat/completions", json=_chat("api/sonar", QUESTION))).status_code == 200
        await upstream.script(AGENT, agent_steps(long_answer()), repeat=READERS)
        before = program.resident_bytes()
        readers = [await slow_reader(program) for _ in range(READERS)]
        await upstream.wait(AGENT, count=str(READERS + 1))
        for _ in range(20):
            reply = await program.client.post("/v1/chat/completions", json=_chat("session/sonar", QUESTION))
            assert reply.status_code == 200
            assert program.resident_bytes() - before < BOUND_BYTES
        held = [request for request in await upstream.requests(AGENT) if not request["ended"]]
        assert len(held) == READERS, "whoever does not read is not read ahead for"
        said = await asyncio.wait_for(rest_of(readers[0]), 60)
        assert said.count("water ") == PIECES * 10_000
        assert "[DONE]" in said
        for reader in readers:
            reader.close()
        await upstream.wait(AGENT, closed="1", count=str(READERS - 1))


def long_answer() -> list[Json]:
    """Whose end does not repeat it."""
    begin, *_, end = agent_events("x")
    run: Json = {"id": "resp_t1", "status": "completed", "output": []}
    pieces = [{"type": "response.output_text.delta", "output_index": 0, "delta": PIECE} for _ in range(PIECES)]
    return [begin, *pieces, {**end, "sequence_number": PIECES + 1, "response": run}]


async def slow_reader(program: Running) -> socket.socket:
    """A connection that has asked for a stream and reads nothing of it; its own buffer is small."""
    parts = urlsplit(program.program.url)
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(reader, (parts.hostname, parts.port))
    await loop.sock_sendall(reader, request(parts.netloc, _chat("api/sonar", QUESTION, stream=True)))
    return reader


def request(host: str, body: Json) -> bytes:
    """A chat as it stands on the wire; the connection ends after it."""
    content = json.dumps(body).encode()
    head = [
        "POST /v1/chat/completions HTTP/1.1",
        f"Host: {host}",
        f"Authorization: Bearer {KEY}",
        "Connection: close",
        f"Content-Length: {len(content)}",
    ]
    return "".join(f"{line}\r\n" for line in head).encode() + b"\r\n" + content


async def rest_of(reader: socket.socket) -> str:
    loop, parts = asyncio.get_running_loop(), []
    while data := await loop.sock_recv(reader, 1 << 20):
        parts.append(data)
    return b"".join(parts).decode()


@pytest.mark.parametrize("upstream", ["api", "session"])
async def test_who_closes_half_a_connection_has_left(tmp_path: Path, upstream: str) -> None:
    """A socket that is only shut for writing cannot be told from one that is gone: its question is not worked on."""
    path = {"api": AGENT, "session": "/rest/sse/perplexity_ask"}[upstream]
    async with running(tmp_path, order=(upstream,)) as rig:
        await rig.script(path, {"delay": 600.0, "steps": [], "repeat": 20})
        sockets = []
        for _ in range(20):
            parts = urlsplit(rig.url)
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(request(parts.netloc, _chat("sonar", QUESTION, stream=True)))
            sockets.append((reader, writer))
        await rig.wait(path, count=20)
        for _, writer in sockets:
            writer.write_eof()
        await rig.wait(path, closed=True, count=20)
        for reader, writer in sockets:
            async with asyncio.timeout(20):
                assert b"[DONE]" not in await reader.read()
            writer.close()
        assert (await rig.post(_chat("sonar", QUESTION))).status == 200


async def test_those_who_never_finish_asking_hold_up_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), factor=60.0) as rig:
        parts = urlsplit(rig.url)
        whole = request(parts.netloc, _chat("sonar", QUESTION))
        cuts = range(1, len(whole), 5)
        sockets = [await asyncio.open_connection(parts.hostname, parts.port) for _ in cuts]
        for cut, (_, writer) in zip(cuts, sockets, strict=True):
            writer.write(whole[:cut])
        assert {(await rig.post(_chat("sonar", QUESTION))).status for _ in range(10)} == {200}
        bodies = [reader for cut, (reader, _) in zip(cuts, sockets, strict=True) if b"\r\n\r\n" in whole[:cut]]
        async with asyncio.timeout(30):
            for told in await asyncio.gather(*(reader.read() for reader in bodies)):
                assert b" 408 " in told.split(b"\r\n")[0], "a body that stops coming is given up"
        for _, writer in sockets:
            writer.transport.abort()
        assert (await rig.post(_chat("sonar", QUESTION))).status == 200
