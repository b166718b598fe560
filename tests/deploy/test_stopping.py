"""How the program leaves where it is no container's first process, and the parts that a stop is made of."""

import asyncio
import os
import signal
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.clock import Clock
from pplx_gateway.gateway import Gateway
from pplx_gateway.settings import Settings
from pplx_gateway.stopping import cut_late, cut_short
from tests.test_commands import program


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("command", ["serve", "demo", "emulator"])
async def test_a_command_that_is_told_to_stop_closes_what_it_opened(
    command: str, number: signal.Signals, tmp_path: Path
) -> None:
    async with program(command, "--port", "0", folder=tmp_path, TMPDIR=str(tmp_path)) as running:
        _, err = await running.stop(number)
        assert running.process.returncode == 0
    assert "Traceback" not in err
    left = [name for name in os.listdir(tmp_path) if name.startswith("pplx-gateway-demo-")]
    assert not left, "the demo takes its folder with it"


async def test_workers_stop_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    async with program("serve", "--port", "0", "--workers", "2", folder=tmp_path) as running:
        assert (await asyncio.to_thread(urllib.request.urlopen, f"{running.url}/health", timeout=30)).status == 200
        _, err = await running.stop(signal.SIGKILL)  # the ends of its pipes: none of them lives any more
    assert "the process that started it is gone" in err
    assert "Traceback" not in err
    port = running.url.rpartition(":")[2]
    async with program("serve", "--port", port, folder=tmp_path) as again:
        assert again.url == running.url


async def test_a_stop_cancels_what_still_starts_and_nothing_beside_it() -> None:
    async def starts() -> None:
        with cut_short():
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.Event().wait()

    before = signal.getsignal(signal.SIGTERM)
    beside = asyncio.create_task(asyncio.Event().wait())
    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(starts())
    assert not beside.done()
    assert signal.getsignal(signal.SIGTERM) is before
    beside.cancel()


class Slow:
    """A part whose closing takes until it is let go, and that must be closed once."""

    def __init__(self) -> None:
        self.closings = 0
        self.let_go = asyncio.Event()

    async def close(self) -> None:
        self.closings += 1
        await self.let_go.wait()


async def test_a_gateway_that_is_closed_twice_at_once_closes_its_parts_once() -> None:
    part = Slow()
    gateway = Gateway(Settings(), Clock(), Catalogue.built_in(), {}, (part,))
    first, second = asyncio.create_task(gateway.close()), asyncio.create_task(gateway.close())
    await asyncio.sleep(0)
    first.cancel()  # a cut is cancelled when the server is done before it
    await asyncio.sleep(0)
    assert not second.done()
    part.let_go.set()
    await second
    await gateway.close()
    assert part.closings == 1


@pytest.fixture
def heard() -> Iterator[list[int]]:
    """Signals that a server's own handler got."""
    numbers: list[int] = []

    def handler(number: int, _: FrameType | None) -> None:
        numbers.append(number)

    before = {number: signal.signal(number, handler) for number in (signal.SIGTERM, signal.SIGINT)}
    yield numbers
    for number, old in before.items():
        signal.signal(number, old)


async def test_a_late_cut_comes_after_the_servers_own_handler(heard: list[int]) -> None:
    cut = asyncio.Event()

    async def do() -> None:
        assert heard == [signal.SIGTERM]
        cut.set()

    with cut_late(do, grace_seconds=0):
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(cut.wait(), 10)


async def test_no_cut_comes_without_a_signal_or_after_the_end(heard: list[int]) -> None:
    async def do() -> None:
        raise AssertionError("cut")

    server = signal.getsignal(signal.SIGTERM)
    with cut_late(do, grace_seconds=0):
        await asyncio.sleep(0.01)
        assert signal.getsignal(signal.SIGTERM) is not server
    assert signal.getsignal(signal.SIGTERM) is server
    os.kill(os.getpid(), signal.SIGTERM)
    await asyncio.sleep(0.01)
    assert heard == [signal.SIGTERM]


async def test_a_signal_that_nobody_handles_keeps_its_meaning(heard: list[int]) -> None:
    async def do() -> None:
        """Nothing."""

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with cut_late(do, grace_seconds=0):
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    assert heard == []


async def test_outside_the_main_thread_it_leaves_signals_alone(heard: list[int]) -> None:
    async def do() -> None:
        """Nothing."""

    async def inside() -> None:
        with cut_late(do):
            await asyncio.sleep(0)

    server = signal.getsignal(signal.SIGTERM)
    await asyncio.to_thread(asyncio.run, inside())
    assert signal.getsignal(signal.SIGTERM) is server
