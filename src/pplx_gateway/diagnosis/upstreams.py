"""Whether the upstreams can be reached, and take what the gateway has for them."""

import os
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.diagnosis import credentials, machine, reach
from pplx_gateway.diagnosis.finding import Finding, note
from pplx_gateway.gateway import Gateway
from pplx_gateway.opening.session import session_options
from pplx_gateway.settings import Settings
from pplx_gateway.transport import Network, Transport

Reached = Mapping[str, reach.Reached]
"""By the upstream's name."""


class Ways(NamedTuple):
    """Out of this machine: as a browser to the session's site, plainly to the API."""

    site: Transport
    plain: Transport
    network: Network


@asynccontextmanager
async def open_ways(settings: Settings) -> AsyncIterator[Finding | Ways]:
    """A finding, where the variables of proxies and authorities cannot be used."""
    network = machine.network(os.environ)
    if isinstance(network, Finding):
        yield network
        return
    async with AsyncExitStack() as opened:
        site = Transport(Clock(), impersonate=settings.impersonate, max_connections=4, network=network)
        opened.push_async_callback(site.close)
        plain = Transport(Clock(), max_connections=4, network=network)
        opened.push_async_callback(plain.close)
        yield Ways(site, plain, network)


async def reached(settings: Settings, ways: Ways, used: Collection[str]) -> Reached:
    """Those of the upstreams that may be asked. `used`: those for which there is a credential. Where there is one, what
    stands in the way to the others harms nobody, and is a note."""
    found: dict[str, reach.Reached] = {}
    clock = Clock()
    if "session" in settings.upstreams:
        found["session"] = await reach.session_site(ways.site, session_options(settings, clock), ways.network, clock)
    if "api" in settings.upstreams:
        found["api"] = await reach.api(ways.plain, settings.api_url, ways.network, clock)
    return {name: each if name in used or not used else _unused(each) for name, each in found.items()}


def _unused(found: reach.Reached) -> reach.Reached:
    findings = [
        note(each.check, f"{each.what} Nothing is asked there: there is no credential for it.", each.cure)
        if each.state == "bad" and each.cause != "clock"
        else each
        for each in found.findings
    ]
    return found._replace(findings=tuple(findings))


async def accepted(gateway: Gateway, found: Reached, ways: Ways, *, unnamed: bool = False) -> AsyncIterator[Finding]:
    """Of those upstreams that can be reached. `unnamed`: keys are told by their number, not by the owner's name."""
    if (site := found.get("session")) and site.incoming is not None:
        for finding in await credentials.session(gateway):
            yield finding
    if (site := found.get("api")) and site.incoming is not None:
        for finding in await credentials.api_keys(gateway, ways.plain, ways.network, unnamed=unnamed):
            yield finding
