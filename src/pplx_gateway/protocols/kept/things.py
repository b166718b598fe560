"""A caller's things upstream: made, found again, listed, forgotten.

An upstream tells apart its keys only, so lists are made from what is known here of the caller; the upstream is asked
how these things stand.
"""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import NamedTuple, TypeVar

import msgspec

from pplx_gateway.errors import (
    Conflict,
    GatewayError,
    InvalidRequest,
    NotFound,
    StoreUnavailable,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Native, Owned, Slice
from pplx_gateway.store.ownership import Kind, Thing
from pplx_gateway.store.records import Order

PAGE_SIZE = 100
MOST_PAGES = 50
"""Of an upstream's list that are looked through for a caller's things."""

T = TypeVar("T")


class Part(NamedTuple):
    """Which part of a list a caller wants. `after` is the id of the last thing of the part before."""

    limit: int
    after: str | None = None
    order: Order = "desc"
    purpose: str = ""


class Entry(NamedTuple):
    """A thing as the upstream tells of it."""

    thing: Thing
    body: msgspec.Raw


class Shown(NamedTuple):
    entries: list[Entry]
    has_more: bool
    warnings: list[str]

    @property
    def first_id(self) -> str | None:
        return self.entries[0].thing.id if self.entries else None

    @property
    def last_id(self) -> str | None:
        return self.entries[-1].thing.id if self.entries else None


class UpstreamPage(NamedTuple):
    """`next` is the cursor of the page after it, None = this was the last."""

    bodies: dict[str, msgspec.Raw]
    next: str | None


class Source(NamedTuple):
    """How an upstream tells of things of one kind."""

    kind: Kind
    page: Callable[[Slice, str], Awaitable[UpstreamPage]]
    one: Callable[[Owned], Awaitable[Native]]


Undo = Callable[[Owned], Awaitable[object]]


class Things:
    """Methods raise StoreUnavailable."""

    def __init__(self, gateway: Gateway, caller: str) -> None:
        self._ownership = gateway.ownership
        self._caller = caller

    async def made(self, kind: Kind, native: Native, undo: Undo | None = None, purpose: str = "") -> None:
        """Notes whose it is; `undo` ends it upstream where that cannot be noted, since nobody would find it again.
        Raises Conflict where it is somebody else's."""
        try:
            await self.note(Thing(kind, native.id, native.id, native.receipt.key_name, self._caller, purpose))
        except StoreUnavailable:
            if undo is not None:
                with suppress(GatewayError):
                    await undo(native.owned)
            raise
        if await self._ownership.find(kind, native.id, self._caller) is None:
            raise Conflict("The upstream gave a thing of another caller. Repeat with another Idempotency-Key.")

    async def note(self, *things: Thing) -> list[Thing]:
        """Those that were not known before."""
        return await self._ownership.add(things)

    async def find(self, kind: Kind, thing_id: str, param: str | None = None) -> Owned:
        """Raises NotFound: the same for what is another caller's."""
        thing = await self._ownership.find(kind, thing_id, self._caller)
        if thing is None:
            raise NotFound(f"There is no {kind.replace('_', ' ')} with this id.", param=param)
        return Owned(thing.upstream_id, thing.key_name)

    async def forget(self, kind: Kind, thing_id: str) -> None:
        await self._ownership.forget([Thing(kind, thing_id, "", "", self._caller)])

    async def looked_at(self, kind: Kind, thing_id: str, look: Callable[[Owned], Awaitable[T]]) -> T:
        """What `look` finds. What the upstream does not know any more is forgotten. Raises NotFound, GatewayError."""
        owned = await self.find(kind, thing_id)
        try:
            return await look(owned)
        except NotFound:
            await self.forget(kind, thing_id)
            raise

    async def listed(self, source: Source, part: Part) -> Shown:
        """Raises InvalidRequest for an `after` that is not there, GatewayError."""
        after, gone, unread = part.after, list[Thing](), dict[str, str]()
        while True:
            page = await self._ownership.page(
                source.kind, self._caller, limit=part.limit, order=part.order, after=after, purpose=part.purpose
            )
            if page is None:
                raise InvalidRequest("There is nothing with the id of 'after'.", param="after")
            entries = await _entries(source, page.things, unread)
            there = {entry.thing for entry in entries}
            gone += [thing for thing in page.things if thing not in there and thing.key_name not in unread]
            if entries or not page.has_more:
                await self._ownership.forget(gone)
                return Shown(entries, page.has_more, list(unread.values()))
            after = page.things[-1].id


async def _entries(source: Source, things: Sequence[Thing], unread: dict[str, str]) -> list[Entry]:
    """Those that are there. `unread` gets the keys that are not set up any more, each with a sentence."""
    found: dict[tuple[str, str], msgspec.Raw] = {}
    for key_name in dict.fromkeys(thing.key_name for thing in things):
        wanted = {thing.upstream_id for thing in things if thing.key_name == key_name}
        try:
            told = await _told(source, key_name, wanted)
        except UpstreamAuth as error:
            if error.upstream_status is not None:
                raise
            unread[key_name] = f"{error.message} What belongs to it is left out."
        else:
            found |= {(key_name, upstream_id): body for upstream_id, body in told.items()}
    places = ((thing, found.get((thing.key_name, thing.upstream_id))) for thing in things)
    return [Entry(thing, body) for thing, body in places if body is not None]


async def _told(source: Source, key_name: str, wanted: set[str]) -> dict[str, msgspec.Raw]:
    """Those of `wanted` that are there. A list may lag behind, so what is missing in it is asked for by its id."""
    found: dict[str, msgspec.Raw] = {}
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await source.page(Slice(cursor=cursor, limit=PAGE_SIZE), key_name)
        found |= {upstream_id: body for upstream_id, body in page.bodies.items() if upstream_id in wanted}
        cursor = page.next
        if cursor is None or len(found) == len(wanted):
            break
    for upstream_id in wanted - set(found):
        with suppress(NotFound):
            found[upstream_id] = msgspec.Raw((await source.one(Owned(upstream_id, key_name))).body)
    return found


class _Listed(msgspec.Struct):
    data: list[msgspec.Raw] = []
    has_more: bool | None = None


class _Named(msgspec.Struct):
    id: str


def page_by_ids(body: bytes) -> UpstreamPage:
    """Of a list that goes by the id of its last entry. Raises UpstreamError."""
    listed = read(body, _Listed)
    bodies = {read(raw, _Named).id: raw for raw in listed.data}
    return UpstreamPage(bodies, next(reversed(bodies)) if listed.has_more and bodies else None)


def read(body: bytes | msgspec.Raw, shape: type[T]) -> T:
    """An upstream's JSON. Raises UpstreamError."""
    try:
        return msgspec.json.decode(body, type=shape)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UpstreamError("The Perplexity API answered with another form than it documents.") from error
