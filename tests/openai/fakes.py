"""A real gateway on upstreams that say what a test wants."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import Any

from pplx_gateway.answer import Batch, Finished, Source, Sources, Started, TextDelta, Usage
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.clock import Clock
from pplx_gateway.gateway import Gateway
from pplx_gateway.question import Question
from pplx_gateway.settings import Secret, Settings

KEY = "gk-test-0123456789"

LEIE = Source(id=1, url="https://a.example/leie", title="Leie", snippet="A river.", date="2026-02-03")
SCHELDT = Source(id=2, url="https://b.example/scheldt", title="Scheldt", snippet="Another river.")
USAGE = Usage(input_tokens=20, output_tokens=9)
WHOLE: list[Batch] = [
    [Started(run_id="r1")],
    [Sources((LEIE, SCHELDT))],
    [TextDelta("The Leie[1] meets ")],
    [TextDelta("the Scheldt[2]."), Finished(reason="stop", served_model="perplexity/sonar", usage=USAGE)],
]

Step = Batch | BaseException | asyncio.Event | Callable[[], object]

EVERYTHING = dict.fromkeys(Feature, Support.HONOURED)


class FakeUpstream:
    """Plays `steps`: a batch is yielded, an exception raised, an event waited for, a callable called.

    `asked` and `callers` record; `reached` is set once a question came, `closed` once its work was ended."""

    def __init__(
        self, name: str, steps: Sequence[Step] = WHOLE, support: Mapping[Feature, Support] = EVERYTHING
    ) -> None:
        self.name = name
        self.steps = steps
        self.asked: list[Question] = []
        self.callers: list[str] = []
        self.reached = asyncio.Event()
        self.closed = asyncio.Event()
        self._support = support

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return self._support

    async def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        self.asked.append(question)
        self.callers.append(caller)
        self.reached.set()
        try:
            for step in self.steps:
                match step:
                    case list():
                        yield step
                    case BaseException():
                        raise step
                    case asyncio.Event():
                        await step.wait()
                    case _:
                        step()
        finally:
            self.closed.set()

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        return None

    async def close(self) -> None:
        return None


def gateway(*upstreams: FakeUpstream, factor: float = 1.0, **settings: Any) -> Gateway:
    """A gateway with the key KEY (unless told otherwise) on these upstreams, the api if there are none."""
    chosen: dict[str, Any] = {"api_key": Secret(KEY), "account_type": "max", "allow_spending": True, **settings}
    found = {upstream.name: upstream for upstream in upstreams or (FakeUpstream("api"),)}
    return Gateway(Settings(**chosen), Clock(factor), Catalogue.built_in(), found)
