"""A proxy for the web session as it is usually written: FastAPI with pydantic, curl_cffi's AsyncSession, the standard
library's JSON. Something to stand beside; it knows nothing of threads, sources, faults or callers that leave.

Run by the interpreter of the peers (scripts/bench-peers). UPSTREAM_URL is where the session is.
"""

import json
import os
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

from curl_cffi.requests import AsyncSession
from fastapi import FastAPI
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel

# The library's own limit is 10 connections; more questions would wait without a word.
session: "AsyncSession[Any]" = AsyncSession(impersonate="chrome", max_clients=2000, timeout=300)
app = FastAPI()


class Message(BaseModel):
    role: str
    content: str


class ChatRequest(BaseModel):
    model: str
    messages: list[Message]
    stream: bool = False


async def texts(request: ChatRequest) -> AsyncIterator[str]:
    payload = {
        "query_str": request.messages[-1].content,
        "params": {"model_preference": "pplx_pro", "mode": "concise", "language": "en-US", "sources": ["web"]},
    }
    url = os.environ["UPSTREAM_URL"] + "/rest/sse/perplexity_ask"
    async with session.stream("POST", url, json=payload) as response:
        async for line in response.aiter_lines():
            if line.startswith(b"data: "):
                for text in texts_of(json.loads(line[6:])):
                    yield text


def texts_of(event: dict[str, Any]) -> list[str]:
    if event.get("final"):
        return []
    blocks = [block for block in event.get("blocks", []) if block["intended_usage"] == "ask_text"]
    return [chunk for block in blocks for chunk in block["markdown_block"]["chunks"]]


async def frames(request: ChatRequest) -> AsyncIterator[str]:
    head = {"id": f"chatcmpl-{uuid.uuid4().hex}", "object": "chat.completion.chunk", "created": int(time.time())}
    async for text in texts(request):
        choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
        yield f"data: {json.dumps({**head, 'model': request.model, 'choices': [choice]})}\n\n"
    choice = {"index": 0, "delta": {}, "finish_reason": "stop"}
    yield f"data: {json.dumps({**head, 'model': request.model, 'choices': [choice]})}\n\n"
    yield "data: [DONE]\n\n"


async def chat(request: ChatRequest) -> Any:
    if request.stream:
        return StreamingResponse(frames(request), media_type="text/event-stream")
    text = "".join([text async for text in texts(request)])
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return JSONResponse({"object": "chat.completion", "model": request.model, "choices": [choice]})


async def health() -> dict[str, str]:
    return {"status": "ok"}


app.add_api_route("/v1/chat/completions", chat, methods=["POST"], response_model=None)
app.add_api_route("/health", health)
