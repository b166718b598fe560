"""The running program with both upstreams, or with one."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.rig import Rig
from tests.sonar.calling import calling


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with calling(tmp_path) as rig:
        yield rig


@pytest.fixture
async def session(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with calling(tmp_path, order=["session"]) as rig:
        yield rig
