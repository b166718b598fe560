from collections.abc import AsyncIterator

import httpx2
import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.emulator_session.asking import Page


class SkippingClock(Clock):
    """A clock that can be put forward, for what expires."""

    def __init__(self, factor: float) -> None:
        super().__init__(factor)
        self.skipped = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.skipped


@pytest.fixture
def clock() -> SkippingClock:
    return SkippingClock(100)


@pytest.fixture
async def client(clock: SkippingClock) -> AsyncIterator[httpx2.AsyncClient]:
    """The emulator on a real port."""
    async with (
        EmulatorServer(clock) as server,
        httpx2.AsyncClient(base_url=server.url, timeout=30, trust_env=False, verify=False) as http,
    ):
        yield http


@pytest.fixture
def page(client: httpx2.AsyncClient) -> Page:
    return Page(client)
