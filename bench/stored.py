"""`python -m bench.stored`: what reading a response, and the conversation before it, costs among many that are kept.

The store is filled by the gateway's own code, while a gateway runs on it; then it is read as the gateway reads it, and
over HTTP. The goal is a median of 5 ms among ten thousand.
"""

import argparse
import asyncio
import http.client
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

from bench import setups
from bench.processes import NotStarted
from pplx_gateway.clock import Clock
from pplx_gateway.opening.gateway import STORE_FILE
from pplx_gateway.store import Database, Responses
from pplx_gateway.store.records import Ending, NewResponse
from pplx_gateway.web.authentication import OWNER

GOAL_MS = 5.0
TURNS = 10  # responses in a conversation
ANSWER = b"x" * 2000
READS = 500


def main() -> int:
    options = _parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="pplx-bench-") as folder:
        try:
            figures = asyncio.run(measure(Path(folder), options.count))
        except NotStarted as error:
            print(f"bench: {error}", file=sys.stderr)
            return 1
    for name, times in figures.items():
        print(f"{name}: median {median(times):.2f} ms, p99 {quantiles(times, n=100)[98]:.2f} ms")
    return 0 if all(median(times) < GOAL_MS for times in figures.values()) else 2


async def measure(folder: Path, count: int) -> dict[str, Sequence[float]]:
    """Milliseconds by what was done."""
    with setups.gateway(folder, "http://127.0.0.1:9") as running:  # nothing is asked upstream
        database = await Database.open(folder / running.name / "data" / STORE_FILE)
        responses = Responses.of(database, Clock(), days=30, most_bytes=1 << 40, lease_seconds=10)
        ids = await fill(responses, count)
        chosen = random.choices(ids, k=READS)
        tails = random.choices(ids[TURNS - 1 :: TURNS], k=READS)
        figures: dict[str, Sequence[float]] = {
            "find": [await _timed(partial(responses.find, OWNER, one)) for one in chosen],
            f"chain of {TURNS}": [
                await _timed(partial(responses.chain, OWNER, one, most_bytes=1 << 30)) for one in tails
            ],
            "retrieve over HTTP": await asyncio.to_thread(_retrieved, running.port, chosen),
        }
        await database.close()
    return figures


async def fill(responses: Responses, count: int) -> list[str]:
    """The ids, each TURNS of them one conversation."""
    ids = [f"resp_{number:032x}" for number in range(count)]
    for number, response_id in enumerate(ids):
        new = NewResponse(
            id=response_id,
            caller=OWNER,
            parent=ids[number - 1] if number % TURNS else None,
            background=False,
            created_at=int(time.time()),
            object=b"{}",
            input_items=[(f"msg_{number}", ANSWER)],
        )
        hold = await responses.add(new)
        if hold is None:
            raise RuntimeError("a response without a key could not be added")
        ending = Ending(status="completed", object=ANSWER, output_items=[(f"msg_out_{number}", ANSWER)])
        await responses.runs.finish(hold, ending)
    return ids


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


def _retrieved(port: int, ids: Sequence[str]) -> list[float]:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    return [_retrieve(connection, response_id) for response_id in ids]


def _retrieve(connection: http.client.HTTPConnection, response_id: str) -> float:
    began = time.perf_counter()
    connection.request("GET", f"/v1/responses/{response_id}")
    reply = connection.getresponse()
    reply.read()
    if reply.status != 200:
        raise RuntimeError(f"the gateway answered {reply.status}")
    return (time.perf_counter() - began) * 1000


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.stored", description=__doc__)
    parser.add_argument("--count", type=int, default=10_000, help="responses that are kept (10000)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
