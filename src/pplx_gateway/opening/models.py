"""Puts together what keeps the session's models and quota, around a session that is open already."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import msgspec

from pplx_gateway.catalogue import Catalogue, Tier
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.opening.session import LEAST_REAL_SYNC_SECONDS, SYNC_SECONDS, Ground, OpenedSession
from pplx_gateway.store import Facts
from pplx_gateway.store.quota_history import QuotaHistory
from pplx_gateway.transport import Network, Transport
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.session.counted import CountedSession
from pplx_gateway.upstreams.session.discovery import TURN_SECONDS, Discovery, DiscoveryRules
from pplx_gateway.upstreams.session.flaresolverr import SolverPages
from pplx_gateway.upstreams.session.probing import Prober
from pplx_gateway.upstreams.session.quota import Quota
from pplx_gateway.upstreams.session.quota_page import DirectPages, Pages
from pplx_gateway.upstreams.session.upstream import SessionUpstream

# A probe takes real seconds, however fast a test's clock runs.
LEAST_REAL_TURN_SECONDS = 60.0


class OpenedModels(NamedTuple):
    """`upstream` takes the place of the session's own. `parts` are to be closed before the store is."""

    upstream: CountedSession
    keeper: ModelKeeper
    quota: Quota
    discovery: Discovery
    parts: tuple[Discovery | Transport, ...]


async def open_models(
    ground: Ground, opened: OpenedSession, catalogue: Catalogue, old_files: Path | None
) -> OpenedModels:
    """Raises StoreUnavailable."""
    clean = Faults("Perplexity", "PPLX_COOKIE", opened.credentials.secrets, ground.clock).clean
    direct = DirectPages(opened.way_out, opened.credentials, ground.clock, opened.options, clean)
    solver = _solver(ground)
    quota = _quota(ground, opened, direct, solver)
    keeper = ModelKeeper(catalogue, Facts(ground.database), ground.clock)
    await keeper.sync()
    if old_files is not None:
        await keeper.take_over(old_files)
    discovery = _discovery(ground, opened, keeper, quota, direct)
    parts = (discovery, *((solver,) if solver else ()))
    models = OpenedModels(CountedSession(opened.upstream, quota), keeper, quota, discovery, parts)
    _keep(ground, models)
    return models


def _quota(ground: Ground, opened: OpenedSession, direct: DirectPages, solver: Transport | None) -> Quota:
    pages: Pages = direct
    if solver is not None:
        pages = SolverPages(solver, ground.settings.flaresolverr_url, opened.credentials, opened.options, ground.clock)
    return Quota(
        pages,
        opened.life,
        opened.credentials,
        facts=Facts(ground.database),
        leases=ground.leases,
        clock=ground.clock,
        supervisor=ground.supervisor,
        history=QuotaHistory(ground.database, ground.clock),
    )


def _discovery(
    ground: Ground, opened: OpenedSession, keeper: ModelKeeper, quota: Quota, pages: DirectPages
) -> Discovery:
    return Discovery(
        keeper,
        Prober(CountedSession(_probing(ground, opened), quota)),
        pages,
        life=opened.life,
        quota=quota,
        facts=Facts(ground.database),
        leases=ground.leases,
        clock=ground.clock,
        tier=_tier(ground, opened),
        rules=DiscoveryRules(
            interval_seconds=ground.settings.probe_interval_hours * 3600,
            probes_per_day=ground.settings.probes_per_day,
            version=ground.settings.api_version,
            turn_seconds=max(TURN_SECONDS, LEAST_REAL_TURN_SECONDS * ground.clock.factor),
        ),
        alarm=ground.alerts.send,
    )


def _keep(ground: Ground, models: OpenedModels) -> None:
    async def sync() -> None:
        await models.keeper.sync()
        await models.quota.sync()
        await models.discovery.sync()

    seconds = max(SYNC_SECONDS, LEAST_REAL_SYNC_SECONDS * ground.clock.factor)
    ground.supervisor.every("models sync", seconds, sync)
    ground.supervisor.keep("quota reading", models.quota.keep_reading)
    if ground.settings.probe_interval_hours > 0:
        ground.supervisor.keep("discovery", models.discovery.keep_discovering)


def _solver(ground: Ground) -> Transport | None:
    """It stands in the owner's own network, so no proxy leads to it."""
    if not ground.settings.flaresolverr_url:
        return None
    return Transport(ground.clock, max_connections=2, network=Network(ca_file=ground.network.ca_file))


def _probing(ground: Ground, opened: OpenedSession) -> SessionUpstream:
    """Without threads, and never in the owner's library."""
    options = msgspec.structs.replace(opened.options, incognito=True)
    return SessionUpstream(opened.way_out, ground.clock, opened.credentials, None, options, life=opened.life)


def _tier(ground: Ground, opened: OpenedSession) -> Callable[[], Tier]:
    return lambda: ground.settings.account_type or opened.life.tier or "pro"
