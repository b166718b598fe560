"""Input items as callers write them: what they say themselves, and output items of ours that come back unchanged.

An item without a `type` is a message. Ids, status, annotations and logprobs are accepted and say nothing.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.responses.parts import AnsweredPart, AskedPart, ResultPart, SystemPart

Status = Literal["in_progress", "completed", "incomplete"]
CallId = Annotated[str, msgspec.Meta(min_length=1)]
_LONGEST_SHOWN = 60
_FEW = msgspec.Meta(max_length=5000)


class _Item(msgspec.Struct, frozen=True, kw_only=True):
    id: str | None = None
    status: Status | None = None


class SystemItem(_Item, frozen=True, kw_only=True):
    """`developer` is the same as `system`."""

    role: Literal["system", "developer"]
    content: str | Annotated[list[SystemPart], _FEW]


class UserItem(_Item, frozen=True, kw_only=True):
    role: Literal["user"]
    content: str | Annotated[list[AskedPart], _FEW]


class AssistantItem(_Item, frozen=True, kw_only=True):
    role: Literal["assistant"]
    content: str | Annotated[list[AnsweredPart], _FEW]


class FunctionCallItem(_Item, frozen=True, kw_only=True):
    """`arguments` is JSON text, as the model wrote it."""

    call_id: CallId
    name: Annotated[str, msgspec.Meta(min_length=1)]
    arguments: str
    thought_signature: str | None = None


class FunctionCallOutputItem(_Item, frozen=True, kw_only=True):
    call_id: CallId
    output: str | Annotated[list[ResultPart], _FEW]


class ReasoningItem(_Item, frozen=True, kw_only=True):
    """Thoughts of an earlier answer. No upstream takes them back."""

    summary: list[dict[str, object]] | None = None
    content: list[dict[str, object]] | None = None
    encrypted_content: str | None = None


class WebSearchCallItem(msgspec.Struct, frozen=True, kw_only=True):
    """A search of an earlier answer, which holds what it found."""

    id: str | None = None
    status: str | None = None
    action: dict[str, object] | None = None


class ItemReference(msgspec.Struct, frozen=True, kw_only=True):
    """An item that is kept here already."""

    id: Annotated[str, msgspec.Meta(min_length=1)]


Item = (
    SystemItem
    | UserItem
    | AssistantItem
    | FunctionCallItem
    | FunctionCallOutputItem
    | ReasoningItem
    | WebSearchCallItem
    | ItemReference
)

_BY_ROLE: Mapping[object, type[Any]] = {
    "system": SystemItem,
    "developer": SystemItem,
    "user": UserItem,
    "assistant": AssistantItem,
}
_BY_TYPE: Mapping[object, type[Any]] = {
    "function_call": FunctionCallItem,
    "function_call_output": FunctionCallOutputItem,
    "reasoning": ReasoningItem,
    "web_search_call": WebSearchCallItem,
    "item_reference": ItemReference,
}


def item(fields: Mapping[str, object], at: str) -> Item:
    """`at` is the path that errors name. Raises InvalidRequest."""
    found: Item = convert(fields, _kind(fields, at), at)
    return found


def type_of(fields: Mapping[str, object]) -> object:
    """The item's type, also where it is left out: what has a role is a message, what has nothing but an id refers."""
    named = fields.get("type")
    if named is not None:
        return named
    return "item_reference" if "role" not in fields and set(fields) <= {"id", "type"} and "id" in fields else "message"


def _kind(fields: Mapping[str, object], at: str) -> type[Any]:
    named = type_of(fields)
    if named == "message":
        return _message(fields, at)
    kind = _BY_TYPE.get(named) if isinstance(named, str) else None
    if kind is None:
        works = ", ".join(("message", *map(str, _BY_TYPE)))
        raise InvalidRequest(
            f"'{at}.type' is {_shown(named)}: such items cannot be sent. What works: {works}.", param=f"{at}.type"
        )
    return kind


def _message(fields: Mapping[str, object], at: str) -> type[Any]:
    role = fields.get("role")
    kind = _BY_ROLE.get(role) if isinstance(role, str) else None
    if kind is not None:
        return kind
    if role is None:
        missing = "role" if "type" in fields else "type"
        raise InvalidRequest(f"Missing required parameter: '{at}.{missing}'.", param=f"{at}.{missing}")
    roles = ", ".join(map(str, _BY_ROLE))
    raise InvalidRequest(f"'{at}.role' is {_shown(role)}. Roles are: {roles}.", param=f"{at}.role")


def _shown(value: object) -> str:
    """What a caller wrote, short and safe in a message."""
    if not isinstance(value, str):
        return "no string"
    return f"'{''.join(letter for letter in value[:_LONGEST_SHOWN] if letter.isprintable())}'"
