"""Every test of this folder runs on asyncio's own loop and on uvloop: curl's sockets are watched by either."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop

from pplx_gateway.clock import Clock
from pplx_gateway.transport import Network, Outgoing, Timeouts, Transport
from tests.transport.servers import Authority


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def trusting(authority: Authority) -> Network:
    """No proxy; the test authority is the only one that is trusted."""
    return Network.from_environ({"SSL_CERT_FILE": str(authority.ca_file)})


@pytest.fixture
async def transport(trusting: Network) -> AsyncIterator[Transport]:
    made = Transport(Clock(), network=trusting)
    yield made
    await made.close()


@pytest.fixture
async def hasty(trusting: Network) -> AsyncIterator[Transport]:
    """Its seconds last 20 ms."""
    made = Transport(Clock(factor=50), network=trusting)
    yield made
    await made.close()


def get(url: str, **headers: str) -> Outgoing:
    return Outgoing(method="GET", url=url, headers=headers)


def post(url: str, body: bytes = b"{}", **headers: str) -> Outgoing:
    return Outgoing(method="POST", url=url, body=body, headers={"content-type": "application/json", **headers})


def limited(url: str, timeouts: Timeouts) -> Outgoing:
    return Outgoing(method="GET", url=url, timeouts=timeouts)
