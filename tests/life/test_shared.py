"""What the session's life stands on: facts that workers share, a clock that counts from any moment, logs that mask."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.logs import JsonFormatter
from pplx_gateway.settings import Secret
from pplx_gateway.store import Database, Fact, Facts


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[tuple[Facts, Facts], None]:
    """Two workers."""
    databases = [await Database.open(tmp_path / "gateway.sqlite") for _ in range(2)]
    yield Facts(databases[0]), Facts(databases[1])
    for database in databases:
        await database.close()


async def test_of_two_that_swap_one_wins(both: tuple[Facts, Facts]) -> None:
    one, two = both
    assert await one.swap("a", b"1", 0) == Fact(b"1", 1)
    assert await two.swap("a", b"2", 0) is None
    assert await two.swap("a", b"2", 1) == Fact(b"2", 2)
    assert await one.swap("a", b"3", 1) is None
    assert await one.get("a") == Fact(b"2", 2)
    assert await one.swap("b", b"", 7) is None


async def test_many_that_swap_at_once_lose_nothing(both: tuple[Facts, Facts]) -> None:
    async def add(facts: Facts) -> None:
        while True:
            fact = await facts.get("count")
            value = b"%d" % (int(fact.value if fact else 0) + 1)
            if await facts.swap("count", value, fact.version if fact else 0):
                return

    await asyncio.gather(*(add(both[number % 2]) for number in range(20)))
    assert await both[0].get("count") == Fact(b"20", 20)


async def test_several_facts_come_in_one_read(both: tuple[Facts, Facts]) -> None:
    one, two = both
    await one.put("a", b"1")
    await one.put("it's; --", b"2")
    assert await two.among("a", "it's; --", "none") == {"a": Fact(b"1", 1), "it's; --": Fact(b"2", 1)}
    assert await two.among() == {}


def test_time_since_a_moment_runs_with_the_clock() -> None:
    clock = Clock(1000.0)
    moment = clock.now() - 2.0
    assert 2000.0 <= clock.since(moment) < 100_000.0
    assert clock.since(clock.now() + 2.0) < 0


def test_secrets_that_change_are_masked_in_the_log() -> None:
    current = ["first-SECRET", "short"]
    formatter = JsonFormatter([Secret("fixed-SECRET")])
    formatter.hide(lambda: current)

    def line(text: str) -> str:
        record = logging.LogRecord("x", logging.INFO, "", 0, text, (), None)
        return str(json.loads(formatter.format(record))["message"])

    assert line("a first-SECRET b fixed-SECRET") == "a *** b ***"
    current[0] = "second-SECRET"
    assert line("a second-SECRET first-SECRET") == "a *** first-SECRET"
    assert line("a short word") == "a short word"
