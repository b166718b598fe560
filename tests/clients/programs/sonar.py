"""LangChain's ChatPerplexity and LiteLLM's `perplexity/`, as they ask for Sonar; and what else LangChain has of
Perplexity's.

PERPLEXITY_BASE_URL, PERPLEXITY_API_KEY, PPLX_API_KEY.
"""

import functools
import json
import operator
import os
import sys

import litellm
import openai
from langchain_perplexity import (
    ChatPerplexity,
    PerplexityEmbeddings,
    PerplexitySearchResults,
    PerplexitySearchRetriever,
)

QUESTION = "Which two rivers meet in Ghent?"
MESSAGES = [{"role": "user", "content": QUESTION}]
GATEWAY = {
    "api_base": os.environ["PERPLEXITY_BASE_URL"],
    "api_key": os.environ["PERPLEXITY_API_KEY"],
    "messages": MESSAGES,
}


def tell(client, model, way, **told):
    print(json.dumps({"client": client, "model": model, "way": way, **told}))


def langchain(model):
    chat = ChatPerplexity(model=model)
    for way, message in (
        ("plain", chat.invoke(QUESTION)),
        ("streamed", functools.reduce(operator.add, chat.stream(QUESTION))),
    ):
        beside = message.additional_kwargs
        tell(
            "langchain",
            model,
            way,
            text=message.content,
            tokens=message.usage_metadata["total_tokens"],
            citations=beside["citations"],
            results=len(beside["search_results"]),
            finish=message.response_metadata.get("finish_reason", "stop"),
        )


def beside_langchains_chat():
    found = PerplexitySearchRetriever(k=3, search_domain_filter=["-a.example"]).invoke(QUESTION)
    searched = PerplexitySearchResults().invoke({"query": QUESTION, "max_results": 2})
    vectors = PerplexityEmbeddings(model="pplx-embed-v1-0.6b").embed_documents([QUESTION, "tides"])
    tell("langchain", "search", "retriever", urls=[document.metadata["url"] for document in found])
    tell("langchain", "search", "tool", urls=[result["url"] for result in searched])
    tell("langchain", "embeddings", "vectors", lengths=[len(vector) for vector in vectors])


def by_litellm(model):
    name = f"perplexity/{model}"
    plain = litellm.completion(model=name, temperature=0.2, max_tokens=500, **GATEWAY)
    chunks = list(litellm.completion(model=name, stream=True, **GATEWAY))
    for way, reply in (("plain", plain), ("streamed", litellm.stream_chunk_builder(chunks, messages=MESSAGES))):
        choice = reply.choices[0]
        tell(
            "litellm",
            model,
            way,
            text=choice.message.content,
            tokens=reply.usage.total_tokens,
            citations=list(getattr(reply, "citations", None) or []),
            finish=choice.finish_reason,
            cost=litellm.completion_cost(completion_response=plain, model=name),
        )


def failures(model):
    for way, fault, stream in (("refused", "upstream_500", False), ("broken", "midstream_drop", True)):
        question = f"fault:{fault} Why?"
        asked = {**GATEWAY, "messages": [{"role": "user", "content": question}], "stream": stream, "max_retries": 0}
        try:
            reply = litellm.completion(model=f"perplexity/{model}", **asked)
            list(reply if stream else ())
            tell("litellm", model, way, error=None)
        except openai.APIError as error:
            tell("litellm", model, way, error=type(error).__name__, status=getattr(error, "status_code", None))


for asked in sys.argv[1:]:
    langchain(asked)
    by_litellm(asked)
beside_langchains_chat()
failures(sys.argv[1])
