"""A run's events as they came: bytes in, whole events out, and what is known of the run. Without I/O.

What an event says is left alone; only its type, its number and the response in it are looked at. Keys of ours that an
upstream may repeat are blotted out.
"""

from collections.abc import Iterable
from contextlib import suppress

import msgspec

from pplx_gateway.errors import EmptyAnswer, GatewayError, UpstreamError, UpstreamTruncated
from pplx_gateway.observing.canary import Sight
from pplx_gateway.operations import RunEnd, RunEvent
from pplx_gateway.sse import MESSAGE, EventReader
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.api.assembly import is_run_id, texts
from pplx_gateway.upstreams.api.events import NULL, Item, NotJson, Response, Shape, value_of
from pplx_gateway.upstreams.api.reader import MAX_PAGE_BYTES, MAX_WHOLE_REPLY_BYTES
from pplx_gateway.upstreams.api.usage import read_usage
from pplx_gateway.upstreams.faults import Faults

_ENDS = {
    f"response.{status}": status for status in ("completed", "incomplete", "requires_action", "failed", "cancelled")
}
_OVER = frozenset(_ENDS.values())
_PINGS = frozenset(("", "ping", "keepalive", "heartbeat"))
_TEXTS = ("response.output_text.delta", "response.output_text.done")
_FOUND = ("search_results", "fetch_url_results", "image_search_results")
ERROR = "error"
"""The status of a run that broke off with an error event, which is not told as it came."""
_NOTHING_SAID = "The upstream finished without an answer."


class _Event(msgspec.Struct):
    type: str | None = None
    sequence_number: int | None = None
    response: msgspec.Raw = NULL
    error: msgspec.Raw = NULL


_EVENT = Shape(_Event)
_RESPONSE = Shape(Response)
_ITEM = Shape(Item)


