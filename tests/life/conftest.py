from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path

import httpx2
import pytest
import uvloop

from tests.life.programs import Emulator
from tests.test_commands import program


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], object]]:
    """The loop that the gateway runs on."""
    return {"uvloop": uvloop.new_event_loop}


@pytest.fixture
async def emulator(tmp_path: Path) -> AsyncGenerator[Emulator, None]:
    async with (
        program("emulator", folder=tmp_path) as running,
        httpx2.AsyncClient(timeout=30, trust_env=False) as client,
    ):
        yield Emulator(running.url, client)
        await running.stop()
