"""LangChain's ChatOpenAI and ChatPerplexity.

OPENAI_BASE_URL, OPENAI_API_KEY; PERPLEXITY_BASE_URL, PERPLEXITY_API_KEY and PPLX_API_KEY.
"""

import functools
import json
import operator
import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langchain_perplexity import ChatPerplexity

QUESTION = "Which two rivers meet in Ghent?"
CLIENTS = {
    "ChatOpenAI": ChatOpenAI,
    "ChatOpenAI with usage": functools.partial(ChatOpenAI, stream_usage=True),
    "ChatPerplexity": ChatPerplexity,
}


@tool
def tide_table(port: str) -> str:
    """The tides of a port."""
    return f"High water in {port} is at 06:12."


def tell(client, model, way, message):
    told = {
        "text": message.content,
        "tokens": (message.usage_metadata or {}).get("total_tokens"),
        "sources": len(message.additional_kwargs.get("citations", [])),
        "finish": message.response_metadata.get("finish_reason"),
    }
    print(json.dumps({"client": client, "model": model, "way": way, **told}))


def converse(model):
    """A call, its result, and the answer to it."""
    chat = ChatOpenAI(model=model).bind_tools([tide_table])
    messages = [("user", "Use tide_table for 'Ostend'.")]
    called = chat.invoke(messages)
    results = [tide_table.invoke(call) for call in called.tool_calls]
    tell("ChatOpenAI with a tool", model, "plain", chat.invoke([*messages, called, *results]))


for name, make in CLIENTS.items():
    for model in sys.argv[1:]:
        chat = make(model=model)
        tell(name, model, "plain", chat.invoke(QUESTION))
        tell(name, model, "streamed", functools.reduce(operator.add, chat.stream(QUESTION)))
for model in sys.argv[1:]:
    converse(model)
