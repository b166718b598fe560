from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.rig import Rig, running


@pytest.fixture
async def session(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, order=("session",)) as rig:
        yield rig
