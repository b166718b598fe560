"""Puts the api upstream together, with the keys that it asks with."""

import logging
from pathlib import Path
from typing import NamedTuple

from pplx_gateway import logs
from pplx_gateway.environment import variables
from pplx_gateway.opening.session import LEAST_REAL_SYNC_SECONDS, Ground
from pplx_gateway.settings import Settings
from pplx_gateway.store import Facts
from pplx_gateway.store.signatures import StoredSignatures
from pplx_gateway.transport import Transport
from pplx_gateway.upstreams.api import ApiOptions, ApiUpstream
from pplx_gateway.upstreams.api.keys import KeyKeeper, KeyPool, only_key
from pplx_gateway.upstreams.api.keys.edits import KeptEdits
from pplx_gateway.upstreams.api.keys.form import environment
from pplx_gateway.upstreams.api.keys.keeping import LOOK_SECONDS
from pplx_gateway.upstreams.api.keys.key import VARIABLE
from pplx_gateway.upstreams.api.keys.sharing import SharedHealth
from pplx_gateway.upstreams.api.signatures import Signatures

CONFIG_FILE = "config.json"

logger = logging.getLogger("pplx_gateway")


class OpenedApi(NamedTuple):
    upstream: ApiUpstream
    keys: KeyKeeper


async def open_api(ground: Ground) -> OpenedApi:
    """Raises SettingsError, StoreUnavailable. With or without a key: one may be added later."""
    settings, clock = ground.settings, ground.clock
    pool = KeyPool(clock)
    default = only_key(settings.perplexity_api_key) if settings.perplexity_api_key else None
    facts = Facts(ground.database)
    shared = SharedHealth(pool, facts, clock)
    keys = KeyKeeper(
        pool,
        KeptEdits(facts),
        environment(variables(), {VARIABLE: settings.perplexity_api_key}),
        config_path(settings),
        default,
        required=bool(settings.config),
        shared=shared,
    )
    ground.alerts.hide(pool.secrets)
    ground.observer.canary.hide(pool.secrets)
    logs.hide(pool.secrets)
    await keys.open()
    network_config = keys.config.network
    options = network_config.applied(api_options(settings), api_options(Settings()))
    network = network_config.network(ground.network)
    signatures = (
        StoredSignatures(ground.database, clock, keep_days=settings.store_days) if settings.store_days else None
    )
    upstream = ApiUpstream(
        ground.observer.around(Transport(clock, max_connections=settings.max_connections, network=network), "api"),
        clock,
        pool,
        settings.api_url,
        options,
        signatures=Signatures(signatures),
        headers=network_config.extra_headers,
        canary=ground.observer.canary,
    )
    seconds = max(LOOK_SECONDS, LEAST_REAL_SYNC_SECONDS * clock.factor)
    ground.supervisor.every("key sync", seconds, keys.refresh)
    ground.supervisor.keep("key health", shared.run)
    return OpenedApi(upstream, keys)


def config_path(settings: Settings) -> Path:
    return Path(settings.config) if settings.config else settings.folder / CONFIG_FILE


def api_options(settings: Settings) -> ApiOptions:
    return ApiOptions(
        connect_seconds=settings.connect_timeout_seconds,
        first_byte_seconds=settings.first_byte_timeout_seconds,
        idle_seconds=settings.idle_timeout_seconds,
        research_seconds=settings.research_timeout_seconds,
        total_seconds=settings.total_timeout_seconds or None,
    )
