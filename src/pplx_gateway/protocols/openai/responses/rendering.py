"""The events of one response, whoever of its targets answers, and also where some are known from an earlier reading."""

from collections.abc import Iterable

import msgspec

from pplx_gateway.answer import Batch, Finished
from pplx_gateway.errors import GatewayError, UpstreamError
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.call import told
from pplx_gateway.protocols.openai.reply import Told, answered_by
from pplx_gateway.protocols.openai.responses.events import DONE, Event, frame
from pplx_gateway.protocols.openai.responses.objects import Status
from pplx_gateway.protocols.openai.responses.plan import Plan
from pplx_gateway.protocols.openai.responses.writer import ResponseWriter
from pplx_gateway.store.records import Ending, StoredItem

SUCCEEDED = ("completed", "incomplete")


class RunChanged(UpstreamError):
    """The upstream tells another story of a run than it did before."""

    code = "run_changed"


class Rendering:
    """`begin`, then `feed` for each batch. `known` are the types of the events that need not be told again: they are
    left out, after a look whether they agree."""

    def __init__(self, plan: Plan, gateway: Gateway, known: Iterable[str] = ()) -> None:
        self.plan = plan
        self._gateway = gateway
        self._known = list(known)
        self._next = 0  # the number of the event that comes next
        self._exchange: Exchange | None = None
        self._writer = self._new_writer()

    @property
    def over(self) -> bool:
        return self._writer.over

    @property
    def status(self) -> Status:
        return self._writer.status

    @property
    def finished(self) -> Finished | None:
        return self._writer.finished

    @property
    def told(self) -> Told:
        return self._writer.told_so_far

    @property
    def caught_up(self) -> bool:
        """False while what is known already has not been seen again."""
        return self._next >= len(self._known)

    def object(self) -> bytes:
        return self._writer.object()

    def begin(self) -> list[Event]:
        first = self._news(self._writer.begin())
        self._known += [event.type for event in first]
        return first

    def feed(self, batch: Batch, exchange: Exchange) -> list[Event]:
        """Raises RunChanged."""
        self._exchange = exchange
        if self._writer.told.upstream != exchange.served_by.upstream:
            self._take_over(exchange)
        return self._news(self._writer.feed(batch))

    def fail(self, error: GatewayError) -> list[Event]:
        """Only if `caught_up`."""
        return self._news(self._writer.fail(error))

    def cancel(self) -> None:
        self._writer.cancel()

    def noted(self, exchange: Exchange) -> Plan:
        """The plan, with what is known of who answers."""
        return msgspec.structs.replace(self.plan, told=self._writer.told, model=exchange.served_by)

    def ending(self, events: Iterable[Event] = (), *, free_key: bool = False) -> Ending:
        """What the store keeps of the end. `events` are those that it does not know yet."""
        return Ending(
            status=self.status,
            object=self.object(),
            output_items=[with_id(item) for item in self._writer.output_items],
            events=list(events),
            free_key=free_key,
        )

    def _take_over(self, exchange: Exchange) -> None:
        """Another target answers now. It does so before anything was shown but the beginning."""
        plan = self.plan
        self._writer = self._new_writer()
        self._writer.told = told(plan.question, plan.told.dropped, plan.told.warnings, exchange)

    def _answered_by(self, finished: Finished) -> str:
        if self._exchange is None:
            return self.plan.echo.model
        return answered_by(finished, self._exchange.served_by, self._gateway.catalogue)

    def _new_writer(self) -> ResponseWriter:
        plan = self.plan
        return ResponseWriter(
            plan.response_id,
            plan.echo,
            plan.shown,
            plan.told,
            plan.created_at,
            answered_by=self._answered_by,
            now=self._gateway.clock.now,
        )

    def _news(self, events: list[Event]) -> list[Event]:
        if not events:
            return events
        self._next = events[-1].number + 1
        old = max(0, len(self._known) - events[0].number)
        for event in events[:old]:
            if self._known[event.number] != event.type:
                raise RunChanged(
                    "The run was picked up again, and the upstream told something else than before: event "
                    f"{event.number} was {self._known[event.number]} and is {event.type} now."
                )
        return events[old:]


class _Identified(msgspec.Struct):
    id: str


def with_id(item: bytes) -> StoredItem:
    return msgspec.json.decode(item, type=_Identified).id, item


def frames(events: Iterable[Event], status: Status) -> bytes:
    """As they go over the wire; `[DONE]` behind them if the response has succeeded."""
    return b"".join(map(frame, events)) + (DONE if status in SUCCEEDED else b"")
