import asyncio

import pytest
from starlette.types import Message

from pplx_gateway.web.leaving import LINE, CallerLeft, Leaving, Line


class Connection:
    """A connection that a test can cut."""

    def __init__(self) -> None:
        self.cut = asyncio.Event()
        self.listeners = 0

    async def receive(self) -> Message:
        self.listeners += 1
        try:
            await self.cut.wait()
        finally:
            self.listeners -= 1
        return {"type": "http.disconnect"}


async def test_work_that_finishes_is_left_alone() -> None:
    connection = Connection()
    async with Leaving(connection.receive):
        await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert connection.listeners == 0


async def test_a_disconnect_cancels_the_work_and_is_told() -> None:
    connection, cleaned = Connection(), asyncio.Event()

    async def work() -> None:
        connection.cut.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.set()

    with pytest.raises(CallerLeft):
        async with Leaving(connection.receive):
            await work()
    assert cleaned.is_set()
    task = asyncio.current_task()
    assert task
    assert task.cancelling() == 0


async def test_an_error_of_the_work_goes_on() -> None:
    with pytest.raises(ZeroDivisionError):
        async with Leaving(Connection().receive):
            raise ZeroDivisionError


async def test_a_cancellation_from_outside_stays_one() -> None:
    async def work() -> None:
        async with Leaving(Connection().receive):
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_nothing_is_heard_after_settle() -> None:
    connection = Connection()
    async with Leaving(connection.receive) as leaving:
        await asyncio.sleep(0)
        leaving.settle()
        connection.cut.set()
        await asyncio.sleep(0.01)


async def test_more_body_is_no_disconnect() -> None:
    messages = [{"type": "http.request"}, {"type": "http.request"}, {"type": "http.disconnect"}]

    async def receive() -> Message:
        return messages.pop(0)

    with pytest.raises(CallerLeft):
        async with Leaving(receive):
            await asyncio.Event().wait()
    assert not messages


async def test_a_line_that_is_lost_ends_the_work_without_a_listener() -> None:
    connection, line, listeners = Connection(), Line(), []

    async def work() -> None:
        async with Leaving(connection.receive, {LINE: line}):
            await asyncio.sleep(0)
            listeners.append(connection.listeners)
            line.lose()
            await asyncio.Event().wait()

    with pytest.raises(CallerLeft):
        await work()
    assert (listeners, line.on_loss) == ([0], None)


async def test_a_line_that_was_lost_before_ends_the_work_at_once() -> None:
    line = Line()
    line.lose()
    with pytest.raises(CallerLeft):
        async with Leaving(Connection().receive, {LINE: line}):
            await asyncio.Event().wait()


async def test_a_line_is_not_listened_to_once_all_is_settled() -> None:
    line = Line()
    async with Leaving(Connection().receive, {LINE: line}) as leaving:
        leaving.settle()
        line.lose()
        await asyncio.sleep(0)
    assert line.on_loss is None
