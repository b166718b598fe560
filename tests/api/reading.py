"""Short ways to feed a reader and to collect what it says."""

from collections.abc import Container, Iterable, Sequence

from pplx_gateway.answer import Answer, Batch, Finished
from pplx_gateway.catalogue import AgentRoute
from pplx_gateway.errors import GatewayError
from pplx_gateway.upstreams.api.assembly import Assembly
from pplx_gateway.upstreams.api.reader import Reader
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.names import Names
from tests.api.fakes import FakeClock

BARE = AgentRoute(model="perplexity/sonar", search="force")
LEVEL = AgentRoute(effort="medium")
OFFERED = frozenset(("f", "g", "web_search"))


class Reading:
    """A reader with everything that it said. `kept` are the signatures."""

    def __init__(
        self,
        route: AgentRoute = BARE,
        *,
        names: Names | None = None,
        may_call: Container[str] = OFFERED,
        warnings: Sequence[str] = (),
    ) -> None:
        self.kept: dict[str, str] = {}
        self.events: Batch = []
        faults = Faults("The Perplexity API", "PERPLEXITY_API_KEY", lambda: ("pplx-SECRET",), FakeClock())
        self.assembly = Assembly(
            route,
            names or Names(()),
            may_call=may_call,
            faults=faults,
            keep_signature=self.kept.__setitem__,
        )
        self.reader = Reader(self.assembly, faults, warnings)

    def feed(self, *data: bytes) -> Batch:
        batch: Batch = []
        for piece in data:
            if not self.reader.over:
                batch += self.reader.feed(piece)
        self.events += batch
        return batch

    def close(self) -> Batch:
        batch = self.reader.close()
        self.events += batch
        return batch

    @property
    def answer(self) -> Answer:
        answer = Answer()
        answer.collect(self.events)
        return answer

    @property
    def finished(self) -> Finished:
        assert self.reader.failure is None
        (finished,) = (event for event in self.events if isinstance(event, Finished))
        assert self.events[-1] is finished
        return finished

    @property
    def failure(self) -> GatewayError:
        assert self.reader.failure is not None
        assert not any(isinstance(event, Finished) for event in self.events)
        return self.reader.failure


def read(data: bytes | Iterable[bytes], route: AgentRoute = BARE, *, may_call: Container[str] = OFFERED) -> Reading:
    """All of a reply, to its end."""
    reading = Reading(route, may_call=may_call)
    reading.feed(*([data] if isinstance(data, bytes) else data))
    reading.close()
    return reading
