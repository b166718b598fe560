"""What a gateway holds beside its upstreams. It need not have any of it: a test may do without."""

from typing import NamedTuple

from pplx_gateway.caller_keeping import CallerKeys
from pplx_gateway.discovering import Discovery
from pplx_gateway.ledger import Ledger
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.observing.observer import Observer
from pplx_gateway.operations import Decider
from pplx_gateway.standing import Quota, Session
from pplx_gateway.store import Files, Ownership, Responses
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.upstreams.api.keys import KeyKeeper
from pplx_gateway.upstreams.api.operations import Operations


class Held(NamedTuple):
    """None = this gateway has no such part."""

    files: Files | None = None
    responses: Responses | None = None
    session: Session | None = None
    keys: KeyKeeper | None = None
    quota: Quota | None = None
    keeper: ModelKeeper | None = None
    discovery: Discovery | None = None
    supervisor: Supervisor | None = None
    ledger: Ledger | None = None
    caller_keys: CallerKeys | None = None
    decider: Decider | None = None
    operations: Operations | None = None
    ownership: Ownership | None = None
    observer: Observer | None = None


NOTHING = Held()
