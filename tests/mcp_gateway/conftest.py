import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.mcp_gateway.calling import Caller, calling
from tests.rig import Rig

Both = tuple[Rig, Caller]


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Both, None]:
    """A client has to be closed by the task that opened it, which a fixture's two halves are not."""
    opened: asyncio.Future[Both] = asyncio.get_running_loop().create_future()
    over = asyncio.Event()

    async def hold() -> None:
        async with calling(tmp_path) as found:
            opened.set_result(found)
            await over.wait()

    holding = asyncio.create_task(hold())
    await asyncio.wait((asyncio.ensure_future(opened), holding), return_when=asyncio.FIRST_COMPLETED)
    if not opened.done():
        await holding  # raises what kept it from opening
    yield opened.result()
    over.set()
    await holding
