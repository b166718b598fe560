"""What an upstream may do beside answering questions: small interfaces that it implements or not.

Values say what is meant, in nobody's dialect. Results carry the upstream's own JSON too (`body`), for the protocol that
is the upstream's own and keeps what it does not know. Ids are the upstream's own; what has one belongs to the key that
made it, so both go together (Owned).
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import date
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import msgspec

from pplx_gateway.answer import Batch, Usage
from pplx_gateway.catalogue import Model
from pplx_gateway.decisions import Decided, Decision
from pplx_gateway.errors import GatewayError
from pplx_gateway.question import Question, Recency
from pplx_gateway.receipts import Note, Receipt


@runtime_checkable
class Runs(Protocol):
    """Runs that outlive whoever started them. A run's id is what `Started.run_id` told: opaque, and good in any worker
    and after any restart."""

    def attach(self, run_id: str, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        """The run's events from its first, and on as they come; the last batch holds Finished. Raises GatewayError.

        `question` and `model` are those that the run was started with; the question's turns may be left out. Closing
        the generator detaches: the run goes on.
        """
        ...

    async def cancel(self, run_id: str) -> None:
        """Has the upstream stop the run. One that has ended, or is not known any more, is no error. Raises
        GatewayError where the upstream could not be told."""
        ...


@runtime_checkable
class Checker(Protocol):
    """Whoever can tell beforehand that it would refuse a question, for those that are asked when nobody waits."""

    async def check(self, question: Question, model: Model, caller: str) -> None:
        """Nothing is sent. Raises the RequestError that asking would raise."""
        ...


class Owned(NamedTuple):
    """A thing that is kept upstream, and the key that made it: no other key finds it."""

    id: str
    key_name: str


class Native(msgspec.Struct, frozen=True, kw_only=True):
    """The upstream's answer as it came. `id` is that of the thing it tells of, "" where it tells of none."""

    body: bytes
    receipt: Receipt
    id: str = ""

    @property
    def owned(self) -> Owned:
        return Owned(self.id, self.receipt.key_name)


class Lookup(msgspec.Struct, frozen=True, kw_only=True):
    """A search for pages, without an answer. None or empty = the upstream's default. `domains` is an allow list or,
    with leading `-`, a deny list; `country` is ISO 3166-1 alpha-2. `key_name` pins one of the owner's keys."""

    queries: tuple[str, ...]
    kind: Literal["web", "fast", "people"] | None = None
    mode: Literal["web", "academic", "sec"] | None = None
    max_results: int | None = None
    max_tokens: int | None = None
    max_tokens_per_page: int | None = None
    context_size: Literal["low", "medium", "high"] | None = None
    country: str | None = None
    domains: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    recency: Recency | None = None
    after: date | None = None
    before: date | None = None
    updated_after: date | None = None
    updated_before: date | None = None
    show_time: bool = False
    key_name: str | None = None


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Dates are ISO."""

    url: str
    title: str = ""
    snippet: str = ""
    date: str | None = None
    last_updated: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    pages: tuple[Page, ...]
    body: bytes
    receipt: Receipt


@runtime_checkable
class Searcher(Protocol):
    async def search(self, lookup: Lookup, note: Note) -> Found:
        """Raises GatewayError: InvalidRequest before anything is sent, for what would be billed without sense."""
        ...


class Texts(msgspec.Struct, frozen=True, kw_only=True):
    """What is to become vectors. `documents` are lists of chunks that are embedded in each other's light; where they
    are not, each text is a document of one chunk and `contextual` is false."""

    model: str
    documents: tuple[tuple[str, ...], ...]
    contextual: bool = False
    dimensions: int | None = None
    encoding: Literal["int8", "binary"] = "int8"
    key_name: str | None = None


class Vectors(msgspec.Struct, frozen=True, kw_only=True):
    """`vectors` are shaped as the documents were: signed bytes, or bits with the first number as the lowest bit.
    `receipt` is the sum of all calls that it took."""

    model: str
    vectors: tuple[tuple[bytes, ...], ...]
    receipt: Receipt


@runtime_checkable
class Embedder(Protocol):
    async def embed(self, texts: Texts, note: Note) -> Vectors:
        """In several calls where one does not take them all. Raises GatewayError."""
        ...


@runtime_checkable
class Decider(Protocol):
    async def decide(self, decision: Decision, note: Note) -> Decided:
        """In several calls where one does not take all questions. Raises GatewayError."""
        ...


class Slice(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a list. `cursor` is where it begins: the last id that was seen, or the token of the page."""

    cursor: str | None = None
    limit: int | None = None
    order: Literal["asc", "desc"] | None = None
    purpose: Literal["batch", "batch_output"] | None = None


