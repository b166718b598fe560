"""The seam between questions and whoever answers them."""

from collections.abc import AsyncGenerator, Mapping
from typing import Protocol

from pplx_gateway.answer import Batch
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.question import Question


class Upstream(Protocol):
    """One side that answers. Implementations hold no state of a single question outside `ask`."""

    name: str

    def support(self, model: Model) -> Mapping[Feature, Support]:
        """What this upstream honours when `model` answers."""
        ...

    def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """Yields batches; the last one holds Finished. Raises GatewayError.

        `caller` is an opaque, stable id of whoever asks; continuations never cross it. Closing the generator
        (`aclosing`) ends the upstream's work within a second, also while the upstream is silent.
        """
        ...

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        """Keeps what Finished.continuation gave, to be found again by the turns exactly as the caller saw them.

        Raises StoreUnavailable. An upstream that gives no continuations does nothing.
        """
        ...

    async def close(self) -> None:
        """Ends every open transfer with an error and frees what is held."""
        ...
