"""One running program for each module of tests, with both upstreams."""

from collections.abc import AsyncGenerator, Callable, Mapping

import pytest
import pytest_asyncio
import uvloop

from tests.rig import Rig, running


def pytest_asyncio_loop_factories() -> Mapping[str, Callable[[], object]]:
    """The loop that the gateway runs on."""
    return {"uvloop": uvloop.new_event_loop}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("observed"), allow_spending=True) as opened:
        yield opened