class RawReader:
    """Both halves of what a Run needs (run.py). Events up to number `after` are known to whoever reads."""

    def __init__(
        self, faults: Faults, *, run_id: str | None = None, after: int | None = None, sight: Sight | None = None
    ) -> None:
        self.run_id = run_id
        self.last_sequence = after
        self.end: RunEnd | None = None
        self.failure: GatewayError | None = None
        self.active = False
        self.alive = False
        self.settled = False
        self._told = after is not None
        self._spoken = after is not None
        self._faults = faults
        self._sight = sight
        self._head = b""
        self._whole: list[bytes] | None = None
        self._whole_bytes = 0
        self._events: EventReader | None = None

    @property
    def finished(self) -> bool:
        return self.end is not None

    @property
    def over(self) -> bool:
        return self.finished or self.failure is not None

    @property
    def told(self) -> bool:
        """True if anything has been given out."""
        return self._told

    @property
    def may_complete(self) -> bool:
        return self.end is not None and self.end.status != ERROR

    def feed(self, data: bytes) -> list[RunEvent]:
        self.active = False
        if self._whole is None and self._events is None:
            data = b"".join((self._head, data)).lstrip()
            if not data:
                return []
            self._head = b""
            if data[:1] in (b"{", b"<"):
                self._whole = []
            else:
                self._events = EventReader()
        found: list[RunEvent] = []
        if self._whole is not None:
            self._hold(data)
        elif self._events is not None:
            try:
                self._take(self._events.feed(data), found)
            except UpstreamError as error:
                self.failure = error
        return self._given(found)

    def close(self) -> list[RunEvent]:
        """The bytes have ended. Without an end so far, `failure` says how."""
        found: list[RunEvent] = []
        if not self.over and self._whole is not None:
            self._close_whole(b"".join(self._whole), found)
        elif not self.over and self._events is not None:
            with suppress(UpstreamError):
                self._take(self._events.close(), found)
        if not self.over and not self.alive:
            cut = "The upstream ended its stream before the answer was whole."
            begun = self._told or self.run_id is not None
            self.failure = UpstreamTruncated(cut) if begun else EmptyAnswer("The upstream's reply was empty.")
        elif not self.over:
            self.failure = UpstreamTruncated("The run goes on, but its events could not be read any further.")
        return self._given(found)

    def break_off(self, error: GatewayError) -> None:
        if not self.over:
            self.failure = error

    def resume(self) -> None:
        self.failure = None
        self.alive = False
        self._head = b""
        self._whole = None
        self._whole_bytes = 0
        self._events = None

    def _given(self, found: list[RunEvent]) -> list[RunEvent]:
        self._told = self._told or bool(found)
        return found

    def _hold(self, data: bytes) -> None:
        self.active = True
        if self._whole is not None:
            self._whole.append(data)
        self._whole_bytes += len(data)
        if self._whole_bytes > MAX_WHOLE_REPLY_BYTES:
            self.failure = UpstreamError("The upstream's reply is longer than any answer may be.")

    def _take(self, events: Iterable[tuple[str, bytes]], found: list[RunEvent]) -> None:
        """What begins as no JSON is no event: a ping, `[DONE]`. Raises UpstreamError for an event that is broken."""
        for name, payload in events:
            if self.over:
                return
            data = payload.strip()
            if data == b"[DONE]":
                self.failure = UpstreamTruncated("The upstream ended its stream before the answer was whole.")
                return
            if name == "error" or data.startswith(b"{"):
                try:
                    self._event(name, self._clean(data), found)
                except NotJson:
                    raise UpstreamError("The upstream sent an event that is not JSON.") from None

    def _event(self, name: str, data: bytes, found: list[RunEvent]) -> None:
        event = (_EVENT.read(data) if data.startswith(b"{") else None) or _Event()
        kind = event.type or ("error" if name == "error" else "")
        if kind in _PINGS:
            return
        self.active = True
        number = event.sequence_number
        if number is not None:
            if self.last_sequence is not None and number <= self.last_sequence:
                return
            self.last_sequence = number
        if kind in _TEXTS:
            self._spoken = True
        elif self._sight is not None:
            self._sight.note("event", kind)
        if self._sight is not None and self._sight.deep:
            self._sight.see(data, last=kind in _ENDS)
        response = _RESPONSE.read(event.response)
        self._note(response)
        if kind == "error" or name == "error":
            self._fail(data)
            return
        if kind in _ENDS:
            raw = b"" if response is None else bytes(event.response)
            if not self._conclude(response or Response(), _ENDS[kind], raw, event.error):
                return
        found.append(RunEvent(kind, number, name, data))

    def _fail(self, data: bytes) -> None:
        """A bare error ends the run, and is told by whoever reads."""
        self.settled = True
        try:
            told = value_of(data)
        except NotJson:
            told = data.decode("utf-8", "replace")
        failure = self._faults.of_run(told, "The upstream broke off with an error and gave no reason.")
        self.end = RunEnd(status=ERROR, failure=failure)

    def _note(self, response: Response | None) -> None:
        if response is not None and response.id and is_run_id(response.id):
            self.run_id = response.id

    def _conclude(self, response: Response, status: str, raw: bytes, error: msgspec.Raw) -> bool:
        """False for an end that must not be told as if it were an answer."""
        self.settled = True
        status = response.status if response.status in _OVER else status
        failure: GatewayError | None = None
        if status == "failed":
            told = error if bytes(error) != bytes(NULL) else response.error
            failure = self._faults.of_run(value_of(told), "The upstream's run failed and gave no reason.")
        elif status == "completed" and not self._spoken and raw and _says_nothing(response):
            failure = EmptyAnswer(_NOTHING_SAID)
        self.end = RunEnd(
            status=status, response=raw, model=response.model, usage=read_usage(response.usage), failure=failure
        )
        return failure is None or status == "failed"

    def complete(self, data: bytes) -> None:
        """`data` is the response object of a run whose last event brought none."""
        with suppress(NotJson):
            response = _RESPONSE.read(self._clean(data))
            if response is not None and response.status in _OVER:
                self._conclude(response, response.status, self._clean(data), NULL)

    def _close_whole(self, whole: bytes, found: list[RunEvent]) -> None:
        """A reply that is one response object and no stream: it becomes the one event that would have told it."""
        if whole.startswith(b"<"):
            self.failure = self._faults.of_response(200, Headers(()), whole[:MAX_PAGE_BYTES])
            return
        data = self._clean(whole.strip())
        try:
            response = _RESPONSE.read(data)
            if response is None or response.status is None:
                self.failure = self._faults.of_run(value_of(data), "The upstream's reply is no response object.")
                return
        except NotJson:
            self.failure = UpstreamTruncated("The upstream's reply is not whole.")
            return
        self._note(response)
        if self._sight is not None and self._sight.deep:
            self._sight.see(b'{"response":%s}' % data, last=True)
        if response.status not in _OVER:
            self.alive = True
            return
        skipped = self._told
        good = self._conclude(response, response.status, data, NULL)
        if self.end is not None:
            self.end = msgspec.structs.replace(self.end, skipped=skipped)
        if not good:
            return
        number = 0 if self.last_sequence is None else self.last_sequence + 1
        kind = f"response.{response.status}"
        event = b'{"type":"%s","sequence_number":%d,"response":%s}' % (kind.encode(), number, data)
        found.append(RunEvent(kind, number, MESSAGE, event))

    def _clean(self, data: bytes) -> bytes:
        return self._faults.redacted(data)


def is_over(body: bytes) -> bool:
    """Of a run's response object. Raises UpstreamError."""
    try:
        response = _RESPONSE.read(body)
    except NotJson:
        response = None
    if response is None:
        raise UpstreamError("The Perplexity API answered with what is no response object.")
    return response.status in _OVER


def _says_nothing(response: Response) -> bool:
    """True if nothing of the output is an answer: there are pages that were found at most."""
    for raw in response.output or ():
        item = _ITEM.read(raw)
        if item is None or item.type in _FOUND:
            continue
        if item.type != "message" or any(text.strip() for text in texts(item)):
            return False
    return True
