"""One run's answer, put together from its events.

Each method takes one event's bytes and adds what it means to the batch. The verdict is `finished` or `failure`; nothing
is read after it.
"""

import logging
import re
from collections.abc import Callable, Container, Mapping

import msgspec

from pplx_gateway.answer import Batch, Finished, FinishReason, TextDelta, ToolCall
from pplx_gateway.catalogue import AgentRoute
from pplx_gateway.errors import EmptyAnswer, GatewayError, ToolProtocolError, UpstreamError
from pplx_gateway.observing.canary import Sight
from pplx_gateway.upstreams.api.events import (
    ContentPart,
    IncompleteDetails,
    Item,
    Lifecycle,
    NotJson,
    OutputItem,
    OutputTextDelta,
    OutputTextDone,
    Reasoning,
    Response,
    Shape,
    loose,
    value_of,
)
from pplx_gateway.upstreams.api.findings import Findings, entries
from pplx_gateway.upstreams.api.transcript import Segment, Transcript
from pplx_gateway.upstreams.api.usage import read_usage
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.names import Names

logger = logging.getLogger(__name__)

_DELTA = Shape(OutputTextDelta)
_DONE = Shape(OutputTextDone)
_LIFECYCLE = Shape(Lifecycle)
_OUTPUT_ITEM = Shape(OutputItem)
_REASONING = Shape(Reasoning)
_RESPONSE = Shape(Response)
_INCOMPLETE = Shape(IncompleteDetails)
_ITEM = Shape(Item)
_PART = Shape(ContentPart)
_CONTENT = msgspec.json.Decoder(list[ContentPart])
_PARTS = msgspec.json.Decoder(list[msgspec.Raw])

_decode_delta = _DELTA.decoder.decode
_RUN_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_CUT: Mapping[str | None, FinishReason] = {"content_filter": "content_filter"}

KeepSignature = Callable[[str, str], None]
"""Called with (call id, thought signature)."""


