"""One emulator for each test module: batches and cancels take no time, whatever waits has to be waited for."""

from collections.abc import Iterator

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import Caller


@pytest.fixture(scope="module")
def emulator() -> Iterator[Caller]:
    with serving(Clock(50), pace_seconds=0.0, background_seconds=0.0, cancel_seconds=0.0, slow_seconds=1.0) as url:
        yield Caller(url)


@pytest.fixture
def caller(emulator: Caller) -> Iterator[Caller]:
    """The module's emulator, with no script and no record left over."""
    emulator.clear()
    yield emulator
    emulator.clear()
