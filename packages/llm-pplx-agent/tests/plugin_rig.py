"""The real `llm` command with a folder of its own, led to the emulator as it would reach Perplexity.

Each run is a process of its own; most are forked from one that has imported `llm` (warm_llm.py).
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import httpx2
import msgspec
import warm_llm

KEY = "pplx-SECRET-KEY"
AGENT = "/v1/agent"
SSE_HEADERS = {"content-type": "text/event-stream"}
SECONDS = 60.0

Json = dict[str, Any]

PAGES: list[Json] = [
    {"id": 2, "url": "https://a.example/leie", "title": "Leie", "snippet": "A river.", "source": "web"},
    {"id": 4, "url": "https://b.example/scheldt", "title": "Scheldt", "snippet": "Another.", "source": "web"},
]
ANSWER = "The Leie[2] meets the Scheldt[4]."
SOURCES = "\n\nSources:\n[2] Leie — https://a.example/leie\n[4] Scheldt — https://b.example/scheldt"
COST = {"currency": "USD", "input_cost": 0.00002, "output_cost": 0.00001, "total_cost": 0.00503}
USAGE = {"input_tokens": 20, "output_tokens": 9, "total_tokens": 29, "cost": COST}


def response(status: str = "completed", *, text: str = ANSWER, **more: object) -> Json:
    """A run as it is read, `text` being its answer."""
    message: Json = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    found: Json = {"type": "search_results", "queries": ["rivers of Ghent"], "results": PAGES}
    output = [found, *([message] if text else [])]
    whole: Json = {
        "id": "resp_t1",
        "object": "response",
        "status": status,
        "model": "perplexity/sonar",
        "output": output,
    }
    return {**whole, "usage": USAGE, **more}


def events(*deltas: str, last: Json | None = None) -> list[Json]:
    """The events of a run; without `deltas` those of ANSWER. `last` is the terminal one."""
    pieces = deltas or ("The Leie[2] meets ", "the Scheldt[4].")
    text = "".join(pieces)
    begun: Json = {"id": "resp_t1", "object": "response", "status": "in_progress", "output": []}
    plain: list[Json] = [
        {"type": "response.created", "response": begun},
        {"type": "response.reasoning.started", "thought": "Look at the map"},
        {"type": "response.reasoning.search_queries", "queries": ["rivers of Ghent"]},
        {"type": "response.reasoning.search_results", "results": PAGES},
        {"type": "response.reasoning.stopped"},
        *({"type": "response.output_text.delta", "delta": piece} for piece in pieces),
        {"type": "response.output_text.done", "text": text},
        {"type": "response.output_item.done", "item": response(text=text)["output"][1]},
        last or {"type": "response.completed", "response": response(text=text)},
    ]
    return [{**event, "sequence_number": number} for number, event in enumerate(plain)]


def sse(*told: Json, end: str = "\n") -> str:
    return "".join(f"data: {json.dumps(event)}{end}{end}" for event in told)


class Done(msgspec.Struct):
    """How a command ended."""

    code: int
    out: str
    err: str


class Rig:
    def __init__(self, emulator: str, way: Mapping[str, str], folder: Path, warm: str) -> None:
        """`warm` is where warm_llm.py listens."""
        self.warm = warm
        self.emulator = emulator
        self.environment = {**way, "LLM_USER_PATH": str(folder / "llm")}
        self.folder = folder
        self._client = httpx2.AsyncClient(timeout=SECONDS, trust_env=False)

    async def close(self) -> None:
        await self._client.aclose()

    # the command

    async def llm(self, *arguments: str, key: str | None = KEY, stdin: str = "", **variables: str) -> Done:
        with ExitStack() as opened:
            streams = [opened.enter_context(TemporaryFile()) for _ in range(3)]
            streams[0].write(stdin.encode())
            streams[0].seek(0)
            numbers = [stream.fileno() for stream in streams]
            environment = self._environment(key, variables)
            run = asyncio.to_thread(warm_llm.run, self.warm, arguments, str(self.folder), environment, numbers)
            status = await asyncio.wait_for(run, SECONDS)
            for stream in streams:
                stream.seek(0)
            return _checked(status, streams[1].read(), streams[2].read())

    async def fresh_llm(self, *arguments: str, key: str | None = KEY, **variables: str) -> Done:
        """The same by a process that has everything still to import."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "llm", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=self.folder,
            env=self._environment(key, variables),
        )
        out, err = await asyncio.wait_for(process.communicate(), SECONDS)
        return _checked(process.returncode or 0, out, err)

    def _environment(self, key: str | None, variables: Mapping[str, str]) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        given = {"PERPLEXITY_API_KEY": key} if key is not None else {}
        return {**kept, **self.environment, **given, **variables}

    async def ask(self, *arguments: str, **variables: str) -> Done:
        """`llm -m pplx-agent ...`, which has to succeed."""
        done = await self.llm("-m", "pplx-agent", *arguments, **variables)
        assert done.code == 0, done.err
        return done

    async def refused(self, *arguments: str, **variables: str) -> str:
        """What `llm -m pplx-agent ...` says of its failure; nothing is logged of it."""
        done = await self.llm("-m", "pplx-agent", *arguments, **variables)
        assert done.code == 1, done
        return done.err

    async def log(self) -> list[Json]:
        """The answers that llm has kept, oldest first."""
        done = await self.llm("logs", "list", "-n", "0", "--json")
        found: list[Json] = json.loads(done.out)
        return found

    # the emulator

    async def script(self, *answers: Sequence[Json] | Json | str, path: str = AGENT, method: str = "POST") -> None:
        """Answers to come: a list of events or a text is a stream that ends cleanly, an object a JSON reply, unless it
        has `steps`: then it is the emulator's own form."""
        forms = [_form(answer) for answer in answers]
        body = {"path": path, "method": method, "answers": forms}
        reply = await self._client.post(f"{self.emulator}/_emulator/script", json=body)
        assert reply.status_code == 200, reply.text

    async def requests(self, method: str | None = None, path: str = f"{AGENT}*") -> list[Json]:
        reply = await self._client.get(f"{self.emulator}/_emulator/requests", params={"path": path})
        return [seen for seen in reply.json()["requests"] if method in (None, seen["method"])]

    async def bodies(self) -> list[Json]:
        """Of the runs that were asked for, oldest first."""
        return [seen["json"] for seen in await self.requests("POST", AGENT)]

    async def wait(self, path: str, **more: str) -> None:
        """Until a request for `path` came."""
        params = {"path": path, "count": "1", "timeout": "30", **more}
        reply = await self._client.get(f"{self.emulator}/_emulator/wait", params=params)
        assert reply.status_code == 200, reply.text


def _checked(status: int, out: bytes, err: bytes) -> Done:
    done = Done(status, out.decode(), err.decode())
    assert "Traceback" not in done.err, done.err
    assert KEY not in done.out + done.err
    return done


def _form(answer: Sequence[Json] | Json | str) -> Json:
    if isinstance(answer, dict) and "steps" in answer:
        return answer
    if isinstance(answer, dict):
        return {"headers": {"content-type": "application/json"}, "steps": [{"bytes": json.dumps(answer)}]}
    text = answer if isinstance(answer, str) else sse(*answer)
    return {"headers": SSE_HEADERS, "steps": [{"bytes": text}]}
