"""LangChain's ChatOpenAI over the Responses API. OPENAI_BASE_URL and OPENAI_API_KEY; the models are arguments."""

import functools
import json
import operator
import sys

from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

QUESTION = "Which two rivers meet in Ghent?"
TIDES = "Use tide_table for 'Ostend'."


class Tide(BaseModel):
    """A tide."""

    port: str
    metres: float


@tool
def tide_table(port: str) -> str:
    """The tides of a port."""
    return f"High water in {port} is at 06:12."


def tell(model, way, message, **more):
    text = message.content if isinstance(message.content, str) else message.text
    blocks = message.content if isinstance(message.content, list) else []
    told = {
        "text": text if isinstance(text, str) else text(),
        "tokens": (message.usage_metadata or {}).get("total_tokens"),
        "annotations": sum(len(block.get("annotations", [])) for block in blocks if isinstance(block, dict)),
        "blocks": [block["type"] for block in blocks if isinstance(block, dict)],
        "id": message.response_metadata.get("id"),
    }
    print(json.dumps({"model": model, "way": way, **told, **more}))


def joined(chunks):
    return functools.reduce(operator.add, chunks)


for model in sys.argv[1:]:
    chat = ChatOpenAI(model=model, use_responses_api=True)
    messages = [("system", "Answer in English."), ("user", QUESTION)]
    first = chat.invoke(messages)
    tell(model, "plain", first)
    tell(model, "streamed", joined(chat.stream(messages)))
    follow_up = chat.invoke("And which is longer?", previous_response_id=first.response_metadata["id"])
    tell(model, "follow-up", follow_up)
    tell(model, "whole history", chat.invoke([*messages, first, ("user", "And which is longer?")]))
    searching = chat.bind_tools([{"type": "web_search"}], include=["web_search_call.action.sources"])
    tell(model, "search", searching.invoke(QUESTION))
    tell(model, "streamed search", joined(searching.stream(QUESTION)))
    thinking = ChatOpenAI(model=model, reasoning={"effort": "medium", "summary": "auto"})
    tell(model, "reasoning", joined(thinking.stream(QUESTION)))
    for way, stored in (("kept", True), ("not kept", False)):
        caller = ChatOpenAI(model=model, use_responses_api=True, store=stored).bind_tools([tide_table])
        called = caller.invoke([("user", TIDES)])
        results = [tide_table.invoke(call) for call in called.tool_calls]
        tell(model, f"tools, {way}", caller.invoke([("user", TIDES), called, *results]), calls=len(called.tool_calls))
        streamed = joined(caller.stream([("user", TIDES)]))
        results = [tide_table.invoke(call) for call in streamed.tool_calls]
        answer = joined(caller.stream([("user", TIDES), streamed, *results]))
        tell(model, f"streamed tools, {way}", answer, calls=len(streamed.tool_calls))
    if model.startswith("api/"):
        structured = chat.with_structured_output(Tide, method="json_schema")
        found = structured.invoke("How high is the tide in 'Ostend', 4.5 or less?")
        print(json.dumps({"model": model, "way": "structured", "found": found.model_dump()}))
