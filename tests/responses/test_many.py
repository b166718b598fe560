"""The measurement of many stored responses measures what it says; how fast they are is bench/stored.py's affair."""

from pathlib import Path

from bench import stored
from pplx_gateway.clock import Clock
from pplx_gateway.store import Database, Responses
from pplx_gateway.web.authentication import OWNER


async def test_the_measured_store_holds_whole_conversations(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    responses = Responses.of(database, Clock(), days=30, most_bytes=1 << 40, lease_seconds=10)
    ids = await stored.fill(responses, 3 * stored.TURNS)
    chain = await responses.chain(OWNER, ids[-1], most_bytes=1 << 30)
    assert len(chain) == 2 * stored.TURNS
    found = await responses.find(OWNER, ids[0])
    assert found
    assert found.status == "completed"
    await database.close()


async def test_it_measures_a_running_gateway(tmp_path: Path) -> None:
    figures = await stored.measure(tmp_path, 2 * stored.TURNS)
    assert len(figures) == 3
    assert all(len(times) == stored.READS and min(times) > 0 for times in figures.values())