class Assembly:
    """`run_id` is safe to put into an address. `last_sequence` is the number to resume after, None before any.

    `may_call` are the names of the functions that were offered.

    `settled` = the upstream itself has ended the run, well or badly. `alive` = it gave the run as it stands, and it is
    still going on.
    """

    def __init__(
        self,
        route: AgentRoute,
        names: Names,
        *,
        may_call: Container[str],
        faults: Faults,
        keep_signature: KeepSignature,
        sight: Sight | None = None,
    ) -> None:
        self.run_id: str | None = None
        self.last_sequence: int | None = None
        self.finished = False
        self.settled = False
        self.alive = False
        self.failure: GatewayError | None = None
        self._route = route
        self._names = names
        self._may_call = may_call
        self._faults = faults
        self._keep_signature = keep_signature
        self._sight = sight
        self._repeated_through = -1
        self._model: str | None = None
        self._transcript = Transcript()
        self._findings = Findings()
        self._announced: dict[str, Item] = {}
        self._called: set[str] = set()

    @property
    def over(self) -> bool:
        return self.finished or self.failure is not None

    def resume(self) -> None:
        """The stream begins again somewhere: what was seen before is not to be told twice."""
        self.failure = None
        self.alive = False
        if self.last_sequence is not None:
            self._repeated_through = self.last_sequence

    def delta(self, payload: bytes, batch: Batch) -> None:
        try:
            event = _decode_delta(payload)
        except (msgspec.DecodeError, RecursionError):
            self._odd_delta(payload, batch)
            return
        if event.delta and self._is_new(event.sequence_number):
            self._say(self._transcript.extend(_segment(event), event.delta), batch)

    def _odd_delta(self, payload: bytes, batch: Batch) -> None:
        """A delta that msgspec refuses; most likely it ends or begins with half a character."""
        event, fields = _DELTA.read(payload), loose(payload)
        delta = fields.get("delta") if isinstance(fields, dict) else None
        if event and isinstance(delta, str) and self._is_new(event.sequence_number):
            self._say(self._transcript.extend_halves(_segment(event), delta), batch)

    def text_done(self, payload: bytes, batch: Batch) -> None:
        event = _DONE.read(payload)
        if event and event.text is not None and self._is_new(event.sequence_number):
            self._say(self._transcript.settle(_segment(event), event.text), batch)

    def begun(self, payload: bytes) -> None:
        """Any sign of life of the whole run."""
        event = _LIFECYCLE.read(payload)
        if event and self._is_new(event.sequence_number):
            self._note(_RESPONSE.read(event.response))

    def reasoning(self, payload: bytes, batch: Batch) -> None:
        event = _REASONING.read(payload)
        if event and self._is_new(event.sequence_number):
            batch += self._findings.thought(event.thought)
            batch += self._findings.queries(event.queries)
            batch += self._findings.sources(event.results)
            batch += self._findings.images(event.results)
            batch += self._findings.pages(event.urls)
            batch += self._findings.contents(event.contents)

    def item_added(self, payload: bytes) -> None:
        """Only functions matter here: should the finished item never come, this one will do."""
        event = _OUTPUT_ITEM.read(payload)
        item = _ITEM.read(event.item) if event and self._is_new(event.sequence_number) else None
        if item and item.type == "function_call":
            self._announced[item.call_id or item.id or ""] = item

    def item_done(self, payload: bytes, batch: Batch) -> None:
        event = _OUTPUT_ITEM.read(payload)
        item = _ITEM.read(event.item) if event and self._is_new(event.sequence_number) else None
        if event is None or item is None:
            return
        if item.type == "message":
            place = event.output_index if event.output_index is not None else item.id
            for index, text in enumerate(texts(item)):
                self._say(self._transcript.settle((place, index), text), batch)
        elif item.type == "function_call":
            self._call(item, batch)
        else:
            self._find(item, event.item, batch)

    def whole(self, payload: bytes, batch: Batch) -> None:
        """A reply that is one response object and no stream. Neither `finished` nor `failure` = it still runs."""
        response = _RESPONSE.read(payload)
        if response is None or (response.status is None and response.output is None):
            self.failure = self._faults.of_run(value_of(payload), "The upstream's reply is no response object.")
        elif response.status in (None, *_VERDICTS):
            self._conclude(response, response.status or "completed", response.error, batch)
        else:
            self.alive = True
            self._note(response)

    def end(self, payload: bytes, status: str, batch: Batch) -> None:
        """A terminal event; `status` is what its type says, which the response's own status overrules."""
        event = _LIFECYCLE.read(payload) or Lifecycle()
        response = _RESPONSE.read(event.response)
        if response and response.status in _VERDICTS:
            status = response.status
        raw = event.error if bytes(event.error) != b"null" else (response.error if response else event.error)
        self._conclude(response or Response(), status, raw, batch)

    def error(self, payload: bytes) -> None:
        """A bare error event, in JSON or in plain words."""
        self.settled = True
        try:
            value = value_of(payload)
        except NotJson:
            value = payload.decode("utf-8", "replace")
        self.failure = self._faults.of_run(value, "The upstream broke off with an error and gave no reason.")

    def _conclude(self, response: Response, status: str, error: msgspec.Raw, batch: Batch) -> None:
        self.settled = True
        self._note(response)
        if status == "failed":
            self.failure = self._faults.of_run(value_of(error), "The upstream's run failed and gave no reason.")
        elif status == "cancelled":
            self.failure = UpstreamError("The upstream's run was cancelled before it was done.")
        else:
            self._catch_up(response, batch)
            self._finish(response, status, batch)

    def _catch_up(self, response: Response, batch: Batch) -> None:
        """Whatever the final response holds and the stream did not."""
        whole, calls = "", []
        for raw in response.output or ():
            item = _ITEM.read(raw)
            if item is None:
                continue
            if item.type == "message":
                whole += "".join(texts(item))
            elif item.type == "function_call":
                calls.append(item)
            else:
                self._find(item, raw, batch)
        if whole:
            self._say(self._transcript.complete(whole), batch)
        self._say(self._transcript.flush(), batch)
        for item in (*calls, *self._announced.values()):
            self._call(item, batch)
        if self._transcript.contradicted:
            logger.warning("the upstream's final text differs from what it streamed", extra={"run_id": self.run_id})

    def _finish(self, response: Response, status: str, batch: Batch) -> None:
        if self.failure is not None:
            return
        if status != "incomplete" and self._transcript.blank and not self._called:
            self.failure = EmptyAnswer("The upstream finished without an answer.")
            return
        self.finished = True
        served = None if self._model == self._route.effort else self._model
        batch.append(
            Finished(
                reason=self._reason(response, status),
                served_model=served,
                substituted_by=_substitute(self._route.model, served),
                usage=read_usage(response.usage),
            )
        )

    def _reason(self, response: Response, status: str) -> FinishReason:
        if status == "incomplete":
            details = _INCOMPLETE.read(response.incomplete_details)
            return _CUT.get(details.reason if details else None, "length")
        return "tool_calls" if self._called else "stop"

    def _find(self, item: Item, raw: msgspec.Raw, batch: Batch) -> None:
        if self._findings.repeated(raw):
            return
        batch += self._findings.queries(item.queries)
        match item.type:
            case "search_results":
                batch += self._findings.sources(item.results)
            case "image_search_results":
                batch += self._findings.images(item.results)
            case "fetch_url_results":
                batch += self._findings.contents(item.contents)
            case "people_search_results" | "finance_results":
                batch += self._findings.sources(item.results)
                batch += self._findings.native(raw)
            case _:
                if self._sight is not None:
                    self._sight.note("item", item.type)
                batch += self._findings.native(raw)

    def _call(self, item: Item, batch: Batch) -> None:
        key = item.call_id or item.id
        if key in self._called or self.failure is not None:
            return
        if not item.name or not key:
            self.failure = ToolProtocolError("The upstream sent a function call without a name or an id.")
            return
        name, arguments = self._names.own(item.name), _arguments(item.arguments)
        if name not in self._may_call:
            self.failure = ToolProtocolError("The upstream sent a call of a function that it was not offered.")
            return
        if arguments is None:
            self.failure = ToolProtocolError("The upstream sent a function call whose arguments are no JSON object.")
            return
        self._called.add(key)
        if item.thought_signature:
            self._keep_signature(key, item.thought_signature)
        batch.append(ToolCall(call_id=key, name=name, arguments=arguments, signature=item.thought_signature))

    def _say(self, text: str, batch: Batch) -> None:
        if text:
            batch.append(TextDelta(text))

    def _note(self, response: Response | None) -> None:
        if response is None:
            return
        if response.id and is_run_id(response.id):
            self.run_id = response.id
        self._model = response.model or self._model

    def _is_new(self, sequence: int | None) -> bool:
        if sequence is None:
            return True
        if sequence <= self._repeated_through:
            return False
        self.last_sequence = sequence
        return True


