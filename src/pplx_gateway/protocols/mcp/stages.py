"""How far a response is: counted from the events that the store has of it, without a word of what they hold."""

from collections.abc import Iterable

import msgspec

from pplx_gateway.store.records import StoredEvent

_STAGES = {
    "response.queued": "waiting",
    "response.in_progress": "begun",
    "response.reasoning_summary_part.added": "thinking",
    "response.reasoning_summary_text.delta": "thinking",
    "response.web_search_call.in_progress": "searching",
    "response.web_search_call.searching": "searching",
    "response.web_search_call.completed": "reading",
    "response.output_text.delta": "writing",
}
_ITEM_DONE = "response.output_item.done"


class _Action(msgspec.Struct):
    sources: list[msgspec.Raw] = []


class _Item(msgspec.Struct):
    type: str
    action: _Action | None = None


class _Done(msgspec.Struct):
    item: _Item


class _Delta(msgspec.Struct):
    delta: str


class Stages:
    """`last` is the number of the last event that was counted."""

    def __init__(self) -> None:
        self.last = -1
        self.stage = "waiting"
        self._searches = 0
        self._pages = 0
        self._written = 0

    def count(self, events: Iterable[StoredEvent]) -> bool:
        """True if the stage is another one now, or a search was finished."""
        before = (self.stage, self._searches)
        for number, kind, data in events:
            self.last = number
            self.stage = _STAGES.get(kind, self.stage)
            if kind == "response.output_text.delta":
                self._written += len(msgspec.json.decode(data, type=_Delta).delta)
            elif kind == _ITEM_DONE:
                self._finish(msgspec.json.decode(data, type=_Done).item)
        return before != (self.stage, self._searches)

    def _finish(self, item: _Item) -> None:
        if item.type == "web_search_call":
            self._searches += 1
            self._pages += len(item.action.sources) if item.action else 0

    def line(self, seconds: float) -> str:
        """`searching after 12 s; 3 searches, 24 pages`."""
        counts = [
            f"{number} {one if number == 1 else many}"
            for number, one, many in (
                (self._searches, "search", "searches"),
                (self._pages, "page", "pages"),
                (self._written, "character written", "characters written"),
            )
            if number
        ]
        return f"{self.stage} after {seconds:.0f} s" + (f"; {', '.join(counts)}" if counts else "")
