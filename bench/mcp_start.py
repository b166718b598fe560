"""`python -m bench.mcp_start`: what a stdio MCP server takes from its start to its first reply: time and memory.

The one-file server stands beside a server of MCP's own SDK with one tool, if the SDK is installed. They take turns, so
that a busy moment hits both; figures are medians. Exit status 1 if the one-file server misses its goals.
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

FILE = Path(__file__).resolve().parent.parent / "packages" / "pplx-agent-mcp" / "pplx_agent_mcp.py"
ONE_FILE = [sys.executable, "-I", "-S", str(FILE)]
GOAL_MS = 250.0
GOAL_MB = 30.0
ROUNDS = 11

INITIALIZE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},'
    b'"clientInfo":{"name":"bench","version":"1"}}}\n'
)
SDK_SERVER = """\
from mcp.server.mcpserver import MCPServer
server = MCPServer("bench")
@server.tool()
def ask(query: str) -> str:
    return query
server.run("stdio")
"""


class Start(NamedTuple):
    """Milliseconds from the spawn to the whole first reply, and the most memory that the process has had until then."""

    ms: float
    mb: float


def setups() -> dict[str, list[str]]:
    """The commands by their names in the report."""
    found = {
        "one file": ONE_FILE,
        "interpreter alone": [sys.executable, "-I", "-S", "-c"],
    }
    found["interpreter alone"].append("import sys; sys.stdin.readline(); print('{}', flush=True); sys.stdin.read()")
    if importlib.util.find_spec("mcp"):
        found["MCP SDK"] = [sys.executable, "-c", SDK_SERVER]
    return found


def start(command: Sequence[str]) -> Start:
    """One start. Linux only: the memory is the kernel's VmHWM."""
    began = time.perf_counter()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        if not process.stdin or not process.stdout:
            raise RuntimeError("no pipes")
        process.stdin.write(INITIALIZE)
        process.stdin.flush()
        reply = process.stdout.readline()
        ms = (time.perf_counter() - began) * 1000
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        process.stdin.close()
        if not reply:
            raise RuntimeError(f"{command[0]} ended without a reply")
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return Start(ms, int(peak) / 1024)


def measure(rounds: int) -> dict[str, Start]:
    """Medians by setup, after a first start of each that fills the caches."""
    commands = setups()
    for command in commands.values():
        start(command)
    starts = [{name: start(command) for name, command in commands.items()} for _ in range(rounds)]
    return {
        name: Start(median(each[name].ms for each in starts), median(each[name].mb for each in starts))
        for name in commands
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.mcp_start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    results = measure(parser.parse_args().rounds)
    print(f"| server | first reply, ms (goal {GOAL_MS:.0f}) | memory, MB (goal {GOAL_MB:.0f}) |\n| --- | --- | --- |")
    for name, figures in results.items():
        print(f"| {name} | {figures.ms:.0f} | {figures.mb:.1f} |")
    if "MCP SDK" not in results:
        print("The SDK is not installed here, so there is nothing to stand beside.", file=sys.stderr)
    own = results["one file"]
    return 0 if own.ms <= GOAL_MS and own.mb <= GOAL_MB else 1


if __name__ == "__main__":
    sys.exit(main())
