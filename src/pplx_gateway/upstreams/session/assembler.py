"""Frames in, answer events out (docs/wire-session.md 2): every form of an answer, without I/O.

`feed` takes frames as they come and gives what is new in them; `ended` is True once nothing more will come. Before
`close`, whoever reads the stream may look up what the stream did not hold: a thread (`unread_thread`), a report
(`download`). `close` gives the rest and Finished, or raises: an answer is never half a success.
"""

from collections.abc import Callable
from math import ceil

from msgspec import UNSET, Raw

from pplx_gateway.answer import CHARACTERS_A_TOKEN, AnswerEvent, Finished, RelatedQuestions, Started, Usage, Warned
from pplx_gateway.errors import EmptyAnswer, UpstreamError, UpstreamTruncated
from pplx_gateway.upstreams.session import legacy
from pplx_gateway.upstreams.session.answer_blocks import AnswerBlocks, FinalText
from pplx_gateway.upstreams.session.asked import Asked
from pplx_gateway.upstreams.session.chunks import LiveText
from pplx_gateway.upstreams.session.envelope import BLOCKED, COMPLETED, FAILED, Envelope
from pplx_gateway.upstreams.session.failures import AnswerFailed
from pplx_gateway.upstreams.session.findings import Findings
from pplx_gateway.upstreams.session.frames import BROKEN, Block, EndOfStream, Frame, parse
from pplx_gateway.upstreams.session.oddities import Oddities
from pplx_gateway.upstreams.session.outlet import Outlet, TextCleaner
from pplx_gateway.upstreams.session.report import Download
from pplx_gateway.upstreams.session.steps import QUESTIONS_STEP
from pplx_gateway.upstreams.session.substitution import ModelWatch, Sign
from pplx_gateway.upstreams.session.threads import Handle
from pplx_gateway.upstreams.session.verdict import (
    PROCESSING_ERROR,
    asked_to_sign_in,
    failed_answer,
    sign_in_asked,
    stream_error,
)


