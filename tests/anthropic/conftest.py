"""The running program with both upstreams, and with PPLX_UNSUPPORTED=drop."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.rig import Rig, running


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path) as rig:
        yield rig


@pytest.fixture
async def dropping(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, unsupported="drop") as rig:
        yield rig
