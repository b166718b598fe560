"""What OpenAI's decisions are about, and the same as the state that the upstream looks at.

A conversation becomes a list of its turns, in which images stay where they are; calls and their outputs stay the
objects that they are.
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import msgspec

from pplx_gateway.decisions import Described
from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.attachments import image
from pplx_gateway.unknown import unknown_paths


class TextPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input_text"):
    text: str
    prompt_cache_breakpoint: dict[str, object] | None = None


class ImagePart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input_image"):
    """A `data:` URL, or an address, which is passed on."""

    image_url: str
    detail: str | None = None
    prompt_cache_breakpoint: dict[str, object] | None = None


class JsonPart(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input_json"):
    data: dict[str, object] | list[dict[str, object]]


class OutputText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    text: str


class Refusal(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="refusal"):
    refusal: str


InputPart = TextPart | ImagePart | JsonPart
Part = InputPart | OutputText | Refusal


class UserMessage(msgspec.Struct, frozen=True, kw_only=True):
    role: Literal["user"]
    content: str | list[InputPart]
    type: Literal["message"] = "message"


class OwnersMessage(msgspec.Struct, frozen=True, kw_only=True):
    """Of those who wrote the program."""

    role: Literal["developer", "system"]
    content: str | list[TextPart]
    type: Literal["message"] = "message"


class AssistantMessage(msgspec.Struct, frozen=True, kw_only=True):
    """`phase` has no effect."""

    role: Literal["assistant"]
    content: str | list[OutputText | Refusal]
    phase: Literal["commentary", "final_answer"] | None = None
    type: Literal["message"] = "message"


class FunctionCall(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["function_call"]
    call_id: str
    name: str
    arguments: str
    id: str | None = None
    namespace: str | None = None
    status: str | None = None


class CustomCall(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["custom_tool_call"]
    call_id: str
    name: str
    input: str
    id: str | None = None
    namespace: str | None = None
    status: str | None = None


class CallOutput(msgspec.Struct, frozen=True, kw_only=True):
    type: Literal["function_call_output", "custom_tool_call_output"]
    call_id: str
    output: str | list[TextPart | ImagePart]
    id: str | None = None
    status: str | None = None


Message = UserMessage | OwnersMessage | AssistantMessage
Call = FunctionCall | CustomCall
Item = Message | Call | CallOutput
_MESSAGES: dict[object, type[Message]] = {
    "user": UserMessage,
    "developer": OwnersMessage,
    "system": OwnersMessage,
    "assistant": AssistantMessage,
}
_OTHERS: dict[object, type[Item]] = {
    "function_call": FunctionCall,
    "custom_tool_call": CustomCall,
    "function_call_output": CallOutput,
    "custom_tool_call_output": CallOutput,
}


class State(NamedTuple):
    """`unknown` are paths of keys without effect."""

    value: Described
    unknown: list[str]


def state(given: str | list[dict[str, object]]) -> State:
    """Raises InvalidRequest that names the place."""
    if isinstance(given, str):
        if not given.strip():
            raise InvalidRequest("'input' is empty.", param="input")
        return State(given, [])
    if not given:
        raise InvalidRequest("'input' is empty.", param="input")
    calls: set[str] = set()
    turns, unknown = list[object](), list[str]()
    for index, raw in enumerate(given):
        at = f"input[{index}]"
        item = _item(raw, at)
        unknown += [f"{at}.{path}" for path in unknown_paths(raw, type(item))]
        turns.append(_turn(item, at, calls))
    return State(turns, unknown)


def _item(raw: dict[str, object], at: str) -> Item:
    kind = raw.get("type", "message")
    if kind == "message":
        message = _MESSAGES.get(raw.get("role")) if isinstance(raw.get("role"), str) else None
        if message is None:
            raise InvalidRequest(f"'{at}.role' must be one of: {', '.join(map(str, _MESSAGES))}.", param=f"{at}.role")
        return convert(raw, message, at)
    other = _OTHERS.get(kind) if isinstance(kind, str) else None
    if other is None:
        known = ", ".join(["message", *map(str, _OTHERS)])
        raise InvalidRequest(f"'{at}.type' must be one of: {known}.", param=f"{at}.type")
    return convert(raw, other, at)


def _turn(item: Item, at: str, calls: set[str]) -> dict[str, object]:
    """As the upstream sees it. `calls` are the ids of those before it."""
    match item:
        case FunctionCall() | CustomCall():
            calls.add(item.call_id)
            said = item.arguments if isinstance(item, FunctionCall) else item.input
            return {"type": item.type, "call_id": item.call_id, "name": item.name, "arguments": said}
        case CallOutput():
            if item.call_id not in calls:
                raise InvalidRequest(f"'{at}.call_id' is that of no call before it.", param=f"{at}.call_id")
            output = _content(item.output, f"{at}.output")
            # a decider looks for images in the content of a list's members, and nowhere else
            name = "content" if isinstance(output, list) else "output"
            return {"type": item.type, "call_id": item.call_id, name: output}
        case _:
            return {"role": item.role, "content": _content(item.content, f"{at}.content")}


def _content(content: str | Sequence[Part], at: str) -> object:
    if isinstance(content, str):
        return content
    if len(content) == 1 and not isinstance(content[0], ImagePart):
        return _plain(content[0])
    return [_part(part, f"{at}[{place}]") for place, part in enumerate(content)]


def _part(part: Part, at: str) -> object:
    if isinstance(part, ImagePart):
        return {"type": "image_url", "image_url": {"url": image(part.image_url, f"{at}.image_url").url}}
    plain = _plain(part)
    return {"type": "text", "text": plain} if isinstance(plain, str) else plain


def _plain(part: Part) -> Described:
    match part:
        case JsonPart(data=data):
            return data if isinstance(data, dict) else list[object](data)
        case Refusal(refusal=text):
            return text
        case TextPart(text=text) | OutputText(text=text):
            return text
        case ImagePart():
            raise TypeError("an image is not plain")


def described(parts: Sequence[InputPart]) -> Described:
    """Parts without images as one description: text where all of it is text."""
    plain = [_plain(part) for part in parts]
    texts = [each for each in plain if isinstance(each, str)]
    if len(texts) == len(plain):
        return "\n".join(texts)
    return plain[0] if len(plain) == 1 else list[object](plain)
