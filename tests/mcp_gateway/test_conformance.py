"""MCP's own conformance suite on the gateway, and on its transport with the tools that the suite looks for."""

import contextlib
import re
from collections.abc import AsyncGenerator, Awaitable
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.clock import Clock
from pplx_gateway.protocols.mcp.http import Mcp
from pplx_gateway.settings import Settings
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.web.body import read_body
from pplx_gateway.web.hosts import Hosts
from pplx_gateway.web.origins import Origins
from tests.mcp_gateway.fixture_face import FixtureFace
from tests.mcp_gateway.programs import node
from tests.rig import KEY, running
from tests.running import serve

SUITE = "@modelcontextprotocol/conformance/dist/index.js"
BASELINES = Path(__file__).parent / "conformance"
REVISIONS = ("2025-11-25", "2026-07-28")


async def check(url: str, what: str, revision: str, out: Path) -> None:
    """Everything passes but what the baseline names, which all is asked and fails: it can only shrink."""
    baseline = BASELINES / f"{what}-{revision}.yml"
    code, text = await node(
        SUITE, "server", "--url", url, "--requirements", revision, "--expected-failures", str(baseline), "-o", str(out)
    )
    assert "Baseline check passed" in text, text[-4000:]
    assert code == 0
    named = re.findall(r"^ +- (\S+)$", baseline.read_text(), re.MULTILINE)
    failed = re.findall(r"^ +~ (\S+)$", text, re.MULTILINE)
    assert sorted(failed) == sorted(named), "the suite says nothing of entries that it does not ask for"


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_gateway_conforms(tmp_path: Path, revision: str) -> None:
    async with running(tmp_path / "data") as rig:
        await check(f"{rig.url}/{KEY}/mcp", "gateway", revision, tmp_path)


@contextlib.asynccontextmanager
async def transport() -> AsyncGenerator[str, None]:
    supervisor = Supervisor(Clock())
    routes = Starlette(routes=Mcp(FixtureFace, supervisor, _read, stateless=False).routes())
    async with serve(_known(Hosts(Origins(routes, Settings()), Settings()))) as url:
        yield f"{url}/mcp"
    await supervisor.close()


def _read(receive: Receive) -> Awaitable[bytes]:
    return read_body(receive, Clock(), limit=1 << 20, wait_seconds=10)


def _known(app: ASGIApp) -> ASGIApp:
    async def called(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "state": {"caller": "tester"}}, receive, send)

    return called


@pytest.mark.parametrize("revision", REVISIONS)
async def test_the_transport_conforms(tmp_path: Path, revision: str) -> None:
    async with transport() as url:
        await check(url, "transport", revision, tmp_path)
