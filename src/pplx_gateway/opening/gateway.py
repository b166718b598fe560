"""The whole gateway, from settings.

Call `open_gateway` inside the running loop that will serve: transports and the store's thread belong to it.
"""

import logging
import os
import secrets
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import msgspec

from pplx_gateway.alerts import Alerts, Channel
from pplx_gateway.catalogue import Catalogue
from pplx_gateway.clock import Clock
from pplx_gateway.containers import container_hints
from pplx_gateway.gateway import Gateway
from pplx_gateway.held import Held
from pplx_gateway.opening.api import config_path, open_api
from pplx_gateway.opening.callers import OpenedCallers, open_callers
from pplx_gateway.opening.models import OpenedModels, open_models
from pplx_gateway.opening.observing import open_observer
from pplx_gateway.opening.session import LEAST_REAL_SECONDS, LEAST_REAL_SYNC_SECONDS, Ground, open_session
from pplx_gateway.settings import Secret, Settings
from pplx_gateway.store import Database, Facts, Files, Leases, Ownership, Responses
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.tier_router import unknown_targets
from pplx_gateway.transport import Network, Timeouts, Transport
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.api.keys import KeyKeeper
from pplx_gateway.upstreams.api.operations import Operations
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.prompts import take_over

STORE_FILE = "gateway.sqlite"
# After this time without news of its worker, another one goes on with a response.
RESPONSE_LEASE_SECONDS = 10.0

logger = logging.getLogger("pplx_gateway")
FILES_FOLDER = "files"


class Opened(msgspec.Struct):
    """The upstreams that the settings name, and what came with them."""

    upstreams: dict[str, Upstream] = msgspec.field(default_factory=dict)
    session: Life | None = None
    models: OpenedModels | None = None
    keys: KeyKeeper | None = None
    operations: Operations | None = None


async def open_gateway(settings: Settings, clock: Clock, old_files: Path | None = None) -> Gateway:
    """Raises ValueError that names the setting (a CA file that is missing, a browser that curl does not know, a cookie
    that is none), and StoreUnavailable. What was opened before a failure is closed again. `old_files` is a folder with
    files of another program, which are taken over once."""
    catalogue = Catalogue.built_in()
    async with AsyncExitStack() as stack:
        database = await _database(settings, stack)
        files = Files(database, clock, settings.folder / FILES_FOLDER, most_bytes=settings.file_storage_bytes)
        await files.clean()
        _take_over(settings, old_files)
        ground = await _ground(settings, clock, database, catalogue, stack)
        callers = await open_callers(ground, await _database(settings, stack))
        opened = await _upstreams(ground, catalogue, old_files, stack)
        for line in unknown_targets(settings, catalogue):
            logger.warning(line)
        await ground.observer.begin(callers.ledger, opened.keys, ground.supervisor, least=LEAST_REAL_SYNC_SECONDS)
        stack.pop_all()
    parts = (*(opened.models.parts if opened.models else ()), *callers.parts, ground.observer, ground.alerts, database)
    return Gateway(settings, clock, catalogue, opened.upstreams, parts, held=_held(ground, callers, opened, files))


async def _database(settings: Settings, stack: AsyncExitStack) -> Database:
    database = await Database.open(settings.folder / STORE_FILE)
    stack.push_async_callback(database.close)
    return database


def _take_over(settings: Settings, old_files: Path | None) -> None:
    for name in take_over(old_files, settings.folder) if old_files else ():
        logger.info("took over a file of an older installation", extra={"file": name})


async def _ground(
    settings: Settings, clock: Clock, database: Database, catalogue: Catalogue, stack: AsyncExitStack
) -> Ground:
    network = Network.from_environ(os.environ)
    supervisor = Supervisor(clock)
    alerts = _alerts(settings, clock, network, Facts(database), supervisor)
    alerts.hide(lambda: [secret.reveal() for secret in secrets_of(settings)])
    stack.push_async_callback(alerts.close)
    stack.push_async_callback(supervisor.close)
    worker = secrets.token_hex(8)
    observer = open_observer(settings, clock, database, catalogue, worker)
    return Ground(settings, clock, network, database, supervisor, Leases(database, clock, worker), alerts, observer)


