"""Puts a Gateway together from settings: the one place that knows every part.

Call `open_gateway` inside the running loop that will serve: transports and the store's thread belong to it.
"""

import os
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.clock import Clock
from pplx_gateway.containers import container_hints
from pplx_gateway.gateway import Gateway
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.store import Database, Facts
from pplx_gateway.store import Threads as ThreadTable
from pplx_gateway.transport import Network, Timeouts, Transport
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.upstream import ApiUpstream
from pplx_gateway.upstreams.session.cookies import Credentials, read_token
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.threads import Threads
from pplx_gateway.upstreams.session.upstream import SessionUpstream

STORE_FILE = "gateway.sqlite"


async def open_gateway(settings: Settings, clock: Clock) -> Gateway:
    """Raises ValueError that names the setting (a CA file that is missing, a browser that curl does not know, a cookie
    that is none), and StoreUnavailable. What was opened before a failure is closed again."""
    network = Network.from_environ(os.environ)
    async with AsyncExitStack() as opened:
        database = await Database.open(settings.folder / STORE_FILE)
        opened.push_async_callback(database.close)
        upstreams: dict[str, Upstream] = {}
        for name in settings.upstreams:
            if name == "session" and settings.cookie:
                upstreams[name] = await _session(settings, settings.cookie, clock, network, database)
            elif name == "api" and settings.perplexity_api_key:
                upstreams[name] = _api(settings, settings.perplexity_api_key, clock, network)
            if name in upstreams:
                opened.push_async_callback(upstreams[name].close)
        opened.pop_all()
    return Gateway(settings, clock, Catalogue.built_in(), upstreams, (database,))


async def _session(
    settings: Settings, cookie: Secret, clock: Clock, network: Network, database: Database
) -> SessionUpstream:
    secret = await Facts(database).add("secret", secrets.token_bytes(32))  # belongs to this installation
    threads = Threads(ThreadTable(database, clock), secret.value)
    options = SessionOptions(
        base_url=settings.session_url,
        api_version=settings.api_version,
        language=settings.language,
        incognito=settings.incognito,
        system_prompts=settings.system_prompts,
        timeouts=Timeouts(
            connect=settings.connect_timeout_seconds,
            first_byte=settings.first_byte_timeout_seconds,
            idle=settings.idle_timeout_seconds,
            total=settings.total_timeout_seconds or None,
        ),
        research_seconds=settings.research_timeout_seconds,
    )
    transport = Transport(
        clock, impersonate=settings.impersonate, max_connections=settings.max_connections, network=network
    )
    return SessionUpstream(transport, clock, Credentials(read_token(cookie.reveal())), threads, options)


def _api(settings: Settings, key: Secret, clock: Clock, network: Network) -> ApiUpstream:
    options = ApiOptions(
        connect_seconds=settings.connect_timeout_seconds,
        first_byte_seconds=settings.first_byte_timeout_seconds,
        idle_seconds=settings.idle_timeout_seconds,
        research_seconds=settings.research_timeout_seconds,
        total_seconds=settings.total_timeout_seconds or None,
    )
    transport = Transport(clock, max_connections=settings.max_connections, network=network)
    return ApiUpstream(transport, clock, key, settings.api_url, options)


def secrets_of(settings: Settings) -> list[Secret]:
    """Every secret that the settings hold, for masking."""
    values = (getattr(settings, name) for name in settings.__struct_fields__)
    return [value for value in values if isinstance(value, Secret)]


def startup_lines(settings: Settings) -> Sequence[str]:
    """What the owner should read at start: who answers, from where, and what lies open."""
    ready = {"session": settings.cookie, "api": settings.perplexity_api_key}
    urls = {"session": settings.session_url, "api": settings.api_url}
    lines = [f"The {name} upstream is {urls[name]}." for name in settings.upstreams if ready[name]]
    if not lines:
        lines = ["No upstream is set up: set PPLX_COOKIE or PERPLEXITY_API_KEY."]
    if settings.api_key is None:
        lines.append("No PPLX_PROXY_API_KEY is set: whoever reaches this address may use your account.")
    return lines + container_hints(settings, os.environ)
