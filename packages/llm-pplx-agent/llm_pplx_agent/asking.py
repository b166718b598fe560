"""From llm's prompt to the body of `POST /v1/agent`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import llm
from llm.parts import AttachmentPart, Message, Part, TextPart, ToolCallPart, ToolResultPart
from pplx_agent_mcp import Fields, agent_body

from llm_pplx_agent.notices import say
from llm_pplx_agent.options import DEFAULT_PRESET, AgentOptions

MODEL_ID = "pplx-agent"
"""Also the key under which our own notes stand in the parts that llm keeps."""

IMAGE_TYPES = frozenset(("image/png", "image/jpeg", "image/gif", "image/webp"))

RESERVED = frozenset(
    (
        "fetch_url",
        "finance_search",
        "image_search",
        "people_search",
        "sandbox",
        "search_people",
        "search_web",
        "web_search",
    )
)
"""Names of Perplexity's own tools. The API refuses functions that bear one, so they travel under another name."""
_PREFIX = "fn_"


class Asked(NamedTuple):
    """`whole` asks the same without leaning on an earlier run, for when Perplexity does not know that one any more.
    `names` are the tools' own names by those that were sent."""

    body: Fields
    whole: Fields | None
    names: dict[str, str]


def ask(prompt: llm.Prompt, options: AgentOptions) -> Asked:
    """Raises llm.ModelError for what cannot be asked."""
    tools = [tool for tool in prompt.tools if isinstance(tool, llm.Tool)]
    names = _sent_names([tool.name for tool in tools])
    messages = _with_system(prompt.messages, prompt.system)
    whole = _body([*_items(messages, names)], prompt.schema, tools, names, options)
    response_id, rest = _after_last_run(messages)
    own = {sent: name for name, sent in names.items()}
    if not response_id:
        return Asked(whole, None, own)
    body = {**whole, "input": [*_items(rest, names)], "previous_response_id": response_id}
    return Asked(body if body["input"] else whole, whole, own)


def to_collect(response_id: str) -> str:
    """The command that gets the answer of a run which was paid for."""
    return f"llm -m {MODEL_ID} -o response_id {response_id} 'your question'"


def notes(part: Part) -> Fields:
    """What we noted on a part of an earlier answer."""
    found = (getattr(part, "provider_metadata", None) or {}).get(MODEL_ID)
    return found if isinstance(found, dict) else {}


def _body(
    items: list[Fields], schema: Any, tools: Sequence[llm.Tool], names: dict[str, str], options: AgentOptions
) -> Fields:
    if not items:
        raise llm.ModelError("There is nothing to ask: the prompt is empty.")
    body = agent_body(
        {
            "query": items,
            "preset": options.preset or DEFAULT_PRESET,
            "recency": options.recency,
            "domains": options.domains,
        }
    )
    body["tools"] += [_function(tool, names) for tool in tools]
    if schema:
        body["response_format"] = _format(schema, options)
    return body


def _format(schema: Fields, options: AgentOptions) -> Fields:
    if schema.get("type") != "object":
        raise llm.ModelError("Perplexity takes only schemas whose root is an object; put this one into a property.")
    if options.spotlight:
        raise llm.ModelError("A fenced answer is no JSON: with a schema, leave 'spotlight' out or set it to false.")
    return {"type": "json_schema", "json_schema": {"name": "output", "schema": schema}}


def _function(tool: llm.Tool, names: dict[str, str]) -> Fields:
    described = {"description": tool.description} if tool.description else {}
    parameters = tool.input_schema or {"type": "object", "properties": {}}
    return {"type": "function", "name": names[tool.name], **described, "parameters": parameters}


def _sent_names(own: Iterable[str]) -> dict[str, str]:
    """The name under which each tool travels, for every name of Perplexity's own tools too."""
    names = {name: name for name in own}
    for name in RESERVED:
        sent = _PREFIX + name
        while sent in names:
            sent = _PREFIX + sent
        names[name] = sent
    return names


