"""The output of a response while it is written: its items, one open at a time, and the events that tell of them.

Marks in the text are known only at its end, so the message stays open until the answer is whole. What else comes
meanwhile (function calls, a late thought or search) waits for that, and follows in the order in which it came.
"""

from collections.abc import Callable, Iterable

from pplx_gateway.answer import Annotation, ToolCall
from pplx_gateway.protocols.openai.responses.events import Event, ResponseEvent, Sequence
from pplx_gateway.protocols.openai.responses.item_writers import (
    Closed,
    Message,
    Place,
    Reasoning,
    Search,
    Searched,
    function_call,
)
from pplx_gateway.protocols.openai.responses.objects import ItemStatus, OutputItem

_Write = Callable[[list[Event]], None]


class Output:
    """`items` are those that are finished. Every method adds its events to `out`."""

    def __init__(self, response_id: str, sequence: Sequence, *, show_sources: bool) -> None:
        self.items: list[OutputItem] = []
        self.message: Message | None = None
        self.searched = False
        self._response_id = response_id
        self._sequence = sequence
        self._show_sources = show_sources
        self._open: Reasoning | Search | None = None
        self._search: Searched | None = None  # to which pages belong that are found now
        self._late: list[_Write] = []
        self._held: list[str] = []  # reasoning that would close a search before its pages are known

    def say(self, text: str, out: list[Event]) -> None:
        """Reasoning; it goes on in the item that is open, if that is one of reasoning."""

        def write(out: list[Event]) -> None:
            if isinstance(self._open, Search) and self._open.lacks_sources:
                self._held.append(text)
            else:
                self._say(text, out)

        self._when_free(write, out)

    def search(self, queries: tuple[str, ...], out: list[Event]) -> None:
        self.searched = True
        search = self._search = Searched(queries)

        def write(out: list[Event]) -> None:
            self._close_open(out)
            self._open = Search(self._place(), search, show_sources=self._show_sources)
            self._send(self._open.opening(), out)

        self._when_free(write, out)

    def found(self, urls: Iterable[str]) -> None:
        """Pages of the last search, until the text begins."""
        if self._search:
            self._search.found(urls)

    def call(self, call: ToolCall, out: list[Event]) -> None:
        def write(out: list[Event]) -> None:
            self._close_open(out)
            self._finish(function_call(self._place(), call), out)

        self._when_free(write, out)

    def text(self, text: str, out: list[Event]) -> None:
        if not self.message:
            self._close_open(out)
            self._search = None
            self.message = Message(self._place())
            self._send(self.message.opening(), out)
        out.append(self.message.delta(text, self._sequence))

    def close(self, annotations: Iterable[Annotation], status: ItemStatus, out: list[Event]) -> None:
        """The end of every item. `status` is the message's."""
        self._close_open(out)
        if self.message:
            self._finish(self.message.close(annotations, status), out)
            self.message = None
        for write in self._late:
            write(out)
        self._close_open(out)

    def _when_free(self, write: _Write, out: list[Event]) -> None:
        if self.message:
            self._late.append(write)
        else:
            write(out)

    def _say(self, text: str, out: list[Event]) -> None:
        if not isinstance(self._open, Reasoning):
            if self._open:
                self._finish(self._open.close(), out)
            self._open = Reasoning(self._place())
            self._send(self._open.opening(), out)
        held, self._held = self._held, []
        self._send(self._open.say("".join((*held, text))), out)

    def _close_open(self, out: list[Event]) -> None:
        if self._held:
            self._say("", out)
        if self._open:
            self._finish(self._open.close(), out)
            self._open = None

    def _finish(self, closed: Closed, out: list[Event]) -> None:
        self._send(closed.events, out)
        self.items.append(closed.item)

    def _send(self, events: list[ResponseEvent], out: list[Event]) -> None:
        out += [self._sequence.event(event) for event in events]

    def _place(self) -> Place:
        return Place(self._response_id, len(self.items))
