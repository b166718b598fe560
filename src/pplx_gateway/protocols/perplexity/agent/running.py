"""A run of the api upstream on its way to a caller who waits for it: whose it is, what it costs, how it goes on."""

import logging
from types import TracebackType
from typing import Self

from pplx_gateway.answer import Finished, Started, TextDelta
from pplx_gateway.errors import StoreUnavailable, UpstreamTruncated
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Owned, RunEnd, RunEvent
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.perplexity.agent.frames import frames
from pplx_gateway.routing import Route
from pplx_gateway.store.ownership import Kind, Thing
from pplx_gateway.tab import Tab
from pplx_gateway.web.event_stream import EventStream

logger = logging.getLogger("pplx_gateway")

KIND: Kind = "run"
UNBILLED = "unbilled"
_DELTA = "response.output_text.delta"
_SKIPPED = "Some events were lost on the way. The whole response is there: ask for it by its id."


class Bill:
    """The ledger's part of one run. As a context manager it settles what it claimed; `hand_over` leaves that to
    whoever watches the run from then on."""

    def __init__(self, gateway: Gateway, route: Route, tab: Tab | None) -> None:
        self._gateway = gateway
        self._route = route
        self._tab = tab

    @classmethod
    def begun(cls, gateway: Gateway, caller: str, route: Route) -> Self:
        tab = gateway.ledger.claimed(caller, route.requested)
        tab.asking(route.targets[0])
        return cls(gateway, route, tab)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._tab is not None:
            self._tab.settle(error)
            self._tab = None

    def hand_over(self) -> "Bill":
        tab, self._tab = self._tab, None
        return Bill(self._gateway, self._route, tab)

    def made_with(self, key_name: str) -> None:
        if self._tab is not None:
            self._tab.heard([Started(key_name=key_name)])

    def heard(self, events: list[RunEvent]) -> None:
        if self._tab is not None and not self._tab.heard_text and any(event.type == _DELTA for event in events):
            self._tab.heard([TextDelta("")])

    def ended(self, end: RunEnd) -> None:
        """A run of which nothing was used has nothing to be paid."""
        if self._tab is not None and end.failure is not None:
            self._tab.refused(end.failure)
        if self._tab is not None and end.usage is not None:
            target = self._route.targets[0]
            served = self._gateway.catalogue.answered(target, end.model)
            self._tab.answered(served, Finished(reason="stop", served_model=end.model, usage=end.usage))


async def bind(gateway: Gateway, caller: str, owned: Owned, *, unbilled: bool) -> Thing | None:
    """Notes whose the run is. None where that cannot be noted: then nobody finds it again."""
    purpose = UNBILLED if unbilled else ""
    thing = Thing(KIND, owned.id, owned.id, owned.key_name, caller, purpose)
    try:
        await Things(gateway, caller).note(thing)
    except StoreUnavailable as error:
        logger.warning("run not kept", extra={"why": error.message})
        return None
    return thing


def response_of(end: RunEnd) -> bytes:
    """The response object of a run that has one. Raises GatewayError where it came to nothing."""
    if end.response and (end.failure is None or end.status == "failed"):
        return end.response
    raise end.failure or UpstreamTruncated("The upstream's run ended without a response.")


async def finish(end: RunEnd, events: list[RunEvent], stream: EventStream) -> None:
    """Tells the last events, and closes. Raises GatewayError where the very last is missing, or is not to be told."""
    fault = UpstreamTruncated(_SKIPPED) if end.skipped else None if end.status == "failed" else end.failure
    if fault is None:
        await stream.close(frames(events))
        return
    if events and not end.skipped:
        await stream.write(frames(events))
    raise fault
