"""The running program for clients, and both clients of the OpenAI SDK on it."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from tests.clients.sdk import AsyncSdk, Sdk, ThreadSdk
from tests.rig import Rig, running


@pytest.fixture
async def both(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    """Both upstreams, with the settings that the gateway starts with."""
    async with running(tmp_path) as rig:
        yield rig


@pytest.fixture
async def dropping(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    """Both upstreams with PPLX_UNSUPPORTED=drop, which docs/clients.md names for clients that always send limits."""
    async with running(tmp_path, unsupported="drop") as rig:
        yield rig


@pytest.fixture(params=[AsyncSdk, ThreadSdk], ids=["AsyncOpenAI", "OpenAI"])
async def sdk(both: Rig, request: pytest.FixtureRequest) -> AsyncGenerator[Sdk, None]:
    kind: type[Sdk] = request.param
    opened = kind(both.url)
    yield opened
    await opened.close()
