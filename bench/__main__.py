"""`python -m bench`: every setup, round by round, then what is measured once; writes docs/benchmarks.md.

Setups take turns within a round, so that a busy minute of the machine hits all of them; figures are medians of the
rounds, with the lowest and the highest beside them.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from statistics import median

from bench import mcp_start, page, peers, setups, workloads
from bench.goals import GATEWAY, LITELLM, TWO_WORKERS, USUAL
from bench.loads import Errors
from bench.processes import NotStarted, raise_file_limit
from bench.setups import ROOT, Setup, Upstream
from bench.workloads import FULL, LEAVING, QUICK, Figures, Pace

Seen = dict[str, dict[str, list[float]]]  # setup -> figure -> value by round
Workload = Callable[[Setup, Pace], Iterator[tuple[str, float]]]

_STARTED = time.monotonic()
_STREAMS: tuple[Workload, ...] = (workloads.blast, workloads.paced)
_ALL: tuple[Workload, ...] = (workloads.requests, *_STREAMS, workloads.crowd)
BY_ROUND: dict[str, tuple[Workload, ...]] = {
    "direct": _ALL,
    "nginx": _ALL,
    GATEWAY: (*_ALL, workloads.responses, workloads.tool_calls),
    TWO_WORKERS: (workloads.requests, workloads.blast),
    LITELLM: (workloads.requests, *_STREAMS),
    USUAL: (*_STREAMS, workloads.crowd),
}


def main() -> int:
    options = _parser().parse_args()
    pace = QUICK if options.quick else FULL
    names = [name for name in options.setups if name not in (LITELLM, USUAL) or peers.installed()]
    if missing := [name for name in options.setups if name not in names]:
        tell(f"without {' and '.join(missing)}: scripts/bench-peers installs them")
    raise_file_limit()
    before = page.machine()
    seen: Seen = {name: defaultdict(list) for name in names}
    broken = False
    with tempfile.TemporaryDirectory(prefix="pplx-bench-") as folder:
        try:
            measure(seen, Path(folder), pace, 1 if options.quick else options.rounds)
        except (NotStarted, Errors) as error:  # what was measured before is written all the same
            print(f"bench: {error}", file=sys.stderr)
            broken = True
    page.write(options.output, seen, before, quick=options.quick, plots=peers.installed())
    tell(f"written to {options.output}")
    return _draw(options.output) or int(broken)


def measure(seen: Seen, folder: Path, pace: Pace, rounds: int) -> None:
    """Fills `seen`, whose setups are measured."""
    with setups.upstream(folder) as up, ExitStack() as stack:
        running = [stack.enter_context(_open(name, folder, up)) for name in seen]
        for setup in running:
            _note(seen, setup.name, {"start: first 200 ms": setup.start_ms} if setup.start_ms else {})
        for number in range(1, rounds + 1):
            _round(running, seen, pace._replace(patient=pace.patient and number == 1), f"round {number} of {rounds}")
        for setup in running:
            if setup.name in ("nginx", GATEWAY):
                tell(f"{setup.name}: callers that vanish")
                _note(seen, setup.name, _leaving(setup, up, "plain"))
    with setups.upstream(folder) as up:
        for name in seen:
            if name not in ("direct", TWO_WORKERS) and (name != LITELLM or pace.patient):
                _note(seen, name, _memory(name, folder, up, pace))
        if GATEWAY in seen:
            seen[GATEWAY].pop("start: first 200 ms", None)
            _note(seen, GATEWAY, _only_gateway(folder, up, pace))


def _round(running: Sequence[Setup], seen: Seen, pace: Pace, title: str) -> None:
    for workload in dict.fromkeys(each for workloads_ in BY_ROUND.values() for each in workloads_):
        for setup in running:
            if workload in BY_ROUND[setup.name]:
                tell(f"{title}: {setup.name}: {workload.__name__}")
                _note(seen, setup.name, _measured(workload, setup, pace))


def _measured(workload: Workload, setup: Setup, pace: Pace) -> Figures:
    """As far as it gets: a busy machine does not let all be measured. A wrong answer is an error, but for peers."""
    figures: Figures = {}
    try:
        for name, value in workload(setup, pace):
            figures[name] = value
    except (Errors, NotStarted, subprocess.TimeoutExpired) as error:
        if isinstance(error, Errors) and setup.name not in (LITELLM, USUAL):
            raise
        tell(f"{setup.name}: the rest of this was given up: {error}")
    return figures


def _note(seen: Seen, name: str, figures: Figures) -> None:
    for figure, value in figures.items():
        seen[name][figure].append(value)


def _memory(name: str, folder: Path, up: Upstream, pace: Pace) -> Figures:
    """In a fresh process for each side: what one workload has freed, the next would use again."""
    figures: Figures = {}
    for side in _SIDES_OF.get(name, setups.SIDES):
        tell(f"{name}: memory, {side}")
        home = folder / f"memory-{side}-{name.replace(' ', '-')}"
        home.mkdir()
        with _open(name, home, up) as setup:
            figures |= _measured(partial(workloads.memory, side=side), setup, pace)
    return figures


_SIDES_OF: dict[str, tuple[setups.Side, ...]] = {LITELLM: ("api",), USUAL: ("session",)}


def _leaving(setup: Setup, up: Upstream, wire: str) -> Figures:
    figures: Figures = {}
    for name, question in LEAVING.items():
        if setup.name == "nginx" and question == LEAVING["session, not streamed"]:
            continue  # the session always streams
        left = workloads.leave(setup, up, question)
        figures[f"leave, {wire}, {name}: left open"] = left.open
        figures[f"leave, {wire}, {name}: ms"] = left.ms
    return figures


def _only_gateway(folder: Path, up: Upstream, pace: Pace) -> Figures:
    figures: Figures = {}
    with setups.nginx(folder, up.port, tls=True) as edge:
        url = f"https://localhost:{edge.port}"
        with setups.gateway(folder, url, name="gateway-tls", ca=folder / "ca.pem") as setup:
            tell("gateway: leaving, over TLS")
            figures |= _leaving(setup, up, "TLS")
    tell("gateway: start")
    figures |= workloads.start(folder, f"http://127.0.0.1:{up.port}", pace)
    stdio = [mcp_start.start(mcp_start.ONE_FILE).ms for _ in range(pace.starts + 1)][1:]
    return figures | {"start: stdio MCP ms": median(stdio)}


@contextmanager
def _open(name: str, folder: Path, up: Upstream) -> Iterator[Setup]:
    url = f"http://127.0.0.1:{up.port}"
    opened: dict[str, Callable[[], AbstractContextManager[Setup]]] = {
        "nginx": lambda: setups.nginx(folder, up.port),
        GATEWAY: lambda: setups.gateway(folder, url),
        TWO_WORKERS: lambda: setups.gateway(folder, url, name=TWO_WORKERS, workers=2),
        LITELLM: lambda: peers.litellm(folder, url),
        USUAL: lambda: peers.usual_proxy(folder, url),
    }
    if name == "direct":
        yield Setup(name, up.program, up.port, 0)
        return
    with opened[name]() as setup:
        yield setup


def _draw(folder: Path) -> int:
    """The plots, by the interpreter that has what draws them."""
    if not peers.installed():
        tell("no plots: scripts/bench-peers installs what draws them")
        return 0
    command = [str(peers.BIN / "python"), "-m", "bench.plots", str(folder / page.FIGURES), str(folder / page.PLOTS)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def tell(text: str) -> None:
    print(f"bench: {time.monotonic() - _STARTED:4.0f} s: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the median counts (3)")
    parser.add_argument("--output", type=Path, default=ROOT / "docs", help="folder of the page and its plots (docs)")
    parser.add_argument("--setups", nargs="+", choices=tuple(BY_ROUND), default=list(BY_ROUND))
    return parser


if __name__ == "__main__":
    sys.exit(main())
