"""The Agent API's answer without I/O: bytes in, batches of answer events out.

The reply is an event stream, or one JSON object where an upstream does not stream; the first byte tells. Events are
known by the `type` in their JSON, not by the SSE name (docs/wire-agent.md 2.7). The end of the bytes is no success:
what it means is for `close` to say.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

import msgspec

from pplx_gateway.answer import Batch, Started, Warned
from pplx_gateway.errors import EmptyAnswer, GatewayError, UpstreamError, UpstreamTruncated
from pplx_gateway.observing.canary import Sight
from pplx_gateway.sse import EventReader
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.api.assembly import Assembly
from pplx_gateway.upstreams.api.events import Head, NotJson, loose
from pplx_gateway.upstreams.api.handles import Handle
from pplx_gateway.upstreams.faults import Faults

MAX_WHOLE_REPLY_BYTES = 32 << 20
MAX_PAGE_BYTES = 65536

_HEAD = msgspec.json.Decoder(Head)
_TYPE_FIRST = b'{"type":"'
_TYPE_AT = len(_TYPE_FIRST)
_PINGS = frozenset((b"", b"keepalive", b"ping", b"heartbeat"))
_BRACE = ord("{")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Handler = Callable[[Assembly, bytes, Batch], None]
Taker = Callable[["Reader", bytes, Batch], None]


def _silent(method: Callable[[Assembly, bytes], None]) -> Handler:
    """For events that say nothing to callers."""
    return lambda assembly, payload, _: method(assembly, payload)


def _ended(status: str) -> Handler:
    return lambda assembly, payload, batch: assembly.end(payload, status, batch)


_HANDLERS: Mapping[bytes, Handler] = {
    b"response.output_text.delta": Assembly.delta,
    b"response.output_text.done": Assembly.text_done,
    b"response.output_item.added": _silent(Assembly.item_added),
    b"response.output_item.done": Assembly.item_done,
    b"response.reasoning.started": Assembly.reasoning,
    b"response.reasoning.stopped": Assembly.reasoning,
    b"response.reasoning.search_queries": Assembly.reasoning,
    b"response.reasoning.search_results": Assembly.reasoning,
    b"response.reasoning.image_search_queries": Assembly.reasoning,
    b"response.reasoning.image_search_results": Assembly.reasoning,
    b"response.reasoning.fetch_url_queries": Assembly.reasoning,
    b"response.reasoning.fetch_url_results": Assembly.reasoning,
    b"response.created": _silent(Assembly.begun),
    b"response.queued": _silent(Assembly.begun),
    b"response.in_progress": _silent(Assembly.begun),
    b"response.completed": _ended("completed"),
    b"response.incomplete": _ended("incomplete"),
    b"response.requires_action": _ended("requires_action"),
    b"response.failed": _ended("failed"),
    b"response.cancelled": _ended("cancelled"),
    b"error": _silent(Assembly.error),
}


class Reader:
    """`over` = there is a verdict: the last batch held Finished, or `failure` is to be raised once it is delivered.

    `active` = the last bytes held more than pings. `warnings` are told before anything else. `key_name` is the
    key that the run was made with; one whose id `must_be_known` is told of again, should its first event not name it.
    """

    def __init__(
        self,
        assembly: Assembly,
        faults: Faults,
        warnings: Sequence[str] = (),
        *,
        key_name: str | None = None,
        must_be_known: bool = False,
        sight: Sight | None = None,
    ) -> None:
        self.active = False
        self._key_name = key_name
        self._unnamed = must_be_known
        self._assembly = assembly
        self._faults = faults
        self._sight = sight
        self._looks = sight is not None and sight.deep
        self._warnings = warnings
        self._seen = False
        self._started = False
        self._take: Taker = Reader._first_bytes  # no bound method, which would be a cycle and wait for the collector
        self._events = EventReader()
        self._held: list[bytes] = []
        self._held_bytes = 0

    @property
    def over(self) -> bool:
        return self._assembly.over

    @property
    def told(self) -> bool:
        """True if anything has been given out."""
        return self._started

    @property
    def failure(self) -> GatewayError | None:
        return self._assembly.failure

    def feed(self, data: bytes) -> Batch:
        """The events that `data` completes, often none."""
        self.active = False
        batch: Batch = []
        self._take(self, data, batch)
        if self.active and not self._started:
            self._seen = True
            self._begin(batch)
        elif self._unnamed and self._assembly.run_id is not None:
            self._unnamed = False
            batch.insert(0, self._start())
        return batch

    def break_off(self, error: GatewayError) -> None:
        """The transfer failed. Half an event that may be left is no event."""
        if not self.over:
            self._assembly.failure = error

    def close(self) -> Batch:
        """The bytes have ended. Without a verdict so far, `failure` says how."""
        batch: Batch = []
        if not self.over:
            self._close(batch)
        if batch and not self._started:
            self._begin(batch)
        return batch

    def resume(self) -> None:
        """What is fed from now on is another stream of the same run."""
        self._assembly.resume()
        self._take = Reader._first_bytes
        self._events = EventReader()
        self._held = []
        self._held_bytes = 0

    def _begin(self, batch: Batch) -> None:
        if self.failure is not None and not batch:
            return
        self._started = True
        self._unnamed = self._unnamed and self._assembly.run_id is None
        batch[:0] = [self._start(), *(Warned(sentence) for sentence in self._warnings)]

    def _start(self) -> Started:
        run_id = self._assembly.run_id
        if run_id is not None and self._key_name is not None:
            run_id = str(Handle(run_id, self._key_name))
        return Started(run_id, self._key_name)

    def _first_bytes(self, data: bytes, batch: Batch) -> None:
        """No event stream begins with a brace or an angle bracket. Blank space in front means nothing in any form."""
        head = b"".join((*self._held, data)).removeprefix(_BYTE_ORDER_MARK).lstrip()
        self._held = []
        if not head:
            return
        if _BYTE_ORDER_MARK.startswith(head):
            self._held.append(head)
            return
        self._take = Reader._hold_all if head[:1] in (b"{", b"<") else Reader._read_events
        self._take(self, head, batch)

    def _hold_all(self, data: bytes, _: Batch) -> None:
        self._held.append(data)
        self._held_bytes += len(data)
        if self._held_bytes > MAX_WHOLE_REPLY_BYTES:
            self._assembly.failure = UpstreamError("The upstream's reply is longer than any answer may be.")

    def _read_events(self, data: bytes, batch: Batch) -> None:
        try:
            for name, payload in self._events.feed(data):
                self._event(name, payload, batch)
                if self._assembly.over:
                    break
        except NotJson:
            self._assembly.failure = UpstreamError("The upstream sent an event that is not JSON.")
        except UpstreamError as error:
            self._assembly.failure = error

    def _event(self, name: str, payload: bytes, batch: Batch) -> None:
        if name == "error":
            self.active = True
            self._assembly.error(payload)
            return
        if payload.startswith(_TYPE_FIRST):  # as nearly all do
            kind = payload[_TYPE_AT : payload.find(b'"', _TYPE_AT)]
        elif payload[0] == _BRACE:
            kind = _type_of(payload)
        else:
            self._no_object(payload.strip(), batch)
            return
        handler = _HANDLERS.get(kind)
        if handler is not None:
            self.active = True
            handler(self._assembly, payload, batch)
        elif kind not in _PINGS:
            self.active = True
            if self._sight is not None:
                self._sight.note("event", kind.decode("utf-8", "replace"))
        if self._looks and self._sight is not None:
            self._sight.see(payload, last=self.over)

    def _no_object(self, payload: bytes, batch: Batch) -> None:
        """`[DONE]`, an object behind spaces, or a ping in one of its many forms."""
        if payload == b"[DONE]":
            self._cut_short()
        elif payload.startswith(b"{"):
            self._event("", payload, batch)

    def _close(self, batch: Batch) -> None:
        if self._take is Reader._hold_all:
            self._close_whole(b"".join(self._held), batch)
        elif self._take is Reader._read_events:
            with suppress(NotJson, UpstreamError):  # the last event is cut in two: the end came too early
                for name, payload in self._events.close():
                    self._event(name, payload, batch)
        if not self.over:
            self._cut_short()

    def _close_whole(self, whole: bytes, batch: Batch) -> None:
        if whole.startswith(b"<"):
            self._assembly.failure = self._faults.of_response(200, Headers(()), whole[:MAX_PAGE_BYTES])
            return
        if self._looks and self._sight is not None:
            self._sight.see(b'{"response":%s}' % whole, last=True)
        try:
            self._assembly.whole(whole, batch)
        except NotJson:
            self._assembly.failure = UpstreamError("The upstream's reply is not JSON.")

    def _cut_short(self) -> None:
        """An answer that never began is empty, whatever else went wrong; one that did is cut."""
        begun = self._seen or self.active or self._assembly.run_id is not None
        self._assembly.failure = (
            UpstreamTruncated("The upstream ended its stream before the answer was whole.")
            if begun
            else EmptyAnswer("The upstream's reply was empty.")
        )


def _type_of(payload: bytes) -> bytes:
    """The value of `type`, b"" if there is none."""
    try:
        kind = _HEAD.decode(payload).type
    except (msgspec.DecodeError, RecursionError):
        value = loose(payload)
        kind = value.get("type") if isinstance(value, dict) else None
    return kind.encode("utf-8", "replace") if isinstance(kind, str) else b""
