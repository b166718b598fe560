"""The emulator, and `llm` led to it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from plugin_rig import Rig

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.mcp_agent.way import way_to


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with (
        EmulatorServer(Clock(), pace_seconds=0.001, background_seconds=0.05) as emulator,
        way_to(emulator.port, tmp_path) as way,
    ):
        rig = Rig(emulator.url, way, tmp_path)
        yield rig
        await rig.close()
