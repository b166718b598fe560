"""Messages to turns.

Order is kept. Assistant messages in a row are one turn, as this protocol has it. Thoughts and what servers did on the
way come back without an effect; callers are told of each kind once.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from pplx_gateway.capabilities import Feature, Use
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.anthropic.content import (
    AssistantBlock,
    DocumentBlock,
    FileSource,
    ImageBlock,
    ResultContent,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
    UserBlock,
)
from pplx_gateway.protocols.anthropic.parts import Parts, blocks
from pplx_gateway.protocols.anthropic.request import AssistantInput, CountRequest, SystemInput, UserInput
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.question import FunctionCall, FunctionResult, Message, Part, TextPart, Turn

F = Feature
FAILED = "The call failed.\n"
"""What goes before a result that is marked as an error: results are plain text upstream."""
_LONGEST_ID = 80


class Said(NamedTuple):
    """`uses`: what the blocks ask of an upstream. `idle`: what they carry without an effect."""

    turns: tuple[Turn, ...]
    uses: tuple[Use, ...]
    idle: tuple[str, ...]


def conversation(request: CountRequest, attached: Attached = NO_FILES) -> Said:
    """`attached` holds the files that blocks name by id. Raises InvalidRequest and its kinds, with the path of the
    block that is wrong."""
    said = _Said(attached)
    if request.system is not None:
        said.system(request.system, "system")
    for index, message in enumerate(request.messages):
        _ROLES[type(message)](said, message.content, f"messages[{index}].content")
    return said.whole(offered=bool(request.tools))


def named_files(request: CountRequest) -> Iterator[tuple[str, str]]:
    """Ids of uploaded files, with their paths."""
    for index, message in enumerate(request.messages):
        if isinstance(message, UserInput) and isinstance(message.content, list):
            yield from _named_files(message.content, f"messages[{index}].content")


def _named_files(found: Sequence[UserBlock | ResultContent], at: str) -> Iterator[tuple[str, str]]:
    for place, block in enumerate(found):
        match block:
            case ImageBlock(source=FileSource(file_id)) | DocumentBlock(source=FileSource(file_id)):
                yield file_id, f"{at}[{place}].source.file_id"
            case ToolResultBlock(content=list(inner)):
                yield from _named_files(inner, f"{at}[{place}].content")
            case _:
                pass


class _Said:
    def __init__(self, attached: Attached) -> None:
        self._parts = Parts(attached)
        self._turns: list[Turn] = []
        self._names: dict[str, str] = {}  # of functions, by the ids of their calls
        self._unanswered: dict[str, None] = {}
        self._first_result: str | None = None

    def whole(self, *, offered: bool) -> Said:
        """Raises InvalidRequest where there is nothing to answer."""
        if not any(isinstance(turn, FunctionResult) or _by_user(turn) for turn in self._turns):
            raise InvalidRequest("'messages' holds no message of the user.", param="messages")
        if self._unanswered:
            call_id = next(iter(self._unanswered))[:_LONGEST_ID]
            raise InvalidRequest(f"'messages' has no tool_result for the tool_use '{call_id}'.", param="messages")
        uses = self._parts.uses
        last = self._turns[-1]
        if isinstance(last, Message) and last.role == "assistant":
            uses.append(Use("messages", F.PREFILL))
        if self._first_result is not None and not offered:
            uses.append(Use(self._first_result, F.FUNCTIONS))
        return Said(tuple(self._turns), tuple(uses), tuple(self._parts.idle))

    def system(self, content: str | Sequence[TextBlock], _: str) -> None:
        """Blocks stay apart, as callers keep theirs apart."""
        for block in [TextBlock(text=content)] if isinstance(content, str) else content:
            self._parts.look(block)
            if block.text.strip():
                self._turns.append(Message("system", (TextPart(block.text),)))

    def user(self, content: str | Sequence[UserBlock], at: str) -> None:
        """Pictures and files of results stand behind the results, since those are text upstream."""
        before = len(self._turns)
        parts: list[Part] = []
        shown: list[Part] = []
        for place, block in enumerate(blocks(content, at)):
            if isinstance(block, ToolResultBlock):
                self._say("user", parts)
                parts = []
                shown += self._result(block, f"{at}[{place}]")
            else:
                parts += self._parts.of(block, f"{at}[{place}]")
        self._say("user", [*shown, *parts])
        if len(self._turns) == before:
            raise InvalidRequest(f"'{at}' is empty.", param=at)

    def assistant(self, content: str | Sequence[AssistantBlock], at: str) -> None:
        parts: list[Part] = []
        for place, block in enumerate([TextBlock(text=content)] if isinstance(content, str) else content):
            if isinstance(block, ToolUseBlock):
                self._say("assistant", parts)
                parts = []
                self._call(block, f"{at}[{place}]")
            else:
                parts += self._parts.of(block, f"{at}[{place}]")
        self._say("assistant", parts)

    def _say(self, role: Literal["user", "assistant"], parts: Sequence[Part]) -> None:
        if all(isinstance(part, TextPart) and not part.text.strip() for part in parts):
            return
        last = self._turns[-1] if self._turns else None
        if role == "assistant" and isinstance(last, Message) and last.role == role:
            self._turns[-1] = Message(role, (*last.parts, *parts))
        else:
            self._turns.append(Message(role, tuple(parts)))

    def _call(self, block: ToolUseBlock, at: str) -> None:
        self._parts.look(block)
        if block.id in self._names:
            raise InvalidRequest(f"'{at}.id' is the id of another tool_use.", param=f"{at}.id")
        self._names[block.id] = block.name
        self._unanswered[block.id] = None
        self._turns.append(FunctionCall(block.id, block.name, msgspec.json.encode(block.input).decode()))

    def _result(self, block: ToolResultBlock, at: str) -> list[Part]:
        """What is no text in it, with a word about where it belongs."""
        self._parts.look(block)
        call_id, where = block.tool_use_id, f"{at}.tool_use_id"
        if call_id not in self._unanswered:
            again = call_id in self._names
            what = "a tool_use that has its result already" if again else "no tool_use of an earlier message"
            raise InvalidRequest(f"'{where}' answers {what}.", param=where)
        del self._unanswered[call_id]
        self._first_result = self._first_result or at
        parts = self._told(block, f"{at}.content")
        text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
        self._turns.append(FunctionResult(call_id, f"{FAILED}{text}" if block.is_error else text))
        shown: list[Part] = [part for part in parts if not isinstance(part, TextPart)]
        return [TextPart(f"From the result of the call {call_id} of {self._names[call_id]}:"), *shown] if shown else []

    def _told(self, block: ToolResultBlock, at: str) -> list[Part]:
        content = block.content
        if not isinstance(content, list):
            return [TextPart(content or "")]
        return [part for place, inner in enumerate(content) for part in self._parts.of(inner, f"{at}[{place}]")]


def _by_user(turn: Turn) -> bool:
    return isinstance(turn, Message) and turn.role == "user"


_ROLES: dict[type, Callable[[_Said, Any, str], None]] = {
    UserInput: _Said.user,
    AssistantInput: _Said.assistant,
    SystemInput: _Said.system,
}