class Assembler:
    """One answer. `clean` makes the site's own words safe to show in an error."""

    def __init__(self, asked: Asked, cleaner: TextCleaner, clean: Callable[[str], str]) -> None:
        self.oddities = Oddities()
        self.envelope = Envelope()
        self.ended = False
        self.frames = 0
        self._asked = asked
        self._clean = clean
        self._blocks = AnswerBlocks(self.oddities)
        self._findings = Findings(asked, self.oddities)
        self._outlet = Outlet(cleaner, self.oddities, held=asked.hold)
        self._watch = ModelWatch(asked.route, asked.preference)
        self._text: Raw | None = None
        self._legacy: legacy.Legacy | None = None
        self._downloaded: list[str] = []
        self._warnings: list[str] = []

    def feed(self, frame: Frame | EndOfStream) -> list[AnswerEvent]:
        """What is new. Raises GatewayError as soon as the site says that it failed."""
        if isinstance(frame, EndOfStream):
            self.ended = True
            return []
        self._refuse(frame)
        self.envelope.merge(frame)
        if frame.display_model or frame.user_selected_model:
            self._watch.see(frame.display_model, frame.user_selected_model, self._characters)
        events: list[AnswerEvent] = [] if self.frames else [Started(run_id=self.envelope.backend_uuid)]
        self.frames += 1
        for block in frame.blocks or ():
            events += self._block(block)
        if frame.text is not UNSET:
            self._take_text(frame.text)
        events += self._findings.old_lists(frame)
        if (live := self._live()) is not None:
            events += self._outlet.follow(live)
        self._end(frame)
        return events

    def close(self) -> list[AnswerEvent]:
        """The rest and Finished. Raises GatewayError if the answer failed, was cut, is empty or contradicts itself."""
        self._check_end()
        final = self._final()
        asking = final is None and not self._reports() and bool(self._questions)
        if asking:
            final = FinalText("\n".join(self._questions), authoritative=False)
        events: list[AnswerEvent] = [Warned(sentence) for sentence in self._warnings]
        events += self._findings.rest(self._read_legacy().web_results)
        events += self._rest(final)
        if self._asked.related and self._findings.related:
            events.append(RelatedQuestions(self._findings.related))
        return [*events, self._finished(needs_input=asking)]

    # what the reader of the stream may ask in between

    @property
    def sign(self) -> Sign | None:
        """That the site takes us for nobody; at the end there are more signs than before."""
        return self._watch.sign(over=self._over)

    @property
    def spoke(self) -> bool:
        """Answer text has been given out."""
        return self._outlet.spoke

    @property
    def unread_thread(self) -> str | None:
        """The thread to read if the stream held no text or not all of it (2.5 E), or a research without its report;
        None if all is well or lost."""
        if not self._over or self.envelope.status in (FAILED, BLOCKED) or self._questions:
            return None
        research = self._asked.research
        whole = not self._text_missing and not (research and self._findings.download is None)
        return None if whole or self._reports() else self.envelope.place

    def take_thread(self, entry: Frame) -> list[AnswerEvent]:
        """What `unread_thread` held for this answer. Text that is already there is not taken again."""
        if self._text_missing:
            return self.feed(entry)
        return [event for block in entry.blocks or () for event in self._finding(block)]

    @property
    def download(self) -> Download | None:
        """A report that is still to be fetched."""
        return self._findings.download if self._asked.research and not self._reports() else None

    def add_report(self, text: str) -> None:
        self._downloaded.append(text)

    def warn(self, sentence: str) -> None:
        self._warnings.append(sentence)

    # frames

    def _refuse(self, frame: Frame) -> None:
        error = None if frame.error is UNSET else stream_error(frame, self._clean)
        if error is None and frame.upsell_information is not UNSET and asked_to_sign_in(frame):
            error = sign_in_asked()
        if error is not None:
            raise error

    def _block(self, block: Block | None) -> list[AnswerEvent]:
        if block is None:
            self.oddities.note("block_not_an_object")
            return []
        text = self._blocks.of(block.intended_usage or "")
        if text is None:
            return self._findings.block(block.intended_usage or "", block)
        if block.markdown_block is not None:
            text.merge(block.markdown_block)
        if block.diff_block is not None:
            text.apply(block.diff_block.patches or ())
        return []

    def _finding(self, block: Block | None) -> list[AnswerEvent]:
        usage = (block.intended_usage or "") if block is not None else ""
        if block is None or self._blocks.of(usage) is not None:
            return []
        return self._findings.block(usage, block)

    def _take_text(self, text: Raw) -> None:
        self._text, self._legacy = text, None
        if self._asked.research and QUESTIONS_STEP.encode() in bytes(text):
            self._read_legacy()

    def _end(self, frame: Frame) -> None:
        """`final` alone ends nothing: the whole blocks come after it (2.2)."""
        failed = self.envelope.status in (FAILED, BLOCKED)
        if frame.final_sse_message:
            if failed or self.envelope.error_code:
                self._raise_failed()
            self.ended = self.ended or self.envelope.status in (COMPLETED, None)
        elif failed and frame.final:
            self._raise_failed()
        elif self._questions and self.envelope.status != COMPLETED and self._live() is None:
            self.ended = True  # questions to the asker: the site waits for him, and answers them itself if he is slow

    @property
    def _over(self) -> bool:
        return self.ended or self.envelope.status == COMPLETED

    # text

    @property
    def _text_missing(self) -> bool:
        if self._blocks.broken:
            return True
        found = self._blocks.final() or self._read_legacy().answer
        return not found and (self._asked.research or not self._findings.workflow.final())

    @property
    def _questions(self) -> tuple[str, ...]:
        return self._findings.steps.questions

    def _live(self) -> LiveText | None:
        live = self._blocks.live
        workflow = self._findings.workflow
        if live is None and not self._asked.research and workflow.text:
            return workflow
        return live

    def _characters(self) -> int:
        live = self._live()
        return len(live.text) if live is not None else 0

    def _final(self) -> FinalText | None:
        """By precedence (2.9); None if there is no text at all. Raises where a piece of the text is missing."""
        found = self._blocks.final() or self._other_text()
        if found is None and self._blocks.broken:
            raise UpstreamTruncated("A piece of Perplexity's answer never arrived.")
        if found is not None and found.text.strip() == PROCESSING_ERROR:
            raise AnswerFailed("Perplexity could not process the question.")
        return found if found is not None and found.text.strip() else None

    def _other_text(self) -> FinalText | None:
        """In research the texts of a workflow are findings on the way, so there they come last."""
        answer = self._read_legacy().answer
        old = FinalText(answer, authoritative=False) if answer else None
        workflow = self._findings.workflow.final()
        return (old or workflow) if self._asked.research else (workflow or old)

    def _rest(self, final: FinalText | None) -> list[AnswerEvent]:
        events = self._outlet.settle(final) if final is not None else []
        text = final.text if final is not None else ""
        for report in self._reports() if self._asked.research else []:
            if report.strip() not in text:
                events += self._outlet.write(("\n\n" if self._outlet.characters else "") + report)
        events += self._outlet.close()
        if not self._outlet.spoke:
            raise self._nothing("Perplexity's answer is empty.")
        return events

    def _reports(self) -> list[str]:
        return self._downloaded or self._findings.reports

    def _read_legacy(self) -> legacy.Legacy:
        if self._legacy is None:
            text = parse(self._text) if self._text is not None else None
            self._legacy = legacy.read(text) if isinstance(text, str) else legacy.Legacy()
            self._findings.steps.rare(self._legacy.steps)
        return self._legacy

    # the end

    def _raise_failed(self) -> None:
        read = self._read_legacy()
        error = failed_answer(self.envelope, read.answer if read.plain else None, self._clean)
        if error is not None:
            raise error

    def _check_end(self) -> None:
        self._raise_failed()
        if self._over:
            return
        if not self.frames:
            raise self._nothing("Perplexity sent no answer.")
        raise UpstreamTruncated("Perplexity's answer broke off before its end.")

    def _nothing(self, sentence: str) -> UpstreamError:
        """Nothing was said, or nothing of it could be read."""
        if BROKEN in self.oddities.counts:
            return UpstreamError("Perplexity sent an answer that is not JSON.")
        return EmptyAnswer(sentence)

    def _finished(self, *, needs_input: bool) -> Finished:
        served = self._watch.served(self._outlet.characters)
        return Finished(
            reason="stop",
            served_model=served.model,
            substituted_by=served.substitute,
            needs_input=needs_input,
            usage=self._usage(),
            continuation=None if needs_input else self._handle(),
        )

    def _usage(self) -> Usage:
        thoughts = ceil(self._findings.reasoning_characters / CHARACTERS_A_TOKEN)
        return Usage(
            input_tokens=ceil(self._asked.query_characters / CHARACTERS_A_TOKEN),
            output_tokens=ceil(self._outlet.characters / CHARACTERS_A_TOKEN) + thoughts,
            reasoning_tokens=thoughts,
            search_queries=self._findings.query_count or None,
            estimated=True,
        )

    def _handle(self) -> Handle | None:
        """Only a turn that ended COMPLETED can be continued (1.3)."""
        envelope = self.envelope
        if envelope.status != COMPLETED or envelope.backend_uuid is None:
            return None
        return Handle(
            backend_uuid=envelope.backend_uuid,
            read_write_token=envelope.read_write_token,
            context_uuid=envelope.context_uuid,
            model=self._asked.model,
            attachments=self._asked.attachments,
        )
