"""The running program with a key for the API, and both clients of Perplexity's SDK on its mirror."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.perplexity.calling import AsyncSdk, Caller, Sdk, SyncSdk, running_caller


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncGenerator[Caller, None]:
    async with running_caller(tmp_path) as caller:
        yield caller


@pytest.fixture(params=[SyncSdk, AsyncSdk], ids=["Perplexity", "AsyncPerplexity"])
async def sdk(caller: Caller, request: pytest.FixtureRequest) -> AsyncGenerator[Sdk, None]:
    kind: type[Sdk] = request.param
    opened = kind(caller.mirror)
    yield opened
    await opened.close()
