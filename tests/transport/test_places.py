import asyncio
import logging

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport import TransferTimeout
from pplx_gateway.transport.places import Places


async def turns(places: Places, number: int) -> list["asyncio.Task[None]"]:
    """`number` tasks that wait in order."""
    tasks = [asyncio.create_task(places.take(60, "host")) for _ in range(number)]
    await asyncio.sleep(0)
    return tasks


async def test_free_places_are_given_at_once() -> None:
    places = Places(Clock(), 2)
    await places.take(0, "host")
    await places.take(0, "host")
    assert (places.taken, places.waiting) == (2, 0)


async def test_who_waits_longest_is_next() -> None:
    places = Places(Clock(), 1)
    await places.take(0, "host")
    first, second = await turns(places, 2)
    assert places.waiting == 2
    places.give_back()
    await first
    assert not second.done()
    assert (places.taken, places.waiting) == (1, 1)
    places.give_back()
    await second
    places.give_back()
    assert (places.taken, places.waiting) == (0, 0)


async def test_who_leaves_the_queue_takes_no_place() -> None:
    places = Places(Clock(), 1)
    await places.take(0, "host")
    first, second = await turns(places, 2)
    first.cancel()
    await asyncio.wait([first])
    assert places.waiting == 1
    places.give_back()
    await second
    assert places.taken == 1


async def test_a_place_that_comes_together_with_the_cancellation_is_passed_on() -> None:
    places = Places(Clock(), 1)
    await places.take(0, "host")
    first, second = await turns(places, 2)
    places.give_back()
    first.cancel()
    await second
    assert first.cancelled()
    assert places.taken == 1


async def test_patience_ends_with_a_time_out_that_says_why() -> None:
    places = Places(Clock(factor=100), 1)
    await places.take(0, "host")
    with pytest.raises(TransferTimeout, match="All 1 upstream connections were in use for 5 seconds") as caught:
        await places.take(5, "host")
    assert (caught.value.limit, caught.value.seconds) == ("connect", 5)
    assert (places.taken, places.waiting) == (1, 0)


async def test_a_queue_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    places = Places(Clock(), 1)
    await places.take(0, "host")
    with caplog.at_level(logging.WARNING):
        tasks = await turns(places, 3)
    (record,) = caplog.records
    assert record.__dict__["limit"] == 1
    assert record.__dict__["waiting"] == 1
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)


async def test_closing_fails_everybody_who_waits() -> None:
    places = Places(Clock(), 1)
    await places.take(0, "host")
    tasks = await turns(places, 2)
    places.close(UpstreamError("closing"))
    for task in tasks:
        with pytest.raises(UpstreamError, match="closing"):
            await task
    assert places.waiting == 0


def test_no_places_at_all_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="max_connections"):
        Places(Clock(), 0)
