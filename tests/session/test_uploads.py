"""Cookies that come while attachments are on their way (docs/wire-session.md 3, 5)."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from pplx_gateway.question import FilePart
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Incoming, Outgoing, Streaming
from pplx_gateway.upstreams.session import slots
from pplx_gateway.upstreams.session.cookies import NAME, Credentials
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.reading import SUBSCRIBE_PATH
from pplx_gateway.upstreams.session.uploads import Uploads
from tests.files.samples import PDF, url
from tests.session.fakes import JSON, SSE, FakeTransport, HandClock, Played, path_of

ID = UUID(int=1)
BUCKET = "https://bucket.s3.amazonaws.com/"
SLOT = {"s3_bucket_url": BUCKET, "s3_object_url": f"{BUCKET}a.pdf", "fields": {"key": "a.pdf"}, "file_uuid": "f-1"}
READ = b'data: {"file_uuid": "f-1", "success": true}\r\n\r\n'
DOCUMENT = FilePart(data=url("application/pdf", PDF), filename="a.pdf")


class Site(FakeTransport):
    """Sets the cookie T2 in its answer from the path `renews`; `given` replaces the cookie while that is under way."""

    def __init__(self, renews: str, *, batches: bool = True) -> None:
        def answer(body: bytes, path: str, *, stream: bool = False) -> Played:
            cookies = (("set-cookie", f"{NAME}=T2; Path=/"),) if path == renews else ()
            return Played([body], headers=(*(SSE if stream else JSON), *cookies))

        batch = json.dumps({"results": {str(ID): SLOT}}).encode()
        pages = {
            slots.BATCH_PATH: answer(batch, slots.BATCH_PATH) if batches else Played(status=404, headers=JSON),
            slots.SINGLE_PATH: answer(json.dumps(SLOT).encode(), slots.SINGLE_PATH),
            "/": Played(status=204),
        }
        clock = HandClock()
        super().__init__(clock, answer(READ, SUBSCRIBE_PATH, stream=True), pages=pages)
        self.credentials = Credentials(Secret("T"))
        self.given: str | None = None
        self._renews = renews
        self.uploads = Uploads(
            self, clock, self.credentials, SessionOptions(), clean=lambda words: words, new_uuid=lambda: ID
        )

    async def request(self, outgoing: Outgoing) -> Incoming:
        await self._under_way(outgoing)
        return await super().request(outgoing)

    @asynccontextmanager
    async def stream(self, outgoing: Outgoing) -> AsyncIterator[Streaming]:
        await self._under_way(outgoing)
        async with super().stream(outgoing) as streaming:
            yield streaming

    async def _under_way(self, outgoing: Outgoing) -> None:
        if self.given is not None and path_of(outgoing.url) == self._renews:
            await self.credentials.replace(Secret(self.given))
        await asyncio.sleep(0)


PLACES = [(slots.BATCH_PATH, True), (slots.SINGLE_PATH, False), (SUBSCRIBE_PATH, True)]


@pytest.mark.parametrize(("renews", "batches"), PLACES)
async def test_a_cookie_that_the_site_renews_meanwhile_is_taken_over(renews: str, batches: bool) -> None:
    site = Site(renews, batches=batches)
    assert await site.uploads.send([DOCUMENT]) == {DOCUMENT: f"{BUCKET}a.pdf"}
    assert site.credentials.cookie() == f"{NAME}=T2"


@pytest.mark.parametrize(("renews", "batches"), PLACES)
async def test_a_renewal_of_the_cookie_before_does_not_push_out_the_one_that_the_owner_gave(
    renews: str, batches: bool
) -> None:
    site = Site(renews, batches=batches)
    site.given = "given"
    await site.uploads.send([DOCUMENT])
    assert site.credentials.cookie() == f"{NAME}=given"
