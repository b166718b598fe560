"""Questions, and the load generator that asks them."""

import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from bench.processes import Program
from bench.setups import BUILD, LOAD_CORE, Setup

Side = Literal["api", "session"]
SIDES: tuple[Side, ...] = ("api", "session")
CHUNKS: dict[Side, int] = {"api": 200, "session": 100}


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
        done = subprocess.run(_pinned(command), capture_output=True, check=True, timeout=300)
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
    path, expected = _PATHS["gateway" if _translates(setup) else question.side]
    if not question.stream:
        expected = "completed" if expected == "response.completed" else "chat.completion"
    return [
        *(str(BUILD / "load"), "--port", str(setup.port), "--path", path),
        *("--body", str(body), "--expect", expected),
    ]


def _translates(setup: Setup) -> bool:
    return setup.name not in ("direct", "nginx")


_PATHS = {
    "gateway": ("/v1/chat/completions", "[DONE]"),
    "api": ("/v1/agent", "response.completed"),
    "session": ("/rest/sse/perplexity_ask", "end_of_stream"),
}
_MODELS: dict[Side, str] = {"api": "api/fast", "session": "session/auto"}


@contextmanager
def _body(setup: Setup, question: Question) -> Iterator[Path]:
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(msgspec.json.encode(request_body(question, translated=_translates(setup))))
        file.flush()
        yield Path(file.name)


def request_body(question: Question, *, translated: bool) -> dict[str, object]:
    """Chat completions for the gateway; for the others what the gateway would send to the upstream."""
    if translated:
        messages = [{"role": "user", "content": question.text}]
        return {"model": _MODELS[question.side], "messages": messages, "stream": question.stream}
    if question.side == "api":
        return {"effort": "fast", "input": question.text, "stream": question.stream}
    return {"query_str": question.text, "params": {"model_preference": "pplx_pro", "mode": "concise"}}
