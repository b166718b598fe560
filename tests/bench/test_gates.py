"""What the gateway promises about its costs, as far as a busy machine cannot shake it. The figures are bench's."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench import setups, workloads
from bench.loads import SIDES, Question, Side, ask, request_body
from bench.processes import Program, raise_file_limit
from bench.setups import BUILD, MODELS, Setup, Upstream
from bench.workloads import LEAVING, Cpu

# Guards against growth, with room for a loaded machine; the goals stand in bench/goals.py. Measured on two quiet
# cores: 57 KB (api) and 76 KB (session) a stream, 21 times the bare server's CPU.
MOST_KB_PER_STREAM: dict[Side, int] = {"api": 70, "session": 100}
MOST_TIMES_YARDSTICK = 32
MOST_SECONDS_TO_CLOSE = 5
FORBIDDEN = ("pydantic", "mcp", "openai", "httpx", "httpx2", "cyclopts", "rich", "jsonschema_rs")


def need(what: str, there: bool) -> None:
    if not there and os.environ.get("CI"):
        pytest.fail(f"{what} is missing, and CI must have it")
    if not there:
        pytest.skip(f"{what} is missing: scripts/bench-tools provides it")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    raise_file_limit()
    return tmp_path_factory.mktemp("bench")


@pytest.fixture(scope="module")
def upstream(folder: Path) -> Iterator[Upstream]:
    need("the compiled fake upstream", (BUILD / "upstream").exists() and (BUILD / "load").exists())
    with setups.upstream(folder) as up:
        yield up


@pytest.fixture(scope="module")
def plain(folder: Path, upstream: Upstream) -> Iterator[Setup]:
    with setups.gateway(folder, f"http://127.0.0.1:{upstream.port}") as setup:
        yield setup


@pytest.fixture(scope="module")
def tls(folder: Path, upstream: Upstream) -> Iterator[Setup]:
    """The gateway behind which nginx speaks HTTP/2 over TLS, as the real upstreams' edges do."""
    need("nginx", setups.nginx_path() is not None)
    with (
        setups.nginx(folder, upstream.port, tls=True) as edge,
        setups.gateway(folder, f"https://localhost:{edge.port}", name="gateway-tls", ca=folder / "ca.pem") as setup,
    ):
        yield setup


@pytest.mark.parametrize("wire", ["plain", "tls"])
@pytest.mark.parametrize("asked", LEAVING)
def test_the_upstream_is_closed_after_fifty_callers_vanish(
    wire: str, asked: str, upstream: Upstream, request: pytest.FixtureRequest
) -> None:
    setup: Setup = request.getfixturevalue(wire)
    left = workloads.leave(setup, upstream, LEAVING[asked], patience_seconds=MOST_SECONDS_TO_CLOSE)
    assert left.open == 0, setup.program.said()


@pytest.mark.parametrize("side", SIDES)
def test_an_open_stream_holds_little_memory(side: Side, tmp_path: Path, upstream: Upstream) -> None:
    with setups.gateway(tmp_path, f"http://127.0.0.1:{upstream.port}") as setup:
        ask(setup, Question(side, stream=True), 4, requests=8)  # what is loaded at first use is no stream's own
        idle = setup.program.pss_kb()
        busy = workloads.pss_while_open(setup, Question(side, stream=True, gap_ms=200, chunks=100_000), 200)
    assert (busy - idle) / 200 <= MOST_KB_PER_STREAM[side]


def test_a_request_costs_few_times_what_the_bare_server_costs(tmp_path: Path, upstream: Upstream, plain: Setup) -> None:
    question = Question("api", stream=False, chunks=8)
    with setups.yardstick(tmp_path) as bare:
        costs = [_cpu_per_request(setup, question) for _ in range(2) for setup in (bare, plain)]
    assert min(costs[1::2]) <= MOST_TIMES_YARDSTICK * min(costs[0::2])


def test_starting_and_answering_imports_nothing_heavy(tmp_path: Path, upstream: Upstream) -> None:
    port = setups.free_port()
    url = f"http://127.0.0.1:{upstream.port}"
    env = setups.clean_environment() | {
        "PERPLEXITY_API_KEY": "pplx-bench",
        "PPLX_COOKIE": "bench-session-cookie",
        "PPLX_API_URL": url,
        "PPLX_SESSION_URL": url,
        "PPLX_DATA_DIR": str(tmp_path / "data"),
    }
    command = [sys.executable, "-X", "importtime", "-m", "uvicorn", "pplx_gateway.asgi:app", "--port", str(port)]
    with Program(command, log=tmp_path / "imports.log", env=env, cwd=tmp_path) as program:
        program.wait_until(lambda: setups.answers_200(port, "/health"))
        for side in SIDES:
            setups.post(port, "/v1/chat/completions", request_body(Question(side, stream=False), MODELS[side]))
    imported = {line.rpartition("|")[2].strip() for line in program.said().splitlines() if "import time:" in line}
    assert "pplx_gateway.web.app" in imported  # the list is one of real imports
    assert imported.isdisjoint(FORBIDDEN)


def test_the_fake_upstream_counts_callers_that_leave(upstream: Upstream, folder: Path) -> None:
    direct = Setup("direct", upstream.program, upstream.port, 0)
    before = upstream.stats()
    left = workloads.leave(direct, upstream, LEAVING["api stream, silent"], callers=5)
    after = upstream.stats()
    assert left.open == 0
    assert (after.questions - before.questions, after.abandoned - before.abandoned) == (5, 5)


def test_the_load_generator_reports_a_wrong_answer(upstream: Upstream, tmp_path: Path) -> None:
    body = tmp_path / "body.json"
    body.write_text('{"stream": true, "input": "chunks=3"}', encoding="utf-8")
    command: list[str | Path] = [
        BUILD / "load",
        "--port",
        str(upstream.port),
        "--path",
        "/v1/agent",
        "--body",
        body,
        "--requests",
        "1",
    ]
    right = subprocess.run([*command, "--marks", "3"], capture_output=True, text=True, check=True)
    wrong = subprocess.run([*command, "--marks", "4"], capture_output=True, text=True, check=True)
    assert '"errors":0' in right.stdout
    assert '"errors":1' in wrong.stdout


def _cpu_per_request(setup: Setup, question: Question) -> float:
    ask(setup, question, 8, seconds=0.3)
    cpu = Cpu(setup)
    measured = ask(setup, question, 32, seconds=2)
    return cpu.microseconds() / measured.answered
