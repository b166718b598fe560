"""Opens what knows the callers: the ledger of what they use, and their keys."""

from typing import NamedTuple

from pplx_gateway.caller_keeping import LOOK_SECONDS, CallerKeys
from pplx_gateway.ledger import FORGET_SECONDS, Ledger
from pplx_gateway.opening.session import LEAST_REAL_SYNC_SECONDS, Ground
from pplx_gateway.store import Database
from pplx_gateway.store.caller_keys import CallerKeyRows
from pplx_gateway.store.ledger import LedgerRows


class OpenedCallers(NamedTuple):
    """`parts` in the order in which they are to be closed."""

    ledger: Ledger
    keys: CallerKeys
    parts: tuple[Ledger, Database]


async def open_callers(ground: Ground, database: Database) -> OpenedCallers:
    """`database` is a connection of the ledger's own, so that a long report makes no request wait. Raises
    StoreUnavailable."""
    settings, clock, supervisor = ground.settings, ground.clock, ground.supervisor
    ledger = Ledger(LedgerRows(database), clock, days=settings.ledger_days)
    ledger.watch = ground.observer.requests
    keys = CallerKeys(CallerKeyRows(ground.database), clock)
    await keys.refresh()
    supervisor.keep("ledger", ledger.run)
    supervisor.every("old rows of the ledger", FORGET_SECONDS, ledger.forget)
    supervisor.every("callers' keys", max(LOOK_SECONDS, LEAST_REAL_SYNC_SECONDS * clock.factor), keys.keep_up)
    return OpenedCallers(ledger, keys, (ledger, database))
