"""Input items, and those of the responses before, to turns.

An item of an answer stands in a conversation once: whoever sends back what `previous_response_id` already brings does
not say it twice. Thoughts and searches of earlier answers make no turn, since no upstream takes them back.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from pplx_gateway.capabilities import Feature, Use, by_address
from pplx_gateway.errors import InvalidRequest, RequestError
from pplx_gateway.protocols.openai.attachments import Attached
from pplx_gateway.protocols.openai.called import arguments_text
from pplx_gateway.protocols.openai.responses import content
from pplx_gateway.protocols.openai.responses.items import (
    AssistantItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    Item,
    ItemReference,
    ReasoningItem,
    SystemItem,
    UserItem,
    WebSearchCallItem,
    item,
)
from pplx_gateway.protocols.openai.responses.normal_form import Fields, NewId, normal, text_item
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, Part, TextPart, Turn

F = Feature
CHAIN = "previous_response_id"
"""Where everything stands that comes from the responses before."""


class Conversation(NamedTuple):
    """`turns` end with what is asked. `items` are this request's own, in normal form. `uses` and `idle` (what had no
    effect) are told by their paths."""

    turns: tuple[Turn, ...]
    items: tuple[Fields, ...]
    uses: tuple[Use, ...]
    idle: tuple[str, ...]


def conversation(
    given: str | Sequence[Fields],
    context: Sequence[bytes],
    attached: Attached,
    references: Mapping[str, bytes],
    new_id: NewId,
) -> Conversation:
    """`context` are the items of the responses before, oldest first, as they were kept; `references` what is kept under
    the ids that item references name. Raises InvalidRequest, FileNotFound with the path of what is wrong."""
    said = _Said(attached, references, new_id)
    for kept in context:
        said.before(msgspec.json.decode(kept))
    for at, fields in _listed(given):
        said.now(fields, at)
    said.finish()
    turns = said.turns
    if all(isinstance(turn, Message) and turn.role == "system" for turn in turns):
        turns[-1] = Message("user", turns[-1].parts) if isinstance(turns[-1], Message) else turns[-1]
    return Conversation(tuple(turns), tuple(said.items), tuple(dict.fromkeys(said.uses)), tuple(said.idle))


def _listed(given: str | Sequence[Fields]) -> Iterator[tuple[str, Fields]]:
    if isinstance(given, str):
        if not given.strip():
            raise InvalidRequest("'input' is empty.", param="input")
        yield "input", text_item(given)
        return
    if not given:
        raise InvalidRequest("'input' is an empty list.", param="input")
    for index, fields in enumerate(given):
        yield f"input[{index}]", fields


class _Said:
    """What was said so far."""

    def __init__(self, attached: Attached, references: Mapping[str, bytes], new_id: NewId) -> None:
        self.turns: list[Turn] = []
        self.items: list[Fields] = []
        self.uses: list[Use] = []
        self.idle: list[str] = []
        self._attached = attached
        self._references = references
        self._new_id = new_id
        self._known: dict[object, tuple[Turn, ...]] = {}
        self._calls: dict[str, FunctionCall] = {}
        self._unanswered: dict[str, None] = {}
        self._results: dict[str, FunctionResult] = {}

    def before(self, fields: Fields) -> None:
        """One item of the responses before, which was brought into normal form then. Raises RequestError that names
        CHAIN."""
        try:
            self._add(fields, item(fields, CHAIN), CHAIN)
        except RequestError as error:
            error.param = CHAIN
            raise

    def now(self, fields: Fields, at: str) -> None:
        """One item of this request."""
        found = item(fields, at)
        if isinstance(found, ItemReference):
            if found.id in self._known:
                return
            fields, found = self._resolved(found.id, at)
        kept = normal(fields, found, self._new_id)
        self._add(kept, found, at)
        self.items.append(kept)
        if isinstance(found, ReasoningItem | WebSearchCallItem):
            self._tell_once(f"input[] ({kept['type']})")

    def finish(self) -> None:
        """Raises InvalidRequest where there is nothing to answer."""
        if not self.turns or not self.items:
            raise InvalidRequest("'input' holds no text, or nothing new.", param="input")
        if self._unanswered:
            call_id = next(iter(self._unanswered))
            raise InvalidRequest(f"'input' has no function_call_output for the call '{call_id[:80]}'.", param="input")
        last = self.turns[-1]
        if isinstance(last, Message) and last.role == "assistant":
            self.uses.append(Use("input", F.PREFILL))

    def _resolved(self, item_id: str, at: str) -> tuple[Fields, Item]:
        kept = self._references.get(item_id)
        if kept is None:
            raise InvalidRequest(f"There is no item with the id of '{at}.id'.", param=f"{at}.id")
        fields: Fields = msgspec.json.decode(kept)
        return fields, item(fields, at)

    def _add(self, kept: Fields, found: Item, at: str) -> None:
        """The item's turns are added unless it stands in the conversation already."""
        if self._repeats(found):
            return
        turns = tuple(_TURNS[type(found)](self, found, at))
        item_id = kept.get("id")
        own_words = isinstance(found, UserItem | SystemItem)  # whose ids are the caller's, and may all be the same
        if own_words or item_id is None or self._known.get(item_id) != turns:
            self._known[item_id] = turns
            self.turns.extend(turns)

    def _repeats(self, found: Item) -> bool:
        if not isinstance(found, FunctionCallItem) or (call := self._calls.get(found.call_id)) is None:
            return False
        return (call.name, call.arguments) == (found.name, found.arguments)

    def _tell_once(self, name: str) -> None:
        if name not in self.idle:
            self.idle.append(name)

    # turns of one item each

    def system(self, said: SystemItem, at: str) -> Iterator[Turn]:
        parts = self._parts(said.content, at)
        if any(isinstance(part, TextPart) and part.text for part in parts):
            yield Message("system", parts)

    def user(self, said: UserItem, at: str) -> Iterator[Turn]:
        parts = self._parts(said.content, at)
        if all(isinstance(part, TextPart) and not part.text.strip() for part in parts):
            raise InvalidRequest(f"'{at}.content' is empty.", param=f"{at}.content")
        yield Message("user", parts)

    def assistant(self, said: AssistantItem, at: str) -> Iterator[Turn]:
        parts = self._parts(said.content, at)
        if any(isinstance(part, TextPart) and part.text for part in parts):
            yield Message("assistant", parts)

    def call(self, made: FunctionCallItem, at: str) -> Iterator[Turn]:
        if made.call_id in self._calls:
            raise InvalidRequest(f"'{at}.call_id' is the id of another call.", param=f"{at}.call_id")
        arguments = arguments_text(made.arguments, f"{at}.arguments")
        call = FunctionCall(made.call_id, made.name, arguments, made.thought_signature)
        self._calls[made.call_id] = call
        self._unanswered[made.call_id] = None
        yield self._of_functions(call, at)

    def result(self, given: FunctionCallOutputItem, at: str) -> Iterator[Turn]:
        if given.call_id not in self._calls:
            raise InvalidRequest(
                f"'{at}.call_id' answers no call, neither of 'input' nor of the responses before.",
                param=f"{at}.call_id",
            )
        self._unanswered.pop(given.call_id, None)
        found = FunctionResult(given.call_id, content.result_text(given.output, at))
        known = self._results.setdefault(given.call_id, found)
        if known is found:
            yield self._of_functions(found, at)
        elif known != found:  # else it was sent back once more
            raise InvalidRequest(
                f"'{at}.call_id' has a result already, and another one than this.", param=f"{at}.call_id"
            )

    def nothing(self, _: Item, __: str) -> Iterator[Turn]:
        return iter(())

    def _of_functions(self, turn: Turn, at: str) -> Turn:
        self.uses.append(Use(at, F.FUNCTIONS))
        return turn

    def _parts(self, said: str | Sequence[object], at: str) -> tuple[Part, ...]:
        if isinstance(said, str):
            return (TextPart(said),)
        if not said:
            raise InvalidRequest(f"'{at}.content' is an empty list.", param=f"{at}.content")
        return tuple(self._part(piece, f"{at}.content[{place}]") for place, piece in enumerate(said))

    def _part(self, piece: object, at: str) -> Part:
        part = content.part(piece, at, self._attached)
        if not isinstance(part, TextPart):
            self._use(piece, part, at)
        return part

    def _use(self, piece: object, part: ImagePart | FilePart, at: str) -> None:
        where = CHAIN if at.startswith(CHAIN) else at
        if isinstance(part, ImagePart):
            self.uses.append(Use(where, F.IMAGES_IN))
        if isinstance(part, FilePart) and part.data is not None:
            self.uses.append(Use(where, F.FILES_IN))
        if by_address(part):
            by_image = isinstance(part, ImagePart)
            field = "" if where == CHAIN else ".image_url" if by_image else ".file_url"
            self.uses.append(Use(f"{where}{field}", F.IMAGE_ADDRESSES if by_image else F.FILE_ADDRESSES))
        if where != CHAIN and getattr(piece, "detail", None) not in (None, "auto"):
            self.idle.append(f"{at}.detail")


_TURNS: dict[type, Callable[[_Said, Any, str], Iterator[Turn]]] = {
    SystemItem: _Said.system,
    UserItem: _Said.user,
    AssistantItem: _Said.assistant,
    FunctionCallItem: _Said.call,
    FunctionCallOutputItem: _Said.result,
    ReasoningItem: _Said.nothing,
    WebSearchCallItem: _Said.nothing,
}
