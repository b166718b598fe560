"""Batches of an answer to one Sonar completion."""

from pplx_gateway.answer import Answer, Batch, Finished
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.openai.reply import Head, Told, told_with
from pplx_gateway.protocols.perplexity.sonar.objects import Shown, whole
from pplx_gateway.protocols.perplexity.sonar.steps import ReasoningSteps


class SonarReply:
    """Fed with every batch, then asked once for the body. `finished` is None until the answer is whole."""

    def __init__(self, told: Told, shown: Shown) -> None:
        self.told = told
        self._shown = shown
        self._answer = Answer()
        self._steps = ReasoningSteps()

    @property
    def finished(self) -> Finished | None:
        return self._answer.finished

    @property
    def told_so_far(self) -> Told:
        return told_with(self.told, self._answer)

    def feed(self, batch: Batch) -> None:
        self._answer.collect(batch)
        for event in batch:
            self._steps.feed(event)

    def body(self, head: Head, finished: Finished) -> bytes:
        """The reply as JSON. `head.model` is what answered."""
        self._steps.close()
        steps = self._steps.whole if self.told.show_steps else ()
        return encode(
            whole(head, "chat.completion", self._answer, finished, steps=steps, told=self.told, shown=self._shown)
        )
