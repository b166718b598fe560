"""Chat messages to turns.

Order is kept, also of late system text and of several turns of one role. `developer` is `system`. Where nobody but the
system speaks, its last text is the question (titles and tags are asked like that). An empty assistant or system text
holds nothing and makes no turn.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import attachments
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.called import arguments_text
from pplx_gateway.protocols.openai.chat_request import (
    AssistantMessage,
    CalledFunction,
    ChatMessage,
    DeveloperMessage,
    FunctionMessage,
    SystemMessage,
    ToolMessage,
    UserMessage,
)
from pplx_gateway.protocols.openai.content import (
    AudioContent,
    FileContent,
    FileUrlContent,
    ImageContent,
    PdfUrlContent,
    RefusalContent,
    TextContent,
    VideoContent,
)
from pplx_gateway.question import FunctionCall, FunctionResult, Message, Part, TextPart, Turn, apart

T = TypeVar("T")


def turns(messages: Sequence[ChatMessage], attached: Attached = NO_FILES) -> tuple[Turn, ...]:
    """Never empty. `attached` holds the files that parts name by id. Raises InvalidRequest with the path of the part
    that is wrong."""
    known = _Known(attached)
    found: list[Turn] = []
    for index, message in enumerate(messages):
        found.extend(_TURNS[type(message)](message, f"messages[{index}]", known))
    if not found:
        raise InvalidRequest("'messages' holds no text.", param="messages")
    if isinstance(found[-1], FunctionCall):
        raise InvalidRequest("'messages' ends with a call that no 'tool' message answers.", param="messages")
    if all(isinstance(turn, Message) and turn.role == "system" for turn in found):
        found[-1] = _as_user(found[-1])
    return tuple(found)


class _Known:
    """The caller's files, and the calls made so far, so that every result can be put to one."""

    def __init__(self, attached: Attached) -> None:
        self.attached = attached
        self._ids: set[str] = set()
        self._answered: set[str] = set()
        self._waiting: list[FunctionCall] = []

    def add(self, call: FunctionCall) -> FunctionCall:
        self._ids.add(call.call_id)
        self._answered.discard(call.call_id)  # some clients count their calls anew in every turn
        self._waiting.append(call)
        return call

    def answer(self, call_id: str) -> bool:
        """False if the call has a result already."""
        answered = call_id in self._answered
        self._answered.add(call_id)
        return not answered

    def invent_id(self) -> str:
        """An id for a call in the old form, which has none."""
        return f"call_{len(self._ids)}"

    def has(self, call_id: str) -> bool:
        return call_id in self._ids

    def take(self, name: str) -> str | None:
        """The id of the oldest call of `name` that got no result yet; for results in the old form."""
        for call in self._waiting:
            if call.name == name:
                self._waiting.remove(call)
                return call.call_id
        return None


def _system(message: SystemMessage | DeveloperMessage, at: str, _: _Known) -> Iterator[Turn]:
    parts = _text_parts(message.content, at)
    if any(part.text for part in parts):
        yield Message("system", parts)


def _user(message: UserMessage, at: str, known: _Known) -> Iterator[Turn]:
    content = message.content
    if isinstance(content, str):
        parts: tuple[Part, ...] = (TextPart(content),)
    else:
        pieces = _present(content, at)
        parts = tuple(
            _PARTS[type(piece)](piece, f"{at}.content[{index}]", known.attached) for index, piece in enumerate(pieces)
        )
    if all(isinstance(part, TextPart) and not part.text for part in parts):
        raise InvalidRequest(f"'{at}.content' is empty.", param=f"{at}.content")
    yield Message("user", parts)


def _assistant(message: AssistantMessage, at: str, known: _Known) -> Iterator[Turn]:
    if message.content is None and not message.tool_calls and not message.function_call:
        raise InvalidRequest(f"'{at}.content' may be null only beside 'tool_calls'.", param=f"{at}.content")
    parts = _text_parts(message.content, at) if message.content is not None else ()
    if any(part.text for part in parts):
        yield Message("assistant", parts)
    for place, call in enumerate(message.tool_calls or ()):
        function = call.function
        arguments = arguments_text(function.arguments, f"{at}.tool_calls[{place}].function.arguments")
        yield known.add(FunctionCall(call.id, function.name, arguments, call.thought_signature))
    if message.function_call:
        yield known.add(_old_call(message.function_call, f"{at}.function_call", known))


def _old_call(call: CalledFunction, at: str, known: _Known) -> FunctionCall:
    return FunctionCall(known.invent_id(), call.name, arguments_text(call.arguments, f"{at}.arguments"))


def _tool(message: ToolMessage, at: str, known: _Known) -> Iterator[Turn]:
    if not known.has(message.tool_call_id):
        where = f"{at}.tool_call_id"
        raise InvalidRequest(f"'{where}' answers no call of an earlier assistant message.", param=where)
    if not known.answer(message.tool_call_id):
        where = f"{at}.tool_call_id"
        raise InvalidRequest(f"'{where}' has a result already.", param=where)
    yield FunctionResult(message.tool_call_id, apart(part.text for part in _text_parts(message.content, at)))


def _function(message: FunctionMessage, at: str, known: _Known) -> Iterator[Turn]:
    call_id = known.take(message.name)
    if call_id is None:
        raise InvalidRequest(f"'{at}.name' answers no call of an earlier assistant message.", param=f"{at}.name")
    yield FunctionResult(call_id, apart(part.text for part in _text_parts(message.content, at)))


def _text_parts(content: str | Sequence[TextContent | RefusalContent] | None, at: str) -> tuple[TextPart, ...]:
    if isinstance(content, str):
        return (TextPart(content),)
    pieces = _present(content, at)
    return tuple(TextPart(piece.text if isinstance(piece, TextContent) else piece.refusal) for piece in pieces)


def _present(content: Sequence[T] | None, at: str) -> Sequence[T]:
    if content is None:
        raise InvalidRequest(f"'{at}.content' is missing.", param=f"{at}.content")
    if not content:
        raise InvalidRequest(f"'{at}.content' is an empty list.", param=f"{at}.content")
    return content


def _as_user(turn: Turn) -> Turn:
    return Message("user", turn.parts) if isinstance(turn, Message) else turn


def _address(address: Any) -> str:
    return address if isinstance(address, str) else address.url


def _refuse(what: str) -> Callable[[object, str, Attached], Part]:
    def refuse(_: object, at: str, __: Attached) -> Part:
        raise InvalidRequest(f"'{at}': {what}. What works: text, image_url, file.", param=f"{at}.type")

    return refuse


_TURNS: dict[type, Callable[[Any, str, _Known], Iterator[Turn]]] = {
    SystemMessage: _system,
    DeveloperMessage: _system,
    UserMessage: _user,
    AssistantMessage: _assistant,
    ToolMessage: _tool,
    FunctionMessage: _function,
}

_PARTS: dict[type, Callable[[Any, str, Attached], Part]] = {
    TextContent: lambda piece, _, __: TextPart(piece.text),
    ImageContent: lambda piece, at, _: attachments.image(piece.image_url.url, f"{at}.image_url.url"),
    FileContent: lambda piece, at, attached: attachments.document(piece.file, f"{at}.file", attached),
    FileUrlContent: lambda piece, at, _: attachments.document_address(
        _address(piece.file_url), piece.file_name, f"{at}.file_url"
    ),
    PdfUrlContent: lambda piece, at, _: attachments.document_address(
        _address(piece.pdf_url), piece.file_name, f"{at}.pdf_url"
    ),
    AudioContent: _refuse("audio is not heard by any upstream"),
    VideoContent: _refuse("video is not watched by any upstream"),
}
