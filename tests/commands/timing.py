"""How quick the command line is: `--help`, and the first output of `ask` after the first token.

`python -m tests.commands.timing` prints it and ends with 1 where a goal is missed. It takes a quiet machine, so no test
holds the times.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path
from statistics import median
from time import perf_counter

from tests.commands.shell import HELD, Variables, agent_frames, at, own, started, terminal
from tests.rig import AGENT, Rig, running

MOST_FOR_HELP = 150
MOST_FOR_OUTPUT = 400
ROUNDS = 9
HELD_SECONDS = 1.0
ASK = ("ask", "-m", "api/sonar", "x")


async def help_milliseconds(folder: Path, *command: str) -> float:
    """From the start of the process to its end."""
    began = perf_counter()
    process = await started(*command, "--help", folder=folder)
    await process.communicate()
    return (perf_counter() - began) * 1000


async def output_milliseconds(folder: Path, *, alone: bool) -> float:
    """From the first token's departure upstream to its letters on stdout, between pipes."""
    async with _held(folder) as rig:
        variables: Variables = own(rig.emulator_url) if alone else at(rig)
        process = await started(*ASK, folder=folder, **variables)
        await rig.wait(AGENT, seconds=30)
        due = perf_counter() + HELD_SECONDS
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.read(1), 30)
        taken = perf_counter() - due
        process.kill()
        await process.communicate()
    return taken * 1000


async def shown_milliseconds(folder: Path) -> float:
    """The same on a terminal."""
    async with _held(folder) as rig, terminal(*ASK, folder=folder, **at(rig)) as screen:
        await rig.wait(AGENT, seconds=30)
        due = perf_counter() + HELD_SECONDS
        await screen.see("Half")
        return (perf_counter() - due) * 1000


@contextlib.asynccontextmanager
async def _held(folder: Path) -> AsyncGenerator[Rig, None]:
    """An upstream that says its first words a while after it was asked, and then nothing."""
    begun, words = agent_frames("Half")
    async with running(folder) as rig:
        await rig.script(AGENT, [begun, {"sleep": HELD_SECONDS}, words, HELD])
        yield rig


def _told(what: str, taken: list[float], most: float) -> bool:
    held = median(taken) < most
    print(
        f"{'ok  ' if held else 'MISS'} {what}: {median(taken):.0f} ms (worst {max(taken):.0f}), goal {most} ms",
        flush=True,
    )
    return held


async def _main(rounds: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        helped = [await help_milliseconds(place) for _ in range(rounds)]
        of_ask = [await help_milliseconds(place, "ask") for _ in range(rounds)]
        there = [await output_milliseconds(place / str(number), alone=False) for number in range(rounds)]
        alone = [await output_milliseconds(place / f"own{number}", alone=True) for number in range(rounds)]
        shown = [await shown_milliseconds(place / f"shown{number}") for number in range(rounds)]
    rows = [
        ("pplx-gateway --help", helped, MOST_FOR_HELP),
        ("pplx-gateway ask --help", of_ask, MOST_FOR_HELP),
        ("first output of ask, before a running gateway", there, MOST_FOR_OUTPUT),
        ("first output of ask, by itself", alone, MOST_FOR_OUTPUT),
        ("first output of ask, on a terminal", shown, MOST_FOR_OUTPUT),
    ]
    held = [_told(*row) for row in rows]
    return all(held)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    sys.exit(0 if asyncio.run(_main(parser.parse_args().rounds)) else 1)
