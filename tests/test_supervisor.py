import asyncio
import logging

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import UpstreamError
from pplx_gateway.supervisor import Supervisor


@pytest.mark.parametrize("error", [UpstreamError("down"), ValueError("a defect")])
async def test_work_that_fails_is_told_of_and_started_again(error: Exception, caplog: pytest.LogCaptureFixture) -> None:
    supervisor, runs, well = Supervisor(Clock(1000)), 0, asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs < 3:
            raise error
        well.set()
        await asyncio.Event().wait()

    supervisor.keep("probe", work)
    async with asyncio.timeout(5):
        await well.wait()
    await supervisor.close()
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 2


async def test_work_is_repeated_after_its_interval() -> None:
    supervisor, runs, often = Supervisor(Clock(1000)), 0, asyncio.Event()

    async def work() -> None:
        nonlocal runs
        runs += 1
        if runs == 3:
            often.set()

    supervisor.every("poll", 10.0, work)
    async with asyncio.timeout(5):
        await often.wait()
    await supervisor.close()


async def test_closing_ends_everything_that_runs() -> None:
    supervisor, ended = Supervisor(Clock()), asyncio.Event()
    begun = asyncio.Event()

    async def work() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    supervisor.once("long", work)
    await begun.wait()
    await supervisor.close()
    assert ended.is_set()
