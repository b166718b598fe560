"""Tabs, and the batches that they are written in."""

import asyncio
import contextvars
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway import ledger as ledgers
from pplx_gateway.answer import Cost, Finished, Started, TextDelta, Usage
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable, UpstreamTruncated
from pplx_gateway.ledger import Ledger
from pplx_gateway.receipts import Receipt
from pplx_gateway.store import Database
from pplx_gateway.store.ledger import Choice, Entry, LedgerRows
from pplx_gateway.tab import Tab, current_tab
from tests.life.waiting import until


class Rows(LedgerRows):
    """A real store that can be told to fail."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self.fails = False
        self.tries = 0
        self.batches: list[int] = []

    async def add(self, entries: Any, *, keep: bool = True) -> None:
        self.tries += 1
        if self.fails:
            raise StoreUnavailable("The disk is full.")
        self.batches.append(len(entries))
        await super().add(entries, keep=keep)


@pytest.fixture
async def rows(tmp_path: Path) -> AsyncGenerator[Rows, None]:
    database = await Database.open(tmp_path / "gateway.sqlite")
    yield Rows(database)
    await database.close()


def entry(name: str = "req_1", caller: str = "owner") -> Entry:
    return Entry(id=name, at=1_790_000_000.0, caller=caller)


def api_model() -> Model:
    found = Catalogue.built_in().find("api", "sonar")
    assert found is not None
    return found


def finished(cost: float | None = 0.00503, **usage: Any) -> Finished:
    amount = None if cost is None else Cost(total=cost)
    counted = Usage(**{"input_tokens": 20, "output_tokens": 9, "search_queries": 1, "cost": amount, **usage})
    return Finished(reason="stop", served_model="perplexity/sonar", usage=counted)


async def written(ledger: Ledger) -> list[Entry]:
    """The oldest first."""
    return [found.entry for found in reversed(await ledger.recent(Choice(), limit=500))]


def worked(ledger: Ledger, end: Finished, tab: Tab | None = None) -> Tab:
    tab = tab or ledger.tab(entry())
    assert ledger.claimed("owner", "sonar") is tab
    tab.asking(api_model())
    tab.heard([Started("resp_1", "main"), TextDelta("It is so.")])
    tab.answered("sonar", end)
    tab.settle()
    tab.end(200, None)
    return tab


async def test_a_request_becomes_one_row(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    worked(ledger, finished())
    (found,) = await written(ledger)
    assert (found.id, found.asked, found.served, found.upstream, found.key_name) == (
        "req_1",
        "sonar",
        "sonar",
        "api",
        "main",
    )
    assert (found.input_tokens, found.output_tokens, found.searches) == (20, 9, 1)
    assert (found.cost, found.cost_source) == (5_030_000_000, "given")
    assert found.first_text_milliseconds is not None
    assert 0 <= found.first_text_milliseconds <= found.milliseconds


async def test_a_cost_that_nobody_gave_is_computed_and_marked(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    worked(ledger, finished(cost=None))
    (found,) = await written(ledger)
    assert (found.cost, found.cost_source) == (2_500_000_000 + 27_500_000, "computed")


async def test_a_cost_that_nobody_can_know_is_unknown_and_not_zero(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    worked(ledger, Finished(reason="stop", served_model="openai/gpt-99", usage=finished(cost=None).usage))
    (found,) = await written(ledger)
    assert (found.cost, found.cost_source) == (None, "unknown")


async def test_a_cost_in_another_currency_is_not_taken_for_dollars(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    usage = Usage(input_tokens=20, output_tokens=9, cost=Cost(total=3.0, currency="EUR"))
    worked(ledger, Finished(reason="stop", served_model="openai/gpt-99", usage=usage))
    (found,) = await written(ledger)
    assert (found.cost, found.cost_source) == (None, "unknown")


async def test_receipts_of_one_request_add_up(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = ledger.tab(entry())
    note = ledger.notes("owner", "pplx-decider-v1.1-27b")
    note(Receipt(key_name="a", model="m", input_tokens=3, output_tokens=1, cost=Cost(total=0.1)))
    note(Receipt(key_name="b", model="m", input_tokens=4, searches=1, cost=Cost(total=0.2), computed=True))
    tab.end(200, None)
    (found,) = await written(ledger)
    assert (found.input_tokens, found.output_tokens, found.searches, found.key_name) == (7, 1, 1, "b")
    assert (found.cost, found.cost_source) == (300_000_000_000, "computed")


async def test_one_receipt_without_a_cost_makes_the_sum_unknown(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = ledger.tab(entry())
    note = ledger.notes("owner")
    note(Receipt(key_name="a"))
    note(Receipt(key_name="a", cost=Cost(total=0.2)))
    tab.end(502, "upstream_error")
    (found,) = await written(ledger)
    assert (found.cost, found.cost_source, found.status, found.error) == (
        200_000_000_000,
        "unknown",
        502,
        "upstream_error",
    )


async def test_work_that_outlives_its_request_is_told_in_the_same_row(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = ledger.tab(entry())
    ledger.claimed("owner", "sonar")
    tab.end(200, None)
    assert await written(ledger) == []
    tab.asking(api_model())
    tab.answered("sonar", finished())
    tab.settle(UpstreamTruncated("Cut."))
    (found,) = await written(ledger)
    assert (found.status, found.error, found.cost) == (200, "upstream_truncated", 5_030_000_000)


async def test_work_without_a_request_has_a_row_of_its_own(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = contextvars.Context().run(ledger.claimed, "key_1", "sonar")
    tab.settle(UpstreamTruncated("Cut."))
    (found,) = await written(ledger)
    assert (found.caller, found.face, found.asked, found.status, found.error) == (
        "key_1",
        "python",
        "sonar",
        502,
        "upstream_truncated",
    )


async def test_what_a_request_takes_beside_what_it_asks_has_a_row_of_its_own(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = ledger.tab(entry())
    ledger.apart("owner", "decisions", "router")(Receipt(key_name="a", model="d", cost=Cost(total=0.00001)))
    tab.end(200, None)
    one, two = await written(ledger)
    assert (one.operation, one.asked, one.served, one.cost) == ("decisions", "router", "d", 10_000_000)
    assert (two.id, two.cost) == ("req_1", None)


async def test_many_rows_are_written_in_few_batches(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    for number in range(1200):
        ledger.tab(entry(f"req_{number}")).end(200, None)
    await ledger.flush()
    assert rows.batches == [500, 500, 200]


async def test_a_store_that_fails_costs_no_row_and_touches_no_request(
    rows: Rows, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(rows, Clock())
    rows.fails = True
    for number in range(3):
        worked(ledger, finished(), ledger.tab(entry(f"req_{number}")))
        await ledger.flush()
    assert rows.tries == 3
    rows.fails = False
    await ledger.flush()
    assert [found.id for found in await written(ledger)] == ["req_0", "req_1", "req_2"]
    assert [record.message for record in caplog.records] == [
        "the ledger cannot be written",
        "the ledger is written again",
    ]


async def test_rows_that_wait_for_a_store_are_bounded_and_the_lost_ones_counted(
    rows: Rows, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(ledgers, "MOST_WAITING", 2)
    ledger = Ledger(rows, Clock())
    rows.fails = True
    for number in range(5):
        ledger.tab(entry(f"req_{number}")).end(200, None)
    await ledger.flush()
    rows.fails = False
    await ledger.flush()
    assert [found.id for found in await written(ledger)] == ["req_0", "req_1"]
    assert caplog.records[-1].__dict__["lost"] == 3


async def test_what_waits_to_be_written_is_spent_already(rows: Rows) -> None:
    clock = Clock()
    ledger = Ledger(rows, clock)
    for number in range(2):
        paid = entry(f"req_{number}", "key_1")
        paid.at = clock.now()
        worked(ledger, finished(), ledger.tab(paid))
        assert (await ledger.spent("key_1"))[0] == 5_030_000_000 * (number + 1)
    assert not rows.tries
    await ledger.flush()
    assert await ledger.spent("key_1") == (10_060_000_000, 10_060_000_000)
    assert await ledger.spent("key_2") == (0, 0)


async def test_rows_are_written_without_anybody_asking(rows: Rows) -> None:
    ledger = Ledger(rows, Clock(1000.0))
    running = asyncio.create_task(ledger.run())

    async def batches(count: int) -> bool:
        return len(rows.batches) == count

    async def tries(count: int) -> bool:
        return rows.tries >= count

    ledger.tab(entry()).end(200, None)
    await until(lambda: batches(1))
    rows.fails = True
    ledger.tab(entry("req_2")).end(200, None)
    await until(lambda: tries(3))  # nobody asks again, and yet it is tried again
    rows.fails = False
    await until(lambda: batches(2))
    running.cancel()


async def test_a_close_waits_for_requests_that_are_ending(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())
    tab = ledger.tab(entry())
    closing = asyncio.create_task(ledger.close())
    await asyncio.sleep(0)
    assert not closing.done()
    tab.end(502, "upstream_truncated")
    await closing
    assert rows.batches == [1]


async def test_a_close_does_not_wait_for_ever(rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledgers, "CLOSE_SECONDS", 0.01)
    ledger = Ledger(rows, Clock())
    ledger.tab(entry("ended")).end(200, None)
    ledger.tab(entry("open"))
    await ledger.close()
    assert rows.batches == [1]


async def test_a_ledger_without_a_store_forgets_all() -> None:
    ledger = Ledger(None, Clock())
    worked(ledger, finished())
    await ledger.close()
    assert await ledger.spent("owner") == (0, 0)
    with pytest.raises(StoreUnavailable):
        await ledger.recent(Choice(), limit=1)


async def test_requests_do_not_find_each_others_tab(rows: Rows) -> None:
    ledger = Ledger(rows, Clock())

    async def request(name: str) -> bool:
        tab = ledger.tab(entry(name))
        await asyncio.sleep(0)
        return current_tab.get() is tab

    assert all(await asyncio.gather(*(request(f"req_{n}") for n in range(5))))
