"""The operations over the real transport, against an emulator in the same loop."""

from collections.abc import AsyncGenerator

import pytest

from tests.operations.rig import Rig, running


@pytest.fixture
async def rig() -> AsyncGenerator[Rig, None]:
    async with running("pplx-test") as rig:
        yield rig
