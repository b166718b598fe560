"""`python -m bench.soak`: ten minutes of mixed load at four fifths of a core. The memory must be a flat line.

Callers ask over every protocol and both upstreams, plain, streamed, stored and in the background; some leave early. How
many ask at once follows the gateway's CPU. `--quick` takes thirty seconds and proves less: what a minute's first caches
take is not told from a leak.
"""

import argparse
import asyncio
import contextlib
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import httpx2

from bench import setups
from bench.processes import NotStarted, Program
from bench.setups import LOAD_CORE, Setup

BUSY = 0.8
"""Of one core."""
MOST_CALLERS = 64
QUESTION = "Which two rivers meet in Ghent?"
ALLOWED_GROWTH = 0.05
ALLOWED_KB = 4 << 10
LEAVING = 0.1

Json = dict[str, Any]


class Ask(NamedTuple):
    path: str
    body: Json


class Sample(NamedTuple):
    seconds: float
    rss_kb: int
    busy: float
    callers: int


def main() -> int:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="pplx-soak-") as folder:
        try:
            return asyncio.run(soak(Path(folder), 30.0 if options.quick else options.seconds))
        except NotStarted as error:
            print(f"soak: {error}", file=sys.stderr)
            return 1


async def soak(folder: Path, seconds: float) -> int:
    """0 if every answer came whole and memory stayed flat, 2 if not."""
    with emulator(folder) as upstream_url, setups.gateway(folder, upstream_url) as running:
        load = Load(f"http://127.0.0.1:{running.port}")
        samples = await load.run(running, seconds)
    for sample in samples:
        print(f"{sample.seconds:7.1f} s {sample.rss_kb:8d} kB {sample.busy:5.0%} {sample.callers:3d} callers")
    print(", ".join(f"{name}: {count}" for name, count in sorted(load.outcomes.items())))
    early, late = growth(samples)
    flat = late <= early * (1 + ALLOWED_GROWTH) + ALLOWED_KB
    print(
        f"resident memory: {early:.0f} kB after the start, {late:.0f} kB at the end: {'flat' if flat else 'it grows'}"
    )
    return 0 if flat and not load.failed else 2


def growth(samples: list[Sample]) -> tuple[float, float]:
    """The medians of the second and of the last quarter, in kB."""
    quarter = max(1, len(samples) // 4)
    return median(s.rss_kb for s in samples[quarter : 2 * quarter]), median(s.rss_kb for s in samples[-quarter:])


@contextlib.contextmanager
def emulator(folder: Path) -> Iterator[str]:
    command: list[str | Path] = [Path(sys.executable).parent / "pplx-gateway", "emulator", "--port", "0"]
    with Program(command, core=LOAD_CORE, log=folder / "emulator.log", env=setups.clean_environment()) as program:
        program.wait_until(lambda: "listening on" in program.said())
        yield program.said().partition("listening on ")[2].split()[0]


class Load:
    """As many callers at once as keep the gateway busy."""

    def __init__(self, url: str) -> None:
        self.outcomes: Counter[str] = Counter()
        self._client = httpx2.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=httpx2.Limits())
        self._dice = random.Random(1)
        self._callers = 8

    @property
    def failed(self) -> bool:
        return any(name not in ("answered", "left") for name in self.outcomes)

    async def run(self, running: Setup, seconds: float) -> list[Sample]:
        loop = asyncio.get_running_loop()
        began, samples = loop.time(), list[Sample]()
        asking: set[asyncio.Task[None]] = set()
        before, cpu = began, running.program.cpu_seconds()
        while (now := loop.time()) - began < seconds:
            while len(asking) < self._callers:
                asking.add(asyncio.create_task(self._ask()))
            _, asking = await asyncio.wait(asking, timeout=1, return_when=asyncio.FIRST_COMPLETED)
            if now - before >= 1:
                used = running.program.cpu_seconds()
                busy = (used - cpu) / (now - before)
                before, cpu = now, used
                samples.append(Sample(now - began, running.program.rss_kb(), busy, self._callers))
                self._callers = min(
                    MOST_CALLERS, max(1, self._callers + (1 + self._callers // 4 if busy < BUSY else -1))
                )
        await asyncio.wait(asking, timeout=120)
        await self._client.aclose()
        return samples

    async def _ask(self) -> None:
        ask = self._dice.choice(ASKS)
        patience = self._dice.uniform(0, 0.3) if self._dice.random() < LEAVING else 120.0
        try:
            async with asyncio.timeout(patience):
                reply = await self._client.post(ask.path, json=ask.body)
        except TimeoutError:
            self.outcomes["left" if patience < 1 else f"silence {ask.path}"] += 1
        except httpx2.HTTPError as error:
            self.outcomes[f"{type(error).__name__} {ask.path}"] += 1
        else:
            whole = reply.status_code == 200 and '"error":{' not in reply.text and "event: error" not in reply.text
            self.outcomes["answered" if whole else f"HTTP {reply.status_code} {ask.path}"] += 1


def _asks() -> Iterator[Ask]:
    for model in ("api/sonar", "session/auto"):
        messages: Json = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
        item: Json = {"model": model, "input": QUESTION}
        for stream in (False, True):
            yield Ask("/v1/chat/completions", {**messages, "stream": stream})
            yield Ask("/v1/messages", {**messages, "stream": stream, "max_tokens": 64})
            yield Ask("/v1/responses", {**item, "stream": stream, "store": False})
            yield Ask("/v1/responses", {**item, "stream": stream})
        yield Ask("/v1/responses", {**item, "background": True})
    for stream in (False, True):
        yield Ask("/v1/sonar", {"model": "sonar", "messages": messages["messages"], "stream": stream})
        yield Ask("/v1/agent", {"model": "perplexity/sonar", "input": QUESTION, "stream": stream})


ASKS = tuple(_asks())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=600.0, help="how long (600)")
    parser.add_argument("--quick", action="store_true", help="thirty seconds")
    return parser


if __name__ == "__main__":
    sys.exit(main())
