from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.responses.calling import Caller, calling
from tests.rig import Rig

Both = tuple[Rig, Caller]


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Both, None]:
    async with calling(tmp_path) as found:
        yield found
        await found[0].check()
