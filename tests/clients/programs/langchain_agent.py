"""LangChain's ChatPerplexity over the Agent API. PERPLEXITY_BASE_URL, PERPLEXITY_API_KEY and PPLX_API_KEY."""

import functools
import operator

from langchain_core.tools import tool
from langchain_perplexity import ChatPerplexity

QUESTION = "Which two rivers meet in Ghent?"


@tool
def tide_table(port: str) -> str:
    """The tides of a port."""
    return f"High water in {port} is at 06:12."


searching = ChatPerplexity(model="sonar", use_responses_api=True).bind(tools=[{"type": "web_search"}])
print("plain:", "Leie" in searching.invoke(QUESTION).content)
streamed = functools.reduce(operator.add, searching.stream(QUESTION))
print("streamed:", "Leie" in streamed.content)
print("sources:", bool(streamed.additional_kwargs.get("search_results")))

calling = ChatPerplexity(model="sonar", use_responses_api=True).bind_tools([tide_table])
messages = [("user", "Use tide_table for 'Ostend'.")]
for ask in (calling.invoke, lambda given: functools.reduce(operator.add, calling.stream(given))):
    called = ask(messages)
    results = [tide_table.invoke(call) for call in called.tool_calls]
    print(repr(calling.invoke([*messages, called, *results]).content))
