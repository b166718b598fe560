"""Turns and search options in the Agent API's own words (docs/wire-agent.md 2.2, 2.3, 13.2).

The API refuses a request for one unknown key at any depth, so every key here is one that it documents.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from operator import attrgetter

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import (
    FilePart,
    FunctionCall,
    FunctionResult,
    FunctionTool,
    ImagePart,
    Location,
    Message,
    Part,
    Search,
    TextPart,
    Turn,
)
from pplx_gateway.upstreams.names import Names

Fields = dict[str, object]
SignatureOf = Callable[[str], str | None]

IMAGE_FORMATS = ("bmp", "gif", "jpeg", "png", "webp", "svg")


def text_item(role: str, text: str) -> Fields:
    return {"type": "message", "role": role, "content": text}


def items(turns: Iterable[Turn], names: Names, signature_of: SignatureOf) -> list[Fields]:
    """One input item a turn, in order; an assistant turn without text has none.

    `signature_of` finds the thought signature of a call whose caller never saw it. Raises InvalidRequest.
    """
    found = (_item(turn, names, signature_of) for turn in turns)
    return [item for item in found if item is not None]


def _item(turn: Turn, names: Names, signature_of: SignatureOf) -> Fields | None:
    match turn:
        case FunctionCall():
            return _call(turn, names, signature_of)
        case FunctionResult(call_id, output):
            return {"type": "function_call_output", "call_id": call_id, "output": output}
        case Message(role="user"):
            return {"type": "message", "role": "user", "content": _content(turn)}
        case _:
            return _spoken(turn)


def _spoken(message: Message) -> Fields | None:
    """System and assistant text, which the API takes as strings only."""
    if not all(isinstance(part, TextPart) for part in message.parts):
        raise InvalidRequest(f"A message of the role '{message.role}' can hold nothing but text on the api upstream.")
    return text_item(message.role, message.text) if message.text else None


def _content(message: Message) -> str | list[Fields]:
    if all(isinstance(part, TextPart) for part in message.parts):
        return message.text
    return [_part(part) for part in message.parts]


def _part(part: Part) -> Fields:
    match part:
        case TextPart(text):
            return {"type": "input_text", "text": text}
        case ImagePart(url):
            return {"type": "input_image", "image_url": url}
        case FilePart(data=data, url=url, filename=filename):
            return _given({"type": "input_file", "file_data": data, "file_url": url, "filename": filename})


def _call(call: FunctionCall, names: Names, signature_of: SignatureOf) -> Fields:
    signature = call.signature or signature_of(call.call_id)
    fields: Fields = {
        "type": "function_call",
        "call_id": call.call_id,
        "name": names.sent(call.name),
        "arguments": call.arguments,
        "thought_signature": signature,
    }
    return _given(fields)


def function_tool(function: FunctionTool, names: Names) -> Fields:
    """Flat: the API knows no inner `function` object."""
    fields: Fields = {
        "type": "function",
        "name": names.sent(function.name),
        "description": function.description,
        "parameters": function.parameters,
        "strict": function.strict,
    }
    return _given(fields)


def web_search_tool(search: Search) -> Fields:
    """Filters are nested, size, number and place stand on the tool itself."""
    location = msgspec.to_builtins(search.location) if search.location else None
    fields: Fields = {
        "type": "web_search",
        "max_results": search.max_results,
        "search_context_size": search.context_size,
        "user_location": location or None,
        "filters": _filters(search) or None,
    }
    return _given(fields)


def image_search_tool(search: Search) -> Fields:
    filters = _given(
        {
            "domain_filter": list(search.image_domains) or None,
            "format_filter": [_image_format(name) for name in search.image_formats] or None,
        }
    )
    return _given({"type": "image_search", "filters": filters or None})


def is_narrowed(search: Search) -> bool:
    """True if any option of the web_search tool is set."""
    return any(_options(search)) or search.location not in (None, Location())


_options = attrgetter(
    *("max_results", "context_size", "domains", "recency", "after", "before", "updated_after", "updated_before")
)


def _filters(search: Search) -> Fields:
    return _given(
        {
            "search_domain_filter": list(search.domains) or None,
            "search_recency_filter": search.recency,
            "search_after_date_filter": _day(search.after),
            "search_before_date_filter": _day(search.before),
            "last_updated_after_filter": _day(search.updated_after),
            "last_updated_before_filter": _day(search.updated_before),
        }
    )


def _day(day: date | None) -> str | None:
    """MM/DD/YYYY, the one form that the API reads; it ignores others without a word (docs/wire-agent.md 2.1)."""
    return None if day is None else f"{day.month:02}/{day.day:02}/{day.year:04}"


def _image_format(name: str) -> str:
    lowered = name.lower().lstrip(".")
    lowered = "jpeg" if lowered == "jpg" else lowered
    if lowered not in IMAGE_FORMATS:
        formats = ", ".join(IMAGE_FORMATS)
        raise InvalidRequest(f"There is no image format '{name}'; there are {formats}.", param="image_format_filter")
    return lowered


def _given(fields: Mapping[str, object]) -> Fields:
    """Without what was not asked for."""
    return {key: value for key, value in fields.items() if value is not None}