_VERDICTS = ("completed", "incomplete", "failed", "cancelled", "requires_action")


def is_run_id(text: str) -> bool:
    """True for what may stand in an address."""
    return _RUN_ID.fullmatch(text) is not None


def _segment(event: OutputTextDelta | OutputTextDone) -> Segment:
    place = event.output_index
    return (event.item_id if place is None else place, event.content_index or 0)


def texts(item: Item) -> list[str]:
    """The text parts of a message, whose content is a list of parts or, in other dialects, a string."""
    try:
        parts = _CONTENT.decode(item.content)
    except (msgspec.DecodeError, RecursionError):
        return _odd_texts(value_of(item.content))
    return [part.text for part in parts if part.text is not None]


def _odd_texts(content: object) -> list[str]:
    if isinstance(content, str):
        return [content]
    parts = _PARTS.decode(msgspec.json.encode(content)) if isinstance(content, list) else []
    return [part.text for part in entries(parts, _PART) if part.text is not None]


def _arguments(raw: msgspec.Raw) -> str | None:
    """JSON text of an object, None if it is none: no caller could call a function with that. Some dialects send the
    object itself; nothing at all means no arguments."""
    value = value_of(raw)
    if value is None or value == "":
        return "{}"
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    try:
        return text if isinstance(msgspec.json.decode(text), dict) else None
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def _substitute(asked: str | None, served: str | None) -> str | None:
    """Another model than the one asked for; a dated edition of it is none."""
    return served if asked and served and not served.startswith(asked) else None
