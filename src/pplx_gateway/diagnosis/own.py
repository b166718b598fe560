"""The checks of a gateway that runs, made by itself: those of `doctor`, less the port, which it holds."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

from pplx_gateway.diagnosis import credentials, machine, upstreams
from pplx_gateway.diagnosis.finding import Finding, pasteable
from pplx_gateway.gateway import Gateway
from pplx_gateway.opening import secrets_of
from pplx_gateway.settings import Settings


async def findings(gateway: Gateway) -> list[Finding]:
    """Safe to show to others: no secret, no path, no name of the owner's, no address that is not Perplexity's. Asks
    both upstreams, but no question."""
    secrets = [secret.reveal() for secret in secrets_of(gateway.settings)]
    secrets += [key.reveal() for key in gateway.keys.keys.values() if key.secret is not None] if gateway.keys else []
    others = _others(gateway.settings)
    return [pasteable(finding, secrets, others) async for finding in _findings(gateway)]


async def _findings(gateway: Gateway) -> AsyncIterator[Finding]:
    yield (await asyncio.to_thread(machine.settings))[0]  # as a start would find them now
    yield await asyncio.to_thread(machine.data_folder, gateway.settings)
    if not gateway.order:
        yield credentials.missing(gateway.settings.upstreams)
    async with upstreams.open_ways(gateway.settings) as ways:
        if isinstance(ways, Finding):
            yield ways
            return
        reached = await upstreams.reached(gateway.settings, ways, gateway.order)
        for finding in (finding for each in reached.values() for finding in each.findings):
            yield finding
        async for finding in upstreams.accepted(gateway, reached, ways, unnamed=True):
            yield finding


def _others(settings: Settings) -> dict[str, str]:
    """What of the owner's stands in findings, and what is told instead; longer ones first."""
    usual = Settings()
    found = {str(settings.folder): "the data folder", str(Path.cwd()): "the working folder"}
    for url in {settings.session_url, settings.api_url} - {usual.session_url, usual.api_url}:
        host = urlsplit(url)
        found |= {host.netloc: "a host of the owner's", host.hostname or host.netloc: "a host of the owner's"}
    return {text: found[text] for text in sorted(found, key=len, reverse=True) if len(text) > 1}