def _with_system(messages: list[Message], system: str) -> list[Message]:
    """The messages, with a system prompt that llm leaves out of them when a conversation goes on."""
    said = {_text(message.parts) for message in messages if message.role == "system"}
    if not system or system in said:
        return messages
    place = max((at for at, message in enumerate(messages) if message.role == "user"), default=len(messages))
    return [*messages[:place], Message("system", [TextPart(system)]), *messages[place:]]


def _after_last_run(messages: Sequence[Message]) -> tuple[str, Sequence[Message]]:
    """The last run that can be continued, and what was said after it; no id, and all, if there is none."""
    for place in range(len(messages) - 1, -1, -1):
        for part in messages[place].parts:
            response_id = notes(part).get("response_id")
            if isinstance(response_id, str):
                return response_id, messages[place + 1 :]
    return "", messages


def _items(messages: Iterable[Message], names: dict[str, str]) -> Iterator[Fields]:
    for message in messages:
        if message.role == "tool":
            yield from (_output(part, names) for part in message.parts if isinstance(part, ToolResultPart))
        elif message.role == "assistant":
            yield from _assistant(message, names)
        else:
            yield from _said(message.role, message.parts)


def _said(role: str, parts: Sequence[Part]) -> Iterator[Fields]:
    """Images follow the text. Plain text stays plain."""
    images = [_image(part.attachment) for part in parts if isinstance(part, AttachmentPart) and part.attachment]
    text = _text(parts)
    if images:
        texts = [{"type": "input_text", "text": text}] if text else []
        yield {"type": "message", "role": role, "content": [*texts, *images]}
    elif text:
        yield {"type": "message", "role": role, "content": text}


def _assistant(message: Message, names: dict[str, str]) -> Iterator[Fields]:
    """An earlier answer: its own text without what we put around it, then its calls."""
    text = "".join(_answer(part) for part in message.parts if isinstance(part, TextPart))
    if text:
        yield {"type": "message", "role": "assistant", "content": text}
    for part in message.parts:
        if isinstance(part, ToolCallPart) and not part.server_executed:
            signature = notes(part).get("thought_signature")
            yield {
                "type": "function_call",
                "call_id": _call_id(part),
                "name": names.get(part.name, part.name),
                "arguments": json.dumps(part.arguments),
                **({"thought_signature": signature} if isinstance(signature, str) else {}),
            }
        elif isinstance(part, AttachmentPart):
            say("an attachment of an earlier answer is left out: Perplexity takes text only from that side")


def _answer(part: TextPart) -> str:
    match notes(part).get("answer"):
        case [int(start), int(end)]:
            return part.text[start:end]
    return part.text


def _output(part: ToolResultPart, names: dict[str, str]) -> Fields:
    images = [_image(attachment) for attachment in part.attachments]
    output = [{"type": "input_text", "text": part.output}, *images] if images else part.output
    item = {"type": "function_call_output", "call_id": _call_id(part), "output": output}
    return {**item, "name": names.get(part.name, part.name)} if part.name else item


def _call_id(part: ToolCallPart | ToolResultPart) -> str:
    return part.tool_call_id or f"call_{part.name}"  # histories of old versions of llm have calls without an id


def _text(parts: Sequence[Part]) -> str:
    return "".join(part.text for part in parts if isinstance(part, TextPart))


def _image(attachment: llm.Attachment) -> Fields:
    url = attachment.url or ""
    if url.startswith(("https://", "data:")):
        return {"type": "input_image", "image_url": url}
    if url:
        raise llm.ModelError("Perplexity fetches images by https only; give this one as a file.")
    try:
        kind, content = attachment.resolve_type(), attachment.base64_content()  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise llm.ModelError(f"An attachment could not be read ({type(error).__name__}).") from None
    if kind not in IMAGE_TYPES:
        raise llm.ModelError(f"An attachment is of type {kind}; this model takes {', '.join(sorted(IMAGE_TYPES))}.")
    return {"type": "input_image", "image_url": f"data:{kind};base64,{content}"}
