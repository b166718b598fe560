"""The running program with a key for the API, or with a session, and both clients of Perplexity's SDK on its mirror."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.perplexity.calling import AsyncSdk, Caller, Sdk, SyncSdk, running_caller


@pytest.fixture
async def caller(tmp_path: Path) -> AsyncGenerator[Caller, None]:
    async with running_caller(tmp_path, factor=10.0) as caller:
        yield caller


@pytest.fixture
async def on_session(tmp_path: Path) -> AsyncGenerator[Caller, None]:
    async with running_caller(tmp_path, order=("session",), factor=10.0) as caller:
        yield caller


@pytest.fixture(params=["api", "session"])
async def either(tmp_path: Path, request: pytest.FixtureRequest) -> AsyncGenerator[Caller, None]:
    async with running_caller(tmp_path, order=(request.param,), factor=10.0) as caller:
        yield caller


@pytest.fixture(params=[SyncSdk, AsyncSdk], ids=["Perplexity", "AsyncPerplexity"])
async def sdk(caller: Caller, request: pytest.FixtureRequest) -> AsyncGenerator[Sdk, None]:
    kind: type[Sdk] = request.param
    opened = kind(caller.mirror)
    yield opened
    await opened.close()


@pytest.fixture(params=[SyncSdk, AsyncSdk], ids=["Perplexity", "AsyncPerplexity"])
async def session_sdk(on_session: Caller, request: pytest.FixtureRequest) -> AsyncGenerator[Sdk, None]:
    kind: type[Sdk] = request.param
    opened = kind(on_session.mirror)
    yield opened
    await opened.close()
