"""An input item in the one form in which it is kept and listed: with an id, a type, and its content as parts.

What else the caller wrote in it stays.
"""

from collections.abc import Callable, Mapping

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
)

Fields = dict[str, object]
NewId = Callable[[str], str]

_PREFIXES: Mapping[type, str] = {
    SystemItem: "msg",
    UserItem: "msg",
    AssistantItem: "msg",
    FunctionCallItem: "fc",
    FunctionCallOutputItem: "fco",
    ReasoningItem: "rs",
    WebSearchCallItem: "ws",
}
_TYPES: Mapping[type, str] = {
    SystemItem: "message",
    UserItem: "message",
    AssistantItem: "message",
    FunctionCallItem: "function_call",
    FunctionCallOutputItem: "function_call_output",
    ReasoningItem: "reasoning",
    WebSearchCallItem: "web_search_call",
}


def text_item(text: str) -> Fields:
    """What an `input` of plain text stands for."""
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def normal(fields: Mapping[str, object], item: Item, new_id: NewId) -> Fields:
    """`item` is what was read from `fields`; a reference must be resolved before."""
    if isinstance(item, ItemReference):
        raise TypeError("a reference has no form of its own")
    kept: Fields = {
        **{name: value for name, value in fields.items() if value is not None},
        "type": _TYPES[type(item)],
        "id": item.id or new_id(_PREFIXES[type(item)]),
    }
    match item:
        case SystemItem() | UserItem():
            kept |= {"status": item.status or "completed", "content": _parts(kept["content"], "input_text")}
        case AssistantItem():
            kept |= {"status": item.status or "completed", "content": _parts(kept["content"], "output_text")}
        case FunctionCallOutputItem(output=list()):
            kept |= {"status": item.status or "completed", "output": _parts(kept["output"], "input_text")}
        case FunctionCallItem() | FunctionCallOutputItem():
            kept["status"] = item.status or "completed"
        case WebSearchCallItem():
            kept |= {"status": item.status or "completed", "action": item.action or {"type": "search", "query": ""}}
        case ReasoningItem():
            kept["summary"] = item.summary or []
    return kept


def _parts(content: object, kind: str) -> list[Fields]:
    """Text alone is one part of this kind. What the SDKs' types require is filled in."""
    pieces = [{"type": kind, "text": content}] if isinstance(content, str) else content
    return [_part(piece) for piece in pieces] if isinstance(pieces, list) else []


def _part(piece: Fields) -> Fields:
    kept: Fields = {name: value for name, value in piece.items() if value is not None}
    match kept["type"]:
        case "input_image":
            return {"detail": "auto", **kept}
        case "output_text":
            return {"annotations": [], "logprobs": [], **kept}
        case _:
            return kept
