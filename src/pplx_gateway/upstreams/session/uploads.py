"""Attachments on their way to the site: slots, storage, and the reading of documents (docs/wire-session.md 5)."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode
from uuid import UUID

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, SessionBlocked, UpstreamError, UpstreamTimeout
from pplx_gateway.transport.exchange import Incoming, Outgoing
from pplx_gateway.upstreams.session import slots
from pplx_gateway.upstreams.session.cookies import Credentials
from pplx_gateway.upstreams.session.failures import AttachmentRefused
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.parcels import Parcel, parcel
from pplx_gateway.upstreams.session.reading import SUBSCRIBE_PATH, WAIT_SECONDS, Reading
from pplx_gateway.upstreams.session.refusals import PAGE_BYTES, Page, refusal
from pplx_gateway.upstreams.session.slots import Slot
from pplx_gateway.upstreams.session.storage import address_of, form_post
from pplx_gateway.upstreams.session.transcript import Attachment
from pplx_gateway.upstreams.session.way_out import WayOut

logger = logging.getLogger("pplx_gateway.session")

T = TypeVar("T")

AT_ONCE = 6  # as many as a browser sends to one host
_REASON = "ask-input-inner-home"


class _Answered(NamedTuple):
    """`version` is that of the cookie with which was asked."""

    reply: Incoming
    version: int


class Uploads:
    """All of a question's attachments arrive, or an error says which one did not."""

    def __init__(
        self,
        way_out: WayOut,
        clock: Clock,
        credentials: Credentials,
        options: SessionOptions,
        *,
        clean: Callable[[str], str],
        new_uuid: Callable[[], UUID],
    ) -> None:
        self._way_out = way_out
        self._clock = clock
        self._credentials = credentials
        self._options = options
        self._clean = clean
        self._new_uuid = new_uuid

    async def send(self, attachments: Sequence[Attachment]) -> dict[Attachment, str]:
        """The address of each. Raises GatewayError: UploadsExhausted, AttachmentRefused, UpstreamError, SessionError,
        InvalidRequest."""
        if not attachments:
            return {}
        began = self._clock.monotonic()
        parcels = {str(self._new_uuid()): parcel(each, number) for number, each in enumerate(attachments, 1)}
        places = await self._slots(parcels)
        limit = asyncio.Semaphore(AT_ONCE)
        addresses = await together(self._store(places[name], parcels[name], limit) for name in parcels)
        await self._read(parcels, places)
        told = {
            "count": len(parcels),
            "bytes": sum(each.size for each in parcels.values()),
            "seconds": round(self._clock.monotonic() - began, 3),
        }
        logger.info("attachments sent", extra=told)
        return dict(zip(attachments, addresses, strict=True))

    async def _slots(self, parcels: Mapping[str, Parcel]) -> dict[str, Slot]:
        """All in one request, or one by one where the site does not know that form."""
        answered = await self._ask(slots.BATCH_PATH, slots.batch_body(parcels))
        if answered.reply.status not in slots.UNKNOWN_FORM:
            return slots.read_batch(await self._good(answered), parcels, self._clean)
        found = await together(self._single_slot(each) for each in parcels.values())
        return dict(zip(parcels, found, strict=True))

    async def _single_slot(self, parcel: Parcel) -> Slot:
        answered = await self._ask(slots.SINGLE_PATH, slots.single_body(parcel))
        return slots.read_single(await self._good(answered), parcel, self._clean)

    async def _store(self, slot: Slot, parcel: Parcel, limit: asyncio.Semaphore) -> str:
        async with limit:
            reply = await self._way_out.request(form_post(slot, parcel, self._options))
        return address_of(slot, parcel, reply)

    async def _read(self, parcels: Mapping[str, Parcel], places: Mapping[str, Slot]) -> None:
        """Returns once the site has read every document."""
        documents = {places[name].file_uuid: each.name for name, each in parcels.items() if not each.is_image}
        if None in documents:
            raise UpstreamError(f"Perplexity gave '{documents[None]}' no id, so it cannot be read.")
        reading = Reading({uuid: name for uuid, name in documents.items() if uuid is not None})
        if reading.done:
            return
        try:
            async with self._clock.deadline(WAIT_SECONDS):
                await self._follow(reading)
        except (TimeoutError, UpstreamTimeout):
            raise UpstreamError(
                f"Perplexity did not read {reading.missing} within {WAIT_SECONDS:g} seconds, so nothing was asked."
            ) from None

    async def _follow(self, reading: Reading) -> None:
        version = self._credentials.version
        outgoing = self._outgoing(SUBSCRIBE_PATH, reading.request, "text/event-stream")
        async with self._way_out.stream(outgoing) as stream:
            page = Page(stream.status, stream.headers, b"" if stream.status == 200 else await stream.read(PAGE_BYTES))
            if stream.status != 200 or page.html or page.challenge:
                raise self._unread(page, reading)
            await self._credentials.adopt(stream.headers, version)
            async for data in stream:
                reading.feed(data)
                if reading.done:
                    return
        reading.close()

    def _unread(self, page: Page, reading: Reading) -> GatewayError:
        error = refusal(page, self._clock.now(), self._clean)
        if isinstance(error, SessionBlocked):
            return AttachmentRefused(
                f"Perplexity's edge stopped the reading of {reading.missing} with a challenge page, so nothing was "
                "asked. Images can be sent all the same."
            )
        if isinstance(error, UpstreamError):
            words = f"Perplexity did not read {reading.missing} (HTTP {page.status}), so nothing was asked."
            return UpstreamError(words, upstream_status=page.status)
        return error

    async def _ask(self, path: str, body: bytes) -> _Answered:
        query = urlencode({"version": self._options.api_version, "source": "default"})
        version = self._credentials.version
        return _Answered(
            await self._way_out.request(self._outgoing(f"{path}?{query}", body, "application/json")), version
        )

    async def _good(self, answered: _Answered) -> bytes:
        """The body. Raises GatewayError for what is no success."""
        reply = answered.reply
        page = Page(reply.status, reply.headers, reply.body)
        if reply.status != 200 or page.html or page.challenge:
            raise refusal(page, self._clock.now(), self._clean)
        await self._credentials.adopt(reply.headers, answered.version)
        return reply.body

    def _outgoing(self, path: str, body: bytes, accept: str) -> Outgoing:
        url = self._options.origin + path
        headers = page_headers(self._options, url, _REASON, self._credentials.cookie(), accept=accept)
        return Outgoing(
            method="POST",
            url=url,
            headers={**headers, "content-type": "application/json"},
            body=body,
            timeouts=self._options.timeouts,
        )


async def together(works: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """All results, in order. The first failure ends the others and is raised."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(work) for work in works]
    except ExceptionGroup as failures:
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]
