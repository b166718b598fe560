"""`python -m bench`: every setup, round by round, then what needs only one; writes a report.

Setups take turns within a round, so that a busy minute of the machine hits all of them; figures are medians of the
rounds.
"""

import argparse
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

from bench import report, setups, workloads
from bench.loads import SIDES
from bench.processes import NotStarted, raise_file_limit
from bench.setups import BUILD, Setup, Upstream
from bench.workloads import FULL, LEAVING, QUICK, Figures, Pace

BY_ROUND = (workloads.requests, workloads.blast, workloads.paced)


def main() -> int:
    options = _parser().parse_args()
    pace = QUICK if options.quick else FULL
    raise_file_limit()
    with tempfile.TemporaryDirectory(prefix="pplx-bench-") as folder:
        try:
            results = measure(Path(folder), options.setups, pace, 1 if options.quick else options.rounds)
        except NotStarted as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    options.output.mkdir(parents=True, exist_ok=True)
    text = report.markdown(results)
    (options.output / "report.md").write_text(text, encoding="utf-8")
    (options.output / "report.json").write_bytes(report.json(results))
    print(text)
    tell(f"written to {options.output}/report.md and report.json")
    return 0


def measure(folder: Path, names: Sequence[str], pace: Pace, rounds: int) -> dict[str, Figures]:
    with setups.upstream(folder) as up, ExitStack() as stack:
        running = [stack.enter_context(_open(name, folder, up)) for name in names]
        results = _rounds(running, pace, rounds)
        for setup in running:
            if setup.name != "direct":
                tell(f"{setup.name}: callers that vanish")
                results[setup.name] |= _leaving(setup, up, "plain")
        for name in names:
            if name != "direct":
                results[name] |= _memory(name, folder, up)
        if "gateway" in names:
            results["gateway"] |= _only_gateway(folder, up, pace)
    return results


def _rounds(running: Sequence[Setup], pace: Pace, rounds: int) -> dict[str, Figures]:
    seen: dict[str, dict[str, list[float]]] = {setup.name: defaultdict(list) for setup in running}
    for number in range(1, rounds + 1):
        for workload in BY_ROUND:
            for setup in running:
                tell(f"round {number} of {rounds}: {setup.name}: {workload.__name__}")
                for name, value in workload(setup, pace):
                    seen[setup.name][name].append(value)
    return {setup: {name: median(values) for name, values in figures.items()} for setup, figures in seen.items()}


def _memory(name: str, folder: Path, up: Upstream) -> Figures:
    """In a fresh process for each side: what one workload has freed, the next would use again."""
    figures: Figures = {}
    for side in SIDES:
        tell(f"{name}: memory, {side}")
        home = folder / f"memory-{side}-{name}"
        home.mkdir()
        with _open(name, home, up) as setup:
            figures |= dict(workloads.memory(setup, side))
    return figures


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
    return figures | workloads.start(folder, f"http://127.0.0.1:{up.port}", pace)


@contextmanager
def _open(name: str, folder: Path, up: Upstream) -> Iterator[Setup]:
    if name == "direct":
        yield Setup(name, up.program, up.port, 0)
    elif name == "nginx":
        with setups.nginx(folder, up.port) as setup:
            yield setup
    else:
        with setups.gateway(folder, f"http://127.0.0.1:{up.port}") as setup:
            yield setup


def tell(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one short round: a look, not a measurement")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of which the median counts (3)")
    parser.add_argument("--output", type=Path, default=BUILD / "report", help="folder of the report")
    parser.add_argument(
        "--setups", nargs="+", choices=("direct", "nginx", "gateway"), default=["direct", "nginx", "gateway"]
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
