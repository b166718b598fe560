"""perplexity.ai through the owner's browser session: the Upstream that asks it."""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from urllib.parse import quote, urlencode
from uuid import UUID, uuid4

import msgspec

from pplx_gateway.answer import Batch
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, SessionExpired, UpstreamError, UpstreamTruncated
from pplx_gateway.observing.canary import Canary
from pplx_gateway.question import Question
from pplx_gateway.transport.exchange import Outgoing, Streaming
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.session.admission import Admission
from pplx_gateway.upstreams.session.asked import Asked
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.download import MISSING, fetch_report
from pplx_gateway.upstreams.session.envelope import COMPLETED
from pplx_gateway.upstreams.session.failures import AnswerFailed, CookieOutdated, FreeTierLimited, SignInAsked
from pplx_gateway.upstreams.session.frames import Frame, from_document, parse
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.images import ImageWish
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.login import Login
from pplx_gateway.upstreams.session.options import LOOKUP_TIMEOUTS, SessionOptions
from pplx_gateway.upstreams.session.prompts import PromptFiles
from pplx_gateway.upstreams.session.refusals import PAGE_BYTES, Page, looks_like_page, refusal
from pplx_gateway.upstreams.session.request import ASK_PATH, Ask, compose, route_of
from pplx_gateway.upstreams.session.run import Run
from pplx_gateway.upstreams.session.support import support_of
from pplx_gateway.upstreams.session.threads import Handle, Threads
from pplx_gateway.upstreams.session.transcript import Attachment
from pplx_gateway.upstreams.session.uploads import Uploads
from pplx_gateway.upstreams.session.way_out import WayOut

logger = logging.getLogger("pplx_gateway.session")

ASK_REASON = "ask-query-state-provider"
THREAD_PATH = "/rest/thread/"
_WHOLE_THREAD = {"limit": 100, "offset": 0, "from_first": "true", "with_schematized_response": "true"}
# A response that has told all may be let go of; a moment for it to end by itself keeps its connection usable.
DRAIN_SECONDS = 0.1


