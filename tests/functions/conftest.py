"""The running program over the session, and over both upstreams."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.rig import Rig, running


@pytest.fixture
async def session(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, order=("session",)) as rig:
        yield rig


@pytest.fixture
async def api(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, order=("api",)) as rig:
        yield rig


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path) as rig:
        yield rig