@runtime_checkable
class FileStore(Protocol):
    """Files of batches. Everything raises GatewayError, NotFound among them."""

    async def upload(self, content: bytes, filename: str, key_name: str | None = None) -> Native: ...

    async def files(self, part: Slice, key_name: str) -> Native: ...

    async def file(self, file: Owned) -> Native: ...

    async def delete_file(self, file: Owned) -> Native: ...

    def content(self, file: Owned) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        """The bytes, as they come."""
        ...


class BatchOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A batch to be started by the key that its file was uploaded with. `once`: one word starts one batch only."""

    file: Owned
    metadata: Mapping[str, str] | None = None
    once: str | None = None


@runtime_checkable
class Batches(Protocol):
    """Many questions at once, answered within a day. Everything raises GatewayError, NotFound among them."""

    async def start(self, order: BatchOrder) -> Native: ...

    async def batches(self, part: Slice, key_name: str) -> Native: ...

    async def batch(self, batch: Owned) -> Native: ...

    async def cancel_batch(self, batch: Owned) -> Native: ...


@runtime_checkable
class Skills(Protocol):
    """Bundles that runs can use. Everything raises GatewayError: NotFound, and Conflict for a revision that is not the
    latest any more."""

    async def add(self, bundle: bytes, filename: str, key_name: str | None = None) -> Native: ...

    async def skills(self, part: Slice, key_name: str) -> Native: ...

    async def skill(self, skill: Owned, revision: str | None = None) -> Native: ...

    async def revise(self, skill: Owned, bundle: bytes, filename: str, expected_revision: str) -> Native: ...

    async def remove(self, skill: Owned, expected_revision: str) -> None: ...

    async def download(self, skill: Owned, revision: str | None = None) -> Native: ...

    async def revisions(self, skill: Owned, part: Slice) -> Native: ...


@runtime_checkable
class BrowserSessions(Protocol):
    """Browsers in the cloud. Everything raises GatewayError, NotFound among them."""

    async def open(self, key_name: str | None = None) -> Native: ...

    async def end(self, session: Owned) -> None: ...


@runtime_checkable
class RunFiles(Protocol):
    """Files that a run shared. Everything raises GatewayError, NotFound among them."""

    async def files_of(self, run: Owned) -> Native: ...

    def content_of(self, run: Owned, file_id: str) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        """The bytes, as they come."""
        ...


class RunOrder(msgspec.Struct, frozen=True, kw_only=True):
    """A run of the agent in the upstream's own words: `body` is a request as it is to be sent, checked before.

    `names` are what its model may be called by, `others` the same of each further one that may serve it. `key_name`
    pins one of the owner's keys. `background` = it outlives whoever reads it; `patient` = it may be silent for minutes.
    """

    body: bytes
    names: tuple[str, ...]
    others: tuple[tuple[str, ...], ...] = ()
    key_name: str | None = None
    background: bool = False
    patient: bool = False


class RunEvent(NamedTuple):
    """One event as it came. `data` is its JSON, `name` the one that its stream gave it ("message" where it gave none);
    `type` and `number` are what the JSON says."""

    type: str
    number: int | None
    name: str
    data: bytes


class RunEnd(msgspec.Struct, frozen=True, kw_only=True):
    """How a run ended. `response` is the response object as it came, b"" where there was none. `failure` is set where
    the run failed, or gave nothing for an answer; only the event of a failed run is among those that were told.
    `skipped` = events before the last one were lost on the way; the
    response is whole all the same."""

    status: str
    response: bytes = b""
    model: str | None = None
    usage: Usage | None = None
    failure: GatewayError | None = None
    skipped: bool = False


class AgentRun(Protocol):
    """A run under way: an async context manager, to be iterated over once, by what each read from the wire brought.
    Whoever leaves it cancels the run, unless that was ordered in the background or is only followed.

    `owned` is set as soon as the run's id is known, `end` with the last event. An iteration that ends without an error
    has an `end`.
    """

    @property
    def owned(self) -> Owned | None: ...
    @property
    def end(self) -> RunEnd | None: ...
    async def __aenter__(self) -> "AgentRun": ...
    async def __aexit__(self, *_: object) -> None: ...
    def __aiter__(self) -> AsyncIterator[list[RunEvent]]: ...


@runtime_checkable
class Agents(Protocol):
    """Runs by the upstream's own requests and events. Everything raises GatewayError, NotFound among them."""

    def start_run(self, order: RunOrder) -> AgentRun:
        """`order.body` asks for a stream."""
        ...

    async def queue_run(self, order: RunOrder) -> Native:
        """For a run in the background whose events nobody reads now; `order.body` asks for no stream."""
        ...

    def follow_run(self, run: Owned, after: int | None = None, *, to_the_end: bool = False) -> AgentRun:
        """The events beyond number `after`, and on as they come. Raises InvalidRequest where there are none any more.
        `to_the_end` = for as long as the run lives or the upstream may come back."""
        ...

    async def run(self, run: Owned, form: str | None = None) -> Native:
        """The response as it stands."""
        ...

    async def cancel_run(self, run: Owned) -> Native: ...
