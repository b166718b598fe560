"""One request that is no question: read, done and answered whole, in whichever dialect.

What differs from one operation to the next is its `Work`; the border around it is that of every call.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from typing import NamedTuple

from starlette.datastructures import QueryParams
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pplx_gateway.errors import GatewayError, InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.one_file import FileForm, OneFile
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.call import Border, Call
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.receipts import Note, Receipt
from pplx_gateway.web import headers, replies
from pplx_gateway.web.body import body_parts
from pplx_gateway.web.headers import RawHeaders
from pplx_gateway.web.leaving import Leaving
from pplx_gateway.web.limits import FORM_BYTES, file_too_large

JSON = (b"content-type", b"application/json")
_BODILESS = ("GET", "HEAD", "DELETE")


class Reply(NamedTuple):
    """`headers` are beside those that every reply has."""

    body: bytes
    headers: Sequence[tuple[bytes, bytes]] = ()
    status: int = 200


class Operation(Call):
    def __init__(self, work: "Work", gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        super().__init__(gateway, scope, receive, send)
        self.gateway = gateway
        self.caller = self._caller
        self._work = work
        self._body_left = scope["method"] not in _BODILESS

    async def answer(self) -> None:
        reply = await self._work(self)
        length = (b"content-length", b"%d" % len(reply.body))
        kind = [JSON, length] if reply.status != 204 else []
        await replies.send_body(self._send, reply.status, [*kind, *reply.headers], reply.body)

    @property
    def id(self) -> str:
        """That in the path."""
        found: str = self._scope["path_params"]["id"]
        return found

    @property
    def query(self) -> QueryParams:
        return QueryParams(self._scope["query_string"])

    @property
    def key_name(self) -> str | None:
        """The one of the owner's keys that is asked for. Raises InvalidRequest."""
        return pinning.key_name(self._scope)

    def header(self, name: str) -> str | None:
        found = headers.first(self._scope, name.encode())
        return found.decode("latin-1") if found is not None else None

    def parameter(self, name: str) -> str:
        """One that must be there. Raises InvalidRequest."""
        found = self.query.get(name)
        if not found:
            raise InvalidRequest(f"Missing required parameter: '{name}', in the address.", param=name)
        return found

    def note(self, asked: str | None = None) -> Note:
        """For the ledger: what is paid for this request. `asked`: the model, as the caller wrote it. Raises
        ModelNotAllowed if the caller's key may not ask it."""
        return self.gateway.paying(asked, caller=self.caller)

    def repeats(self) -> None:
        """The answer is what an earlier request has made: nothing is asked, and nothing counts."""
        self._facts["repeat"] = True

    def leaving(self) -> Leaving:
        """For work that is of use to nobody once the caller is gone. The body must have been read."""
        return Leaving(self._receive)

    async def body(self) -> bytes:
        """Raises TooLarge, RequestTimeout, CallerLeft."""
        return await self._body()

    async def form(self, known: Sequence[str] = ()) -> OneFile:
        """The form with its one file, in memory. Raises as `body` does, and InvalidRequest."""
        settings = self.gateway.settings
        most = settings.max_file_bytes
        form = FileForm(self.header("content-type") or "", known, most)
        parts = body_parts(
            self._receive,
            self.gateway.clock,
            limit=most + FORM_BYTES,
            wait_seconds=settings.body_timeout_seconds,
            refusal=file_too_large(most),
        )
        async with aclosing(parts):
            async for part in parts:
                form.feed(part)
        self._body_left = False
        return form.close()


Work = Callable[[Operation], Awaitable[Reply]]


def json(value: object, more: Sequence[tuple[bytes, bytes]] = ()) -> Reply:
    return Reply(encode(value), more)


def told(receipt: Receipt) -> RawHeaders:
    """What the upstream said of a call beside its answer: the id that it knows it by, and its rate limits."""
    found = [(b"x-pplx-upstream", b"api")]
    if receipt.request_id is not None:
        found.append((b"x-pplx-upstream-request-id", headers.safe(receipt.request_id, 128)))
    found += [(name.encode("latin-1"), headers.safe(value, 64)) for name, value in receipt.limits.items()]
    return found


def warned(warnings: Sequence[str]) -> RawHeaders:
    return [(b"x-pplx-warnings", headers.sentences(warnings))] if warnings else []


def dropped(names: Sequence[str]) -> RawHeaders:
    return [(b"x-pplx-dropped", headers.names(names))] if names else []


class ByMethod:
    """One path's calls, by method. A HEAD is a GET whose body the server leaves out."""

    def __init__(self, calls: Mapping[str, ASGIApp]) -> None:
        self._calls = calls

    def __call__(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        method = scope["method"]
        return self._calls["GET" if method == "HEAD" else method](scope, receive, send)


def route(gateway: Gateway, path: str, works: Mapping[str, Work], *, listed: bool = True) -> BaseRoute:
    """`listed`: told of where somebody asks for a path that there is not."""
    calls = {method: Border(gateway, partial(Operation, work)) for method, work in works.items()}
    return Route(path, ByMethod(calls), methods=list(calls), include_in_schema=listed)


def refusing(error: GatewayError) -> Work:
    """Work that is not done."""

    async def refuse(_: Operation) -> Reply:
        raise error

    return refuse
