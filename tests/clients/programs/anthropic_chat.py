"""LangChain's ChatAnthropic. ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY."""

import functools
import json
import operator
import sys

from langchain_anthropic import ChatAnthropic
from langchain_core.tools import tool

QUESTION = "Which two rivers meet in Ghent?"


@tool
def tide_table(port: str) -> str:
    """The tides of a port."""
    return f"High water in {port} is at 06:12."


def tell(model, way, message):
    content = message.content if isinstance(message.content, list) else [message.content]
    blocks = [{"type": "text", "text": part} if isinstance(part, str) else part for part in content]
    told = {
        "text": "".join(block.get("text", "") for block in blocks),
        "citations": sum(len(block.get("citations") or []) for block in blocks),
        "kinds": sorted({block["type"] for block in blocks}),
        "tokens": (message.usage_metadata or {}).get("total_tokens"),
        "finish": message.response_metadata.get("stop_reason"),
        "calls": [call["args"] for call in message.tool_calls],
    }
    print(json.dumps({"client": "ChatAnthropic", "model": model, "way": way, **told}))


def converse(model, stream):
    """A call, its result, and the answer to it."""
    chat = ChatAnthropic(model=model, max_tokens=1000).bind_tools([tide_table])
    ask = (lambda said: functools.reduce(operator.add, chat.stream(said))) if stream else chat.invoke
    messages = [("user", "Use tide_table for 'Ostend'.")]
    called = ask(messages)
    tell(model, "streamed call" if stream else "call", called)
    results = [tide_table.invoke(call) for call in called.tool_calls]
    tell(model, "streamed result" if stream else "result", ask([*messages, called, *results]))


for name in sys.argv[1:]:
    chat = ChatAnthropic(model=name, max_tokens=1000)
    tell(name, "plain", chat.invoke(QUESTION))
    tell(name, "streamed", functools.reduce(operator.add, chat.stream(QUESTION)))
    searching = chat.bind_tools([{"type": "web_search_20250305", "name": "web_search"}])
    tell(name, "search", searching.invoke(QUESTION))
    tell(name, "streamed search", functools.reduce(operator.add, searching.stream(QUESTION)))
    thinking = ChatAnthropic(model=name, max_tokens=4000, thinking={"type": "enabled", "budget_tokens": 1024})
    first = thinking.invoke(QUESTION)
    tell(name, "thinking", first)
    tell(name, "after thinking", thinking.invoke([("user", QUESTION), first, ("user", "And which of them is longer?")]))
    converse(name, stream=False)
    converse(name, stream=True)