async def _upstreams(ground: Ground, catalogue: Catalogue, old_files: Path | None, stack: AsyncExitStack) -> Opened:
    opened = Opened()
    for name in ground.settings.upstreams:
        if name == "session":
            session = await open_session(ground, old_files)
            stack.push_async_callback(session.upstream.close)
            opened.session = session.life
            opened.models = await open_models(ground, session, catalogue, old_files)
            opened.upstreams[name] = opened.models.upstream
        elif name == "api":
            opened.upstreams[name], opened.keys = api = await open_api(ground)
            opened.operations = api.upstream.operations
        if name in opened.upstreams:
            stack.push_async_callback(opened.upstreams[name].close)
    return opened


def _held(ground: Ground, callers: OpenedCallers, opened: Opened, files: Files) -> Held:
    models, operations = opened.models, opened.operations
    return Held(
        files=files,
        responses=_responses(ground.settings, ground.database, ground.clock),
        session=opened.session,
        keys=opened.keys,
        quota=models.quota if models else None,
        keeper=models.keeper if models else None,
        discovery=models.discovery if models else None,
        supervisor=ground.supervisor,
        ledger=callers.ledger,
        caller_keys=callers.keys,
        decider=operations.decider if operations else None,
        operations=operations,
        ownership=Ownership(ground.database, ground.clock),
        observer=ground.observer,
    )


def _responses(settings: Settings, database: Database, clock: Clock) -> Responses:
    return Responses.of(
        database,
        clock,
        days=settings.store_days,
        most_bytes=settings.store_bytes,
        lease_seconds=max(RESPONSE_LEASE_SECONDS, LEAST_REAL_SECONDS * clock.factor),
    )


def _alerts(settings: Settings, clock: Clock, network: Network, facts: Facts, supervisor: Supervisor) -> Alerts:
    if settings.ntfy_topic is None:
        return Alerts(None, None, facts, clock, supervisor)
    least = LEAST_REAL_SECONDS * clock.factor
    channel = Channel(
        url=settings.ntfy_url,
        topic=settings.ntfy_topic,
        cooldown_seconds=settings.ntfy_cooldown_secs,
        timeouts=Timeouts(max(10.0, least), max(20.0, least), max(20.0, least), max(30.0, least)),
    )
    return Alerts(channel, Transport(clock, max_connections=4, network=network), facts, clock, supervisor)


def secrets_of(settings: Settings) -> list[Secret]:
    """Every secret that the settings hold, for masking."""
    values = (getattr(settings, name) for name in settings.__struct_fields__)
    return [value for value in values if isinstance(value, Secret)]


def lacking(gateway: Gateway) -> Sequence[str]:
    """What the owner of a gateway that can ask nothing is warned of. A credential of the store counts, too."""
    if gateway.order:
        return ()
    ways = {
        "session": "a cookie by PPLX_COOKIE, by 'pplx-gateway login' or on /admin",
        "api": "an API key by PERPLEXITY_API_KEY or on /admin",
    }
    wanted = ", or ".join(ways[name] for name in gateway.settings.upstreams or ways)
    return (
        f"No upstream is set up, so nothing can be asked: give {wanted}. What is missing tells pplx-gateway doctor; to "
        "try it without an account: pplx-gateway demo",
    )


def startup_lines(settings: Settings) -> Sequence[str]:
    """What the owner should read at start: who answers, from where, and what lies open."""
    ready = {"session": settings.cookie, "api": settings.perplexity_api_key or config_path(settings).exists()}
    urls = {"session": settings.session_url, "api": settings.api_url}
    lines = [f"The {name} upstream is {urls[name]}." for name in settings.upstreams if ready[name]]
    if settings.api_key is None:
        lines.append("No PPLX_PROXY_API_KEY is set: whoever reaches this address may use your account.")
    return lines + container_hints(settings, os.environ)
