"""What the events of one run say, put together. No input and no output.

The same text comes in the deltas, in `.done` events, in the item and in the terminal response (docs/wire-agent.md 2.7).
It is told from the deltas; of the last copy only what they did not bring.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from pplx_agent_mcp import ArgumentError, Fields, UpstreamError, check_response_id, error_message, read_run

from llm_pplx_agent.reading import HalfJoiner

WAITS_FOR_CALLS = "requires_action"
_ENDS = {
    "response.completed": "completed",
    "response.incomplete": "incomplete",
    "response.cancelled": "cancelled",
    "response.failed": "failed",
    "error": "failed",
}


class Thought(NamedTuple):
    """A line about what the run is doing."""

    text: str


class Text(NamedTuple):
    """The next piece of the answer."""

    text: str


class Ended(NamedTuple):
    """The whole response; its status says how it ended."""

    response: Fields


Piece = Thought | Text | Ended


class Gathering:
    """`say` gets the counts of results found and pages read, whenever one has grown. `response` is the run's last word,
    None while it goes on; `cursor` is the number of the last event, -1 before the first."""

    def __init__(self, say: Callable[[int, int], None]) -> None:
        self.response_id = ""
        self.cursor = -1
        self.response: Fields | None = None
        self._say = say
        self._half = HalfJoiner()
        self._told: list[str] = []
        self._found = self._fetched = 0
        self._items: list[Fields] = []
        self._calls: dict[str, Fields] = {}

    @property
    def resumable(self) -> bool:
        """False if going on with the stream would tell some of the text again."""
        return self.cursor >= 0 or not self._told

    def begin(self, response: Fields) -> bool:
        """Notes the run's id; true at its first mention. Raises UpstreamError."""
        if self.response_id:
            return False
        try:
            self.response_id = check_response_id(str(response.get("id") or ""), "id")
        except ArgumentError:
            raise UpstreamError("Perplexity's reply holds no usable id of a run.", ambiguous=True) from None
        return True

    def take(self, event: Fields) -> Iterator[Piece]:
        """What one event tells. Raises UpstreamError if the run has no id that can be used."""
        kind = event.get("type")
        if not isinstance(kind, str) or not (kind.startswith("response.") or kind in _ENDS) or self.response:
            return
        number = event.get("sequence_number")
        if isinstance(number, int):
            if number <= self.cursor:
                return  # a replay repeats it
            self.cursor = number
        inner = event.get("response")
        if isinstance(inner, dict) and inner.get("id"):
            self.begin(inner)
        if kind in _ENDS:
            self.response = {"id": self.response_id, **_ended(event, _ENDS[kind])}
        elif kind == "response.output_text.delta" and isinstance(event.get("delta"), str):
            yield from self._tell(self._half.feed(event["delta"]))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            self._note(event.get("item"), done=kind.endswith("done"))
        elif kind.startswith("response.reasoning."):
            yield from self._reason(event)

    def _reason(self, event: Fields) -> Iterator[Piece]:
        """What the run thinks, asks for and reads; how much it found is progress."""
        thought = event.get("thought")
        if isinstance(thought, str) and thought.strip():
            yield Thought(thought.strip())
        for key, verb in (("queries", "Searching"), ("urls", "Reading")):
            named = [entry for entry in _list(event.get(key)) if isinstance(entry, str)]
            if named:
                yield Thought(f"{verb}: {'; '.join(named)}")
        found, fetched = len(_list(event.get("results"))), len(_list(event.get("contents")))
        if found or fetched:
            self._found += found
            self._fetched += fetched
            self._say(self._found, self._fetched)

    def _note(self, item: object, *, done: bool) -> None:
        if not isinstance(item, dict):
            return
        if item.get("type") == "function_call":
            self._calls[str(item.get("call_id"))] = item
        elif done and item.get("type") != "message":
            self._items.append(item)

    def finish(self, response: Fields) -> Iterator[Piece]:
        """What the last copy of the answer has beyond what was told, and the response with all its output. Raises
        UpstreamError if the two copies differ."""
        yield from self._tell(self._half.close())
        if response.get("status") not in ("failed", "cancelled"):
            response = {**response, "output": self._output(response)}
            told, answer = "".join(self._told), read_run(response).answer
            if answer.startswith(told):
                yield from self._tell(answer[len(told) :])
            elif answer.strip() != told.strip():
                raise UpstreamError("What was streamed is not what Perplexity has kept of the answer.")
        yield Ended(response)

    def _tell(self, text: str) -> Iterator[Piece]:
        if text:
            self._told.append(text)
            yield Text(text)

    def _output(self, response: Fields) -> list[Any]:
        """The output, from the events where the response has come without."""
        told = "".join(self._told)
        output = _list(response.get("output")) or [*self._items, *self._calls.values()]
        if not told or read_run({"output": output}).answer:
            return output
        said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": told}]}
        return [*output, said]


def _ended(event: Fields, status: str) -> Fields:
    """The response that a terminal event carries, with what the event alone says."""
    inner = event.get("response")
    response: Fields = dict(inner) if isinstance(inner, dict) else {}
    if status != "completed" or response.get("status") != WAITS_FOR_CALLS:
        response["status"] = status
    if status == "failed" and not error_message(response):
        response["error"] = {"message": error_message(event)}
    return response


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