class SessionUpstream:
    """One owner, one session. A question is sent once; only a stale thread handle is worth a second try, as a new
    thread."""

    name = "session"

    def __init__(
        self,
        transport: WayOut,
        clock: Clock,
        credentials: Credentials,
        threads: Threads | None = None,
        options: SessionOptions | None = None,
        *,
        life: Life | None = None,
        prompts: PromptFiles | None = None,
        canary: Canary | None = None,
        new_uuid: Callable[[], UUID] = uuid4,
    ) -> None:
        self._options = options or SessionOptions()
        self._life = life or Life(Login(transport, self._options), credentials, clock, self._options)
        self._way_out = transport
        self._clock = clock
        self._credentials = credentials
        self._threads = threads
        self._prompts = prompts or PromptFiles()
        self._canary = canary
        self._new_uuid = new_uuid
        self._clean = Faults("Perplexity", "PPLX_COOKIE", credentials.secrets, clock).clean
        self._uploads = Uploads(transport, clock, credentials, self._options, clean=self._clean, new_uuid=new_uuid)

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return support_of(model)

    async def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """One batch for each read from the wire, the last with Finished. A caller who does not stream gets the text
        once, at the end, in its final version."""
        handle = await self._handle(question, model, caller)
        ask = self._compose(question, model, handle)
        admission = await self._admission()
        sent: dict[Attachment, str] = {}
        run = self._run(await self._laden(ask, sent, admission), question, model)
        shown = False
        try:
            async with aclosing(self._answer(run, admission)) as batches:
                async for batch in batches:
                    shown = True
                    yield batch
        except AnswerFailed:
            if handle is None or run.assembler.spoke:
                raise
            handle = None
            logger.info("the thread is gone, asking anew", extra={"model": model.id})
        except CookieOutdated:
            if shown:
                raise
            logger.info("the cookie was renewed meanwhile, asking anew", extra={"model": model.id})
        else:
            return
        admission = await self._admission()
        run = self._run(await self._laden(self._compose(question, model, handle), sent, admission), question, model)
        async with aclosing(self._answer(run, admission)) as batches:
            async for batch in batches:
                yield batch

    async def check(self, question: Question, model: Model, caller: str) -> None:
        """See Checker."""
        self._compose(question, model, await self._handle(question, model, caller))

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        """Raises StoreUnavailable."""
        if self._threads is not None and isinstance(continuation, Handle):
            await self._threads.remember(question, model, caller, text_as_returned, continuation)

    async def close(self) -> None:
        await self._life.close()
        await self._way_out.close()

    # asking

    async def _handle(self, question: Question, model: Model, caller: str) -> Handle | None:
        return await self._threads.find(question, model, caller) if self._threads else None

    async def _admission(self) -> Admission:
        return await Admission.begin(self._life, self._credentials, self._clock, self._options.hold_seconds)

    def _compose(self, question: Question, model: Model, handle: Handle | None) -> Ask:
        return compose(question, model, self._options, new_uuid=self._new_uuid, handle=handle, prompts=self._prompts)

    async def _laden(self, ask: Ask, sent: dict[Attachment, str], admission: Admission) -> Ask:
        """`ask` with its attachments. `sent` holds the addresses of those that are there already, and grows."""
        try:
            sent |= await self._uploads.send([each for each in ask.unsent if each not in sent])
        except SessionExpired:
            await admission.clear(sign="hint")
            raise
        addresses = dict.fromkeys((*ask.attachments, *(sent[each] for each in ask.unsent)))
        return msgspec.structs.replace(ask, attachments=tuple(addresses), unsent=())

    def _run(self, ask: Ask, question: Question, model: Model) -> Run:
        search = question.search
        asked = Asked(
            model=model.id,
            route=route_of(model),
            preference=ask.preference,
            query_characters=ask.query_characters,
            attachments=ask.attachments,
            research=model.research,
            images=ImageWish(search.image_formats, search.image_domains) if search.images else None,
            related=search.related_questions,
            hold=not question.streamed or ask.bridge is not None,
        )
        idle_seconds = self._options.timeouts_for(research=model.research).idle
        sight = self._canary.sight("session") if self._canary else None
        return Run(ask, asked, self._clock, idle_seconds, self._clean, sight=sight)

    async def _answer(self, run: Run, admission: Admission) -> AsyncGenerator[Batch, None]:
        try:
            admission.sending()
            async with self._way_out.stream(self._outgoing(run)) as response:
                body = aiter(response)
                batch = await self._unlike_a_stream(response, run)
                await admission.answered(response.headers)
                if batch is None:
                    async with aclosing(self._stream(response, body, run, admission)) as batches:
                        async for more in batches:
                            yield more
                yield (batch or []) + await self._finish(run, admission)
                run.ended()
                logger.info("session answered", extra=run.facts())
                await response.finish(DRAIN_SECONDS)
        except GatewayError as error:
            run.ended()
            logger.info("session failed", extra={**run.facts(), "code": error.code})
            if isinstance(error, FreeTierLimited | SignInAsked | SessionExpired):
                await admission.clear(sign="hint")
            raise

    async def _stream(
        self, response: Streaming, body: AsyncIterator[bytes], run: Run, admission: Admission
    ) -> AsyncGenerator[Batch, None]:
        assembler = run.assembler
        begun = False
        try:
            async for data in body:
                if not begun and (begun := bool(data.strip())) and looks_like_page(data):
                    raise await self._refusal(response, data)
                batch = run.take(data)
                del data  # or it stays while the next is awaited
                if batch:
                    await admission.clear(sign=assembler.sign)
                    yield batch
                run.check()
                if assembler.ended:
                    return
        except UpstreamTruncated:
            if assembler.envelope.status != COMPLETED:
                raise
        if batch := run.finish():
            await admission.clear(sign=assembler.sign)
            yield batch
            run.check()

    async def _finish(self, run: Run, admission: Admission) -> Batch:
        """What the stream did not hold, then the end of the answer."""
        assembler = run.assembler
        await admission.clear(sign=assembler.sign)
        batch: Batch = []
        if (thread := assembler.unread_thread) is not None and (frame := await self._thread(thread, run)) is not None:
            batch += assembler.take_thread(frame)
        if (download := assembler.download) is not None:
            report = await fetch_report(self._way_out, download, self._options)
            if report is None:
                assembler.warn(MISSING)
            else:
                assembler.add_report(report)
        return batch + run.close()

    # requests

    def _outgoing(self, run: Run) -> Outgoing:
        url = self._options.origin + ASK_PATH
        headers = self._headers(url, ASK_REASON, accept="text/event-stream")
        return Outgoing(
            method="POST",
            url=url,
            headers={**headers, "content-type": "application/json", "x-request-id": run.ask.id},
            body=run.ask.body,
            timeouts=self._options.timeouts_for(research=run.asked.research),
        )

    async def _thread(self, name: str, run: Run) -> Frame | None:
        """The entry of this very run, read back from its thread; None where there is none, or none that is whole."""
        query = urlencode({"version": self._options.api_version, "source": "default", **_WHOLE_THREAD})
        url = f"{self._options.origin}{THREAD_PATH}{quote(name, safe='')}?{query}"
        headers = self._headers(url, "thread-body", accept="application/json")
        outgoing = Outgoing(method="GET", url=url, headers=headers, timeouts=LOOKUP_TIMEOUTS)
        version = self._credentials.version
        try:
            incoming = await self._way_out.request(outgoing)
        except UpstreamError:
            return None
        document = parse(incoming.body) if incoming.status == 200 else None
        if isinstance(document, dict):
            await self._credentials.adopt(incoming.headers, version)
        entries = document.get("entries") if isinstance(document, dict) else None
        for entry in entries if isinstance(entries, list) else []:
            if isinstance(entry, dict) and entry.get("backend_uuid") == run.assembler.envelope.backend_uuid:
                frame = from_document(entry, run.assembler.oddities)
                return frame if (frame.status or "").upper() == COMPLETED else None
        return None

    def _headers(self, url: str, reason: str, *, accept: str) -> dict[str, str]:
        return page_headers(self._options, url, reason, self._credentials.cookie(), accept=accept)

    # responses

    async def _unlike_a_stream(self, response: Streaming, run: Run) -> Batch | None:
        """None for a stream of events. A JSON body of an answer's shape gives its events; all else raises."""
        kind = (response.headers.get("content-type") or "").lower()
        challenged = response.headers.get("cf-mitigated") is not None
        if response.status == 200 and not challenged and "html" not in kind and "json" not in kind:
            return None
        body = await response.read(PAGE_BYTES if response.status != 200 else 8 << 20)
        page = Page(response.status, response.headers, body)
        batch = run.take_json(body) if response.status == 200 and not page.html and not page.challenge else None
        if batch is None:
            raise self._error(page)
        return batch

    async def _refusal(self, response: Streaming, begun: bytes) -> GatewayError:
        rest = await response.read(PAGE_BYTES)
        return self._error(Page(response.status, response.headers, begun + rest))

    def _error(self, page: Page) -> GatewayError:
        return refusal(page, self._clock.now(), self._clean)
