"""The Agent request in the form of older documents: `messages`, nested functions, `file_url`, search fields at the top.

The API refuses all of them by now. Each becomes what took its place, before the body is looked at any further; errors
name a field as it was written.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Annotated, NamedTuple

import msgspec

from pplx_gateway.decode import convert
from pplx_gateway.errors import InvalidRequest, RequestError
from pplx_gateway.protocols.openai import messages, search
from pplx_gateway.protocols.openai.chat_request import ChatMessage
from pplx_gateway.protocols.openai.fields import IDLE_SEARCH, Fields
from pplx_gateway.protocols.openai.search_fields import SearchFields
from pplx_gateway.protocols.perplexity.agent.checking import american
from pplx_gateway.protocols.perplexity.agent.items import with_file
from pplx_gateway.protocols.perplexity.agent.request import JsonObject
from pplx_gateway.protocols.perplexity.strict import unknown_field
from pplx_gateway.protocols.search_values import month_ago
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, Part, Search, Turn
from pplx_gateway.unknown import unknown_paths

RENAMED = {
    "published_after": "search_after_date_filter",
    "published_before": "search_before_date_filter",
    "search_domain": "search_mode",
}
_SEARCH = (
    "search_mode",
    "search_domain_filter",
    "search_recency_filter",
    "search_after_date_filter",
    "search_before_date_filter",
    "last_updated_after_filter",
    "last_updated_before_filter",
    "web_search_options",
)
_IDLE = Fields(IDLE_SEARCH, ())
_NO_ACADEMIC = "The upstream has no search for academic sources of their own; the web was searched."
_ONE_TOOL = "The body has a web_search tool already: put what '{}' says into it."


class Translated(NamedTuple):
    """`fields` is a body as the API has it now; `warnings` tell what could not be kept, `dropped` names fields that do
    nothing any more."""

    fields: JsonObject
    warnings: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


class _Conversation(msgspec.Struct):
    messages: Annotated[list[ChatMessage], msgspec.Meta(min_length=1)]


def translated(fields: JsonObject, now: float) -> Translated:
    """`now` is in seconds since the epoch. Raises InvalidRequest."""
    fields = {name: value for name, value in fields.items() if value is not None}
    _take_messages(fields)
    _take_tools(fields)
    _take_effort(fields)
    if "file_url" in fields:
        url = fields.pop("file_url")
        if not isinstance(url, str):
            raise InvalidRequest("'file_url' must be a text.", param="file_url")
        fields["input"] = with_file(fields.get("input"), url)
    return _with_search(fields, now)


def _take_messages(fields: JsonObject) -> None:
    if "messages" not in fields:
        return
    if "input" in fields:
        raise InvalidRequest("'messages' is an older form of 'input'. Send one of them.", param="messages")
    given = {"messages": fields.pop("messages")}
    said = convert(given, _Conversation, "")
    for path in unknown_paths(given, _Conversation):
        raise unknown_field(path)
    fields["input"] = [_item(turn) for turn in messages.turns(said.messages)]


def _item(turn: Turn) -> JsonObject:
    match turn:
        case FunctionCall(call_id, name, arguments, signature):
            call: JsonObject = {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}
            return call if signature is None else {**call, "thought_signature": signature}
        case FunctionResult(call_id, output):
            return {"type": "function_call_output", "call_id": call_id, "output": output}
        case Message(role="user", parts=parts):
            return {"type": "message", "role": "user", "content": [_part(part) for part in parts]}
        case Message():
            return {"type": "message", "role": turn.role, "content": turn.text}


def _part(part: Part) -> JsonObject:
    match part:
        case ImagePart(url):
            return {"type": "input_image", "image_url": url}
        case FilePart(data=data, url=url, filename=filename):
            given = {"file_data": data, "file_url": url, "filename": filename}
            return {"type": "input_file", **{name: value for name, value in given.items() if value is not None}}
        case _:
            return {"type": "input_text", "text": part.text}


def _take_tools(fields: JsonObject) -> None:
    tools = fields.get("tools")
    if isinstance(tools, list):
        fields["tools"] = [_flat(tool) for tool in tools]


def _flat(tool: object) -> object:
    if isinstance(tool, dict) and isinstance(inner := tool.get("function"), dict):
        return {**{name: value for name, value in tool.items() if name != "function"}, **inner}
    return tool


def _take_effort(fields: JsonObject) -> None:
    if "reasoning_effort" not in fields:
        return
    if "reasoning" in fields:
        raise InvalidRequest("'reasoning_effort' and 'reasoning' say the same.", param="reasoning_effort")
    effort = fields.pop("reasoning_effort")
    if effort not in ("none", "minimal", "low", "medium", "high", "xhigh", "max"):
        known = "none, minimal, low, medium, high, xhigh, max"
        raise InvalidRequest(f"'reasoning_effort' must be one of: {known}.", param="reasoning_effort")
    fields["reasoning"] = {"effort": effort}


def _with_search(fields: JsonObject, now: float) -> Translated:
    """With a tool that searches in the place of search fields."""
    written = {RENAMED.get(name, name): name for name in (*RENAMED, *_SEARCH) if name in fields}
    latest = fields.pop("latest_updated", None)
    if latest not in (None, True, False):
        raise InvalidRequest("'latest_updated' must be true or false.", param="latest_updated")
    if not written and not latest:
        return Translated(fields)
    asked = dict(_taken(fields, written))
    if latest:
        asked.setdefault("last_updated_after_filter", month_ago(now).isoformat())
    with _as_written(written):
        request = convert(asked, SearchFields, "")
        found = search.search(request)
        for path in unknown_paths(asked, SearchFields):
            raise unknown_field(path)
    _add_tools(fields, found.search, next(iter(written.values()), "latest_updated"))
    academic = (_NO_ACADEMIC,) if "academic" in found.search.sources else ()
    return Translated(fields, (*found.warnings, *academic), _IDLE.advisory(request))


def _taken(fields: JsonObject, written: Mapping[str, str]) -> Iterator[tuple[str, object]]:
    for name in (*RENAMED, *_SEARCH):
        if name not in fields:
            continue
        if written[RENAMED.get(name, name)] != name:
            other = written[RENAMED.get(name, name)]
            raise InvalidRequest(f"'{name}' and '{other}' say the same. Send one of them.", param=name)
        yield RENAMED.get(name, name), fields.pop(name)


@contextmanager
def _as_written(written: Mapping[str, str]) -> Iterator[None]:
    """Inside, an error names the field that the caller wrote."""
    try:
        yield
    except RequestError as error:
        if name := written.get(error.param or ""):
            error.message = error.message.replace(f"'{error.param}'", f"'{name}'")
            error.param = name
        raise


def _add_tools(fields: JsonObject, wanted: Search, written: str) -> None:
    tools = fields.get("tools") or []
    if not isinstance(tools, list):
        return  # which is told when the body is looked at
    kinds = [tool.get("type") for tool in tools if isinstance(tool, dict)]
    if "web_search" in kinds:
        raise InvalidRequest(_ONE_TOOL.format(written), param=written)
    added = [_web_search(wanted)]
    if fields.get("effort") or fields.get("preset"):
        # A level has tools of its own, and may lose them as soon as one is listed (docs/wire-agent.md 2.1).
        added += [{"type": "fetch_url"}] if "fetch_url" not in kinds else []
    if "finance" in wanted.sources and "finance_search" not in kinds:
        added.append({"type": "finance_search"})
    fields["tools"] = [*tools, *added]


_FILTERS: Mapping[str, Callable[[Search], object]] = {
    "search_domain_filter": lambda wanted: list(wanted.domains) or None,
    "search_recency_filter": lambda wanted: wanted.recency,
    "search_after_date_filter": lambda wanted: american(wanted.after),
    "search_before_date_filter": lambda wanted: american(wanted.before),
    "last_updated_after_filter": lambda wanted: american(wanted.updated_after),
    "last_updated_before_filter": lambda wanted: american(wanted.updated_before),
}


def _web_search(wanted: Search) -> JsonObject:
    filters = {name: value for name, of in _FILTERS.items() if (value := of(wanted)) is not None}
    tool: JsonObject = {"type": "web_search"}
    if filters:
        tool["filters"] = filters
    if wanted.context_size:
        tool["search_context_size"] = wanted.context_size
    if wanted.location:
        tool["user_location"] = msgspec.to_builtins(wanted.location)
    return tool
