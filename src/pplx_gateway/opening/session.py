"""Puts the session upstream together, with the life of its cookie."""

import secrets
from multiprocessing import parent_process
from pathlib import Path
from typing import NamedTuple

from pplx_gateway import logs
from pplx_gateway.alerts import Alerts
from pplx_gateway.clock import Clock
from pplx_gateway.observing.observer import Observer
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.store import Database, Facts, Leases
from pplx_gateway.store import Threads as ThreadTable
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.transport import Network, Timeouts, Transport
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.kept import StoreKeeper
from pplx_gateway.upstreams.session.life import TOGETHER_SECONDS, Life
from pplx_gateway.upstreams.session.login import Login
from pplx_gateway.upstreams.session.old_cache import read_old_cache
from pplx_gateway.upstreams.session.options import LOOKUP_TIMEOUTS, SessionOptions
from pplx_gateway.upstreams.session.pasted import read_token
from pplx_gateway.upstreams.session.prompts import PromptFiles
from pplx_gateway.upstreams.session.telling import Teller
from pplx_gateway.upstreams.session.threads import Threads
from pplx_gateway.upstreams.session.upstream import SessionUpstream
from pplx_gateway.upstreams.session.way_out import WayOut

# How soon one worker uses what another one has learned.
SYNC_SECONDS = 1.0
# The wire does not run faster when a test's clock does.
LEAST_REAL_SECONDS = 2.0
LEAST_REAL_SYNC_SECONDS = 0.05


class Ground(NamedTuple):
    """What the session stands on, opened before it and closed after it."""

    settings: Settings
    clock: Clock
    network: Network
    database: Database
    supervisor: Supervisor
    leases: Leases
    alerts: Alerts
    observer: Observer


class OpenedSession(NamedTuple):
    upstream: SessionUpstream
    life: Life
    credentials: Credentials
    way_out: WayOut
    options: SessionOptions


async def open_session(ground: Ground, old_files: Path | None) -> OpenedSession:
    """Raises ValueError that names the setting, StoreUnavailable. With or without a cookie: one may be given later."""
    settings, clock, facts = ground.settings, ground.clock, Facts(ground.database)
    variable = _variable(settings)
    options = session_options(settings, clock)
    transport = Transport(
        clock, impersonate=settings.impersonate, max_connections=settings.max_connections, network=ground.network
    )
    way_out = ground.observer.around(transport, "session")
    keeper = StoreKeeper(facts, ground.leases, clock, 4 * (options.lookup_timeouts.total or 0.0), site=options.host)
    credentials = Credentials(None, keeper)
    held = await keeper.open(variable, lambda: read_old_cache(old_files) if old_files else None)
    if held is not None:
        credentials.take(held)
    ground.alerts.hide(credentials.secrets)
    ground.observer.canary.hide(credentials.secrets)
    logs.hide(credentials.secrets)
    life = Life(
        Login(way_out, options),
        credentials,
        clock,
        options,
        keeper=keeper,
        teller=Teller(ground.alerts.send, settings.account_type),
        spare=variable,
    )
    secret = await facts.add("secret", secrets.token_bytes(32))  # belongs to this installation
    upstream = SessionUpstream(
        way_out,
        clock,
        credentials,
        Threads(ThreadTable(ground.database, clock), secret.value),
        options,
        life=life,
        prompts=PromptFiles(settings.folder),
        canary=ground.observer.canary,
    )
    await life.sync()
    _keep(ground, life)
    return OpenedSession(upstream, life, credentials, way_out, options)


def _keep(ground: Ground, life: Life) -> None:
    together = TOGETHER_SECONDS if parent_process() is not None else 0.0  # one of several workers has a parent
    ground.supervisor.keep("session keep-alive", lambda: life.keep_alive(together))
    seconds = max(SYNC_SECONDS, LEAST_REAL_SYNC_SECONDS * ground.clock.factor)
    ground.supervisor.every("session sync", seconds, life.sync)


def session_options(settings: Settings, clock: Clock) -> SessionOptions:
    least = LEAST_REAL_SECONDS * clock.factor
    return SessionOptions(
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
        keepalive_seconds=settings.keepalive_hours * 3600,
        cookie_max_age_seconds=settings.cookie_max_age_hours * 3600,
        lookup_timeouts=Timeouts(*(max(each or least, least) for each in LOOKUP_TIMEOUTS)),
        hold_seconds=max(SessionOptions().hold_seconds, least),
    )


def _variable(settings: Settings) -> Secret | None:
    try:
        return read_token(settings.cookie.reveal()) if settings.cookie else None
    except ValueError as error:
        raise ValueError(f"PPLX_COOKIE: {error}") from None
