"""One question under way: what was asked, the reader of its bytes, the assembler of its answer."""

from collections.abc import Callable

from pplx_gateway.answer import Batch
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, UpstreamTimeout
from pplx_gateway.observing.canary import Sight
from pplx_gateway.sse import Event, EventReader
from pplx_gateway.upstreams.session.asked import Asked
from pplx_gateway.upstreams.session.assembler import Assembler
from pplx_gateway.upstreams.session.cleaning import Cleaner
from pplx_gateway.upstreams.session.frames import END, EndOfStream, Frame, decode
from pplx_gateway.upstreams.session.functions.guard import CallGuard
from pplx_gateway.upstreams.session.outlet import TextCleaner
from pplx_gateway.upstreams.session.request import Ask


class Run:
    """`take` and `finish` turn bytes into batches. Pings count for nothing: only a frame of the answer shows life."""

    def __init__(
        self,
        ask: Ask,
        asked: Asked,
        clock: Clock,
        idle_seconds: float,
        clean: Callable[[str], str],
        *,
        sight: Sight | None = None,
    ) -> None:
        self.ask = ask
        self.asked = asked
        self.assembler = Assembler(asked, _cleaner(ask), clean)
        self._clock = clock
        self._idle_seconds = idle_seconds
        self._sight = sight
        self._looks = sight is not None and sight.deep
        self._reader = EventReader()
        self._failure: GatewayError | None = None
        self._began = self._alive_at = clock.monotonic()
        self._warnings: Batch = list(ask.warnings)

    def take(self, data: bytes) -> Batch:
        """Events of one read. Raises GatewayError; what came before a failure within the same read is given first, and
        the failure raised by the next call or by `check`."""
        self.check()
        return self._feed(self._reader.feed(data))

    def finish(self) -> Batch:
        """Events of what stood at the end without a blank line. Raises as `take` does."""
        self.check()
        return self._feed(self._reader.close())

    def close(self) -> Batch:
        """The end of the answer. Where functions were offered it is calls or text only here; raises ToolProtocolError
        if it is neither."""
        end = self.assembler.close()
        return end if self.ask.bridge is None else self.ask.bridge.read(end)

    def check(self) -> None:
        """Raises the failure that waits, if one does."""
        if self._failure is not None:
            raise self._failure

    def take_json(self, body: bytes) -> Batch | None:
        """A whole JSON body in place of a stream; None if it is nothing of an answer's."""
        frame = decode(Event("message", body), self.assembler.oddities)
        if not isinstance(frame, Frame):
            return None
        return self.assembler.feed(frame) + self.assembler.feed(END)

    def ended(self) -> None:
        """Well or badly: what could not be used is told to whoever watches the wire."""
        if self._sight is not None:
            self._sight.oddities(self.assembler.oddities.counts)

    def facts(self) -> dict[str, object]:
        """For the log: nothing of the question or the answer."""
        return {
            "model": self.asked.model,
            "preference": self.asked.preference,
            "followup": self.ask.followup,
            "query_characters": self.ask.query_characters,
            "frames": self.assembler.frames,
            "seconds": round(self._clock.monotonic() - self._began, 3),
            "oddities": self.assembler.oddities.counts,
        }

    def _feed(self, events: list[Event]) -> Batch:
        assembler = self.assembler
        batch: Batch = []
        frames = assembler.frames
        try:
            for event in events:
                frame = decode(event, assembler.oddities)
                if frame is not None:
                    if self._looks:
                        self._look(event.data, frame)
                    batch += assembler.feed(frame)
                    if assembler.ended:
                        break
        except GatewayError as failure:
            if not batch:
                raise
            self._failure = failure
        self._check_life(assembler.frames != frames)
        if batch and self._warnings:
            batch, self._warnings = self._warnings + batch, []
        return batch

    def _look(self, data: bytes, frame: Frame | EndOfStream) -> None:
        if self._sight is not None and isinstance(frame, Frame):
            self._sight.see(data, last=bool(frame.final_sse_message))

    def _check_life(self, alive: bool) -> None:
        now = self._clock.monotonic()
        if alive:
            self._alive_at = now
        elif now - self._alive_at > self._idle_seconds:
            raise UpstreamTimeout(f"Perplexity sent nothing of an answer for {self._idle_seconds:g} seconds.")


class _Verbatim:
    """Leaves text as it came: in a proposal what looks like the page's artefacts may be an argument."""

    def feed(self, text: str) -> str:
        return text

    def close(self) -> str:
        return ""


def _cleaner(ask: Ask) -> TextCleaner:
    if ask.bridge is not None:
        return _Verbatim()
    return CallGuard(Cleaner()) if ask.guarded else Cleaner()
