"""The emulator, and what the environment of a server that is led to it holds."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.mcp_agent.way import way_to


@pytest.fixture
async def environment(tmp_path: Path) -> AsyncGenerator[dict[str, str], None]:
    async with (
        EmulatorServer(Clock(), pace_seconds=0.001, background_seconds=0.5, cancel_seconds=0.2) as emulator,
        way_to(emulator.port, tmp_path) as way,
    ):
        yield {**way, "PERPLEXITY_API_KEY": "pplx-SECRET-KEY"}
