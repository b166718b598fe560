"""Questions, and the load generator that asks them."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from bench.processes import Program
from bench.setups import BUILD, LOAD_CORE, SIDES, Setup, Side

__all__ = ["CHUNKS", "SIDES", "Errors", "Measured", "Question", "Side", "Spread", "ask", "held", "request_body"]

Face = Literal["chat", "responses", "mcp"]
"""The gateway's interfaces that are measured. The others speak one."""

CHUNKS: dict[Side, int] = {"api": 200, "session": 100}


LONGEST_SECONDS = 300


class Spread(msgspec.Struct):
    p50: float
    p90: float
    p99: float
    max: float


class Measured(msgspec.Struct):
    """What the load generator counted. `marks` are text chunks, each once."""

    answered: int
    errors: int
    seconds: float
    marks: int
    marked_seconds: float
    latency_ms: Spread | None
    first_mark_ms: Spread | None
    transit_ms: Spread | None
    first_error: str


class Question(NamedTuple):
    """What to ask, in the words that bench/upstream.c understands."""

    side: Side
    stream: bool
    gap_ms: int = 0
    chunks: int | None = None
    hold: bool = False
    face: Face = "chat"

    @property
    def text(self) -> str:
        parts = [f"gap={self.gap_ms}" if self.gap_ms else "", f"chunks={self.chunks}" if self.chunks else ""]
        return " ".join(["How high is the tide today?", *filter(None, parts), *(["hold=1"] if self.hold else [])])

    @property
    def marks(self) -> int | None:
        """How many chunks the answer must bring; None = as many as the upstream likes."""
        return (self.chunks or CHUNKS[self.side]) if self.stream else None


class Errors(RuntimeError):
    """Answers that were not right: a figure from such a run is worth nothing."""


def ask(setup: Setup, question: Question, connections: int, *, seconds: float = 0, requests: int = 0) -> Measured:
    """Asks for a time, or a number of times. Raises Errors if one answer was wrong."""
    limit = ["--requests", str(requests)] if requests else ["--seconds", str(seconds)]
    with _body(setup, question) as body:
        command = [*_command(setup, question, body), "--connections", str(connections), *limit]
        if question.marks is not None:
            command += ["--marks", str(question.marks)]
        done = subprocess.run(_pinned(command), capture_output=True, check=True, timeout=LONGEST_SECONDS)
    measured = msgspec.json.decode(done.stdout, type=Measured)
    if measured.errors:
        raise Errors(f"{setup.name}, {question.text}: {measured.errors} of {measured.answered}: {measured.first_error}")
    return measured


@contextmanager
def held(setup: Setup, question: Question, connections: int, folder: Path) -> Iterator[Program]:
    """Callers that have asked and stay. `vanish` on what this yields makes them leave without a word."""
    when = "marks" if question.stream else "sent"
    with _body(setup, question) as body:
        command = [*_command(setup, question, body), "--connections", str(connections), "--hold", when]
        with Program(command, core=LOAD_CORE, log=folder / "held.log") as program:
            program.wait_until(lambda: "ready" in program.said(), seconds=120)
            yield program


def _pinned(command: list[str]) -> list[str]:
    return ["taskset", "-c", str(LOAD_CORE), *command] if LOAD_CORE is not None else command


def _command(setup: Setup, question: Question, body: Path) -> list[str]:
    way = _OWN[question.side] if setup.model is None else _FACES[question.face]
    command = [str(BUILD / "load"), "--port", str(setup.port), "--path", way.path, "--body", str(body)]
    for header in way.headers:
        command += ["--header", header]
    return [*command, "--expect", way.stream_ends if question.stream else way.whole_holds]


class Way(NamedTuple):
    """Where to ask, and what shows that an answer is right."""

    path: str
    stream_ends: str
    whole_holds: str
    headers: tuple[str, ...] = ()


_OWN: dict[Side, Way] = {
    "api": Way("/v1/agent", "response.completed", "completed"),
    "session": Way("/rest/sse/perplexity_ask", "end_of_stream", "end_of_stream"),
}
_REVISION = "2026-07-28"
_FACES: dict[Face, Way] = {
    "chat": Way("/v1/chat/completions", "[DONE]", "chat.completion"),
    "responses": Way("/v1/responses", "response.completed", "completed"),
    "mcp": Way(
        "/mcp",
        "@",
        "@",
        (
            "accept: application/json, text/event-stream",
            f"mcp-protocol-version: {_REVISION}",
            "mcp-method: tools/call",
            "mcp-name: perplexity_ask",
        ),
    ),
}


@contextmanager
def _body(setup: Setup, question: Question) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        body = own_body(question) if setup.model is None else request_body(question, setup.model[question.side])
        file.write(msgspec.json.encode(body))
        file.flush()
        yield Path(file.name)


def request_body(question: Question, model: str) -> dict[str, object]:
    """As the callers of a gateway ask it."""
    if question.face == "responses":
        return {"model": model, "input": question.text, "stream": question.stream}
    if question.face == "mcp":
        return _tool_call(question)
    messages = [{"role": "user", "content": question.text}]
    return {"model": model, "messages": messages, "stream": question.stream}


def _tool_call(question: Question) -> dict[str, object]:
    about = {
        "protocolVersion": _REVISION,
        "clientInfo": {"name": "bench", "version": "1"},
        "clientCapabilities": {},
    }
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    params = {"name": "perplexity_ask", "arguments": {"query": question.text}, "_meta": meta}
    return {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}


def own_body(question: Question) -> dict[str, object]:
    """What the gateway would send to the upstream."""
    if question.side == "api":
        return {"effort": "fast", "input": question.text, "stream": question.stream}
    return {"query_str": question.text, "params": {"model_preference": "pplx_pro", "mode": "concise"}}
