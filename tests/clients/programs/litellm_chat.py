"""LiteLLM by its two providers. GATEWAY_URL (with /v1) and GATEWAY_KEY."""

import json
import os
import sys

import litellm

MESSAGES = [{"role": "user", "content": "Which two rivers meet in Ghent?"}]
GATEWAY = {"api_base": os.environ["GATEWAY_URL"], "api_key": os.environ["GATEWAY_KEY"], "messages": MESSAGES}


def tell(provider, model, way, reply):
    message = reply.choices[0].message
    told = {
        "text": message.content,
        "tokens": reply.usage.total_tokens,
        "annotations": len(getattr(message, "annotations", None) or []),
        "finish": reply.choices[0].finish_reason,
    }
    print(json.dumps({"client": provider, "model": model, "way": way, **told}))


for provider in ("openai", "perplexity"):
    for model in sys.argv[1:]:
        name = f"{provider}/{model}"
        tell(provider, model, "plain", litellm.completion(model=name, **GATEWAY))
        chunks = list(litellm.completion(model=name, stream=True, stream_options={"include_usage": True}, **GATEWAY))
        tell(provider, model, "streamed", litellm.stream_chunk_builder(chunks, messages=MESSAGES))
