"""Reads what the protocol writes, as strictly as OpenAI's own models do, and joins chunks as its own SDK does."""

import json
from collections.abc import Iterable
from typing import Any

from openai.lib.streaming._deltas import accumulate_delta
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from pydantic import TypeAdapter

Json = dict[str, Any]

_completion = TypeAdapter(ChatCompletion)
_chunk = TypeAdapter(ChatCompletionChunk)


def reply(body: bytes) -> Json:
    found: Json = json.loads(body)
    _completion.validate_python(found, strict=True)
    return found


def payloads(stream: bytes) -> list[str]:
    """The `data:` payloads; every frame must be one line and a blank line, with LF alone."""
    assert b"\r" not in stream
    frames = stream.decode().split("\n\n")
    assert frames.pop() == "", "the last frame has its blank line too"
    lines = [line for frame in frames for line in frame.split("\n") if not line.startswith(":")]
    assert all(line.startswith("data: ") for line in lines), lines
    return [line.removeprefix("data: ") for line in lines]


def chunks(stream: bytes) -> list[Json]:
    """Every chunk, checked; `[DONE]` is left out."""
    found = [json.loads(text) for text in payloads(stream) if text != "[DONE]" and not text.startswith('{"error"')]
    for chunk in found:
        _chunk.validate_python(chunk, strict=True)
    return found


def deltas(found: Iterable[Json]) -> list[Json]:
    return [chunk["choices"][0]["delta"] for chunk in found if chunk["choices"]]


def joined(found: Iterable[Json]) -> Json:
    """The message that the SDK's own accumulator makes of the deltas."""
    message: dict[object, object] = {}
    for delta in deltas(found):
        message = accumulate_delta(message, delta)  # type: ignore[arg-type]
    return message  # type: ignore[return-value]


def finish(found: Iterable[Json]) -> Json:
    """The one chunk with a finish_reason."""
    (chunk,) = [chunk for chunk in found if chunk["choices"] and chunk["choices"][0]["finish_reason"]]
    return chunk
