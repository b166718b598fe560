"""`POST /v1/embeddings` and `POST /v1/contextualizedembeddings` (docs/wire-agent.md 4).

Vectors are made of words (sense.py): texts about one thing are near each other, and a chunk in context leans towards
its document.
"""

import base64
from collections.abc import Sequence
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent import sense
from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.request import Strict
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.agent.usage import tokens
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.words import parse_controls

MOST_INPUTS = 512
MOST_CHUNKS = 16_000
MOST_TOKENS_EACH = 32_000
MOST_TOKENS = 120_000
LEAST_DIMENSIONS = 128
_CONTEXT_WEIGHT = 0.5


class EmbeddingModel(msgspec.Struct, frozen=True):
    """`price` is US dollars for a million tokens."""

    dimensions: int
    price: float


MODELS = {"pplx-embed-v1-0.6b": EmbeddingModel(1024, 0.004), "pplx-embed-v1-4b": EmbeddingModel(2560, 0.03)}
CONTEXT_MODELS = {
    "pplx-embed-context-v1-0.6b": EmbeddingModel(1024, 0.008),
    "pplx-embed-context-v1-4b": EmbeddingModel(2560, 0.05),
}

Encoding = Literal["base64_int8", "base64_binary"]


class EmbeddingBody(Strict):
    model: str
    input: str | list[str]
    dimensions: int | None = None
    encoding_format: Encoding | None = None

    @property
    def texts(self) -> list[str]:
        return [self.input] if isinstance(self.input, str) else self.input


class ContextBody(Strict):
    model: str
    input: list[list[str]]
    dimensions: int | None = None
    encoding_format: Encoding | None = None


class Embeddings:
    """Endpoints over one Stage."""

    def __init__(self, stage: Stage) -> None:
        self._desk = Desk(stage)
        stage.guard("POST", "/v1/embeddings", guard(read_embedding))
        stage.guard("POST", "/v1/contextualizedembeddings", guard(read_context))

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/embeddings", self.embed, methods=["POST"]),
            Route("/v1/contextualizedembeddings", self.embed_in_context, methods=["POST"]),
        ]

    async def embed(self, request: Request) -> Response:
        self._desk.key(request)
        asked = read_embedding(await request.body())
        model = MODELS[asked.model]
        data = [
            _embedding(index, sense.vector(_said(text), model.dimensions), asked)
            for index, text in enumerate(asked.texts)
        ]
        return self._answer(asked, model, asked.texts, data)

    async def embed_in_context(self, request: Request) -> Response:
        self._desk.key(request)
        asked = read_context(await request.body())
        model = CONTEXT_MODELS[asked.model]
        data = [
            {"object": "list", "index": index, "data": _chunks(document, model, asked)}
            for index, document in enumerate(asked.input)
        ]
        return self._answer(asked, model, [chunk for document in asked.input for chunk in document], data)

    def _answer(
        self, asked: EmbeddingBody | ContextBody, model: EmbeddingModel, texts: Sequence[str], data: list[Any]
    ) -> Response:
        whole = {"object": "list", "model": asked.model, "data": data, "usage": _usage(texts, model)}
        return self._desk.told(texts[0], whole, empty={**whole, "data": []})


def read_embedding(body: bytes) -> EmbeddingBody:
    """Raises ApiError 400 and 413."""
    asked = read_as(read_object(body), EmbeddingBody)
    _check_model(asked, MODELS)
    if not 1 <= len(asked.texts) <= MOST_INPUTS:
        raise _invalid(f"input must contain 1 to {MOST_INPUTS} texts", "input")
    _check_sizes([[text] for text in asked.texts], "input")
    return asked


def read_context(body: bytes) -> ContextBody:
    """Raises ApiError 400 and 413."""
    asked = read_as(read_object(body), ContextBody)
    _check_model(asked, CONTEXT_MODELS)
    if not 1 <= len(asked.input) <= MOST_INPUTS:
        raise _invalid(f"input must contain 1 to {MOST_INPUTS} documents", "input")
    if not all(asked.input) or sum(map(len, asked.input)) > MOST_CHUNKS:
        raise _invalid(f"input must contain at least one chunk a document and at most {MOST_CHUNKS} in all", "input")
    _check_sizes(asked.input, "document")
    return asked


def _check_model(asked: EmbeddingBody | ContextBody, models: dict[str, EmbeddingModel]) -> None:
    model = models.get(asked.model)
    if model is None:
        raise ApiError(400, f'model "{asked.model}" is not supported', "invalid_model", param="model")
    most, given = model.dimensions, asked.dimensions
    if given is not None and (not LEAST_DIMENSIONS <= given <= most or given % 8):
        raise _invalid(f"dimensions must be a multiple of 8 from {LEAST_DIMENSIONS} to {most}", "dimensions")


def _check_sizes(documents: list[list[str]], each: str) -> None:
    """`documents` are what the limit for one input holds for."""
    if not all(chunk.strip() for document in documents for chunk in document):
        raise _invalid("input must not contain empty strings", "input")
    sizes = [sum(map(tokens, document)) for document in documents]
    if max(sizes) > MOST_TOKENS_EACH or sum(sizes) > MOST_TOKENS:
        raise _invalid(f"input takes {MOST_TOKENS_EACH} tokens for each {each} and {MOST_TOKENS} in all", "input")


def _invalid(message: str, param: str) -> ApiError:
    return ApiError(400, message, "invalid_parameter", param=param)


def _said(text: str) -> str:
    return parse_controls(text).question


def _chunks(document: list[str], model: EmbeddingModel, asked: ContextBody) -> list[dict[str, Any]]:
    size = model.dimensions
    context = sense.vector(_said(" ".join(document)), size)
    parts = [((sense.vector(_said(chunk), size), 1.0), (context, _CONTEXT_WEIGHT)) for chunk in document]
    return [_embedding(index, sense.mixed(pair, size), asked) for index, pair in enumerate(parts)]


def _embedding(index: int, vector: sense.Vector, asked: EmbeddingBody | ContextBody) -> dict[str, Any]:
    kept = vector[: asked.dimensions] if asked.dimensions else vector
    packed = to_bits(kept) if asked.encoding_format == "base64_binary" else to_int8(kept)
    return {"object": "embedding", "index": index, "embedding": base64.b64encode(packed).decode()}


def to_int8(vector: sense.Vector) -> bytes:
    """One signed byte a number; the largest becomes 127 or -127."""
    largest = max(map(abs, vector)) or 1.0
    return bytes(round(127 * value / largest) & 255 for value in vector)


def to_bits(vector: sense.Vector) -> bytes:
    """One bit a number, 1 where it is positive; the first number is the lowest bit of the first byte."""
    return bytes(
        sum(1 << bit for bit, value in enumerate(vector[start : start + 8]) if value > 0)
        for start in range(0, len(vector), 8)
    )


def _usage(texts: Sequence[str], model: EmbeddingModel) -> dict[str, Any]:
    used = sum(map(tokens, texts))
    cost = round(used * model.price / 1_000_000, 12)
    money = {"currency": "USD", "input_cost": cost, "total_cost": cost}
    return {"prompt_tokens": used, "total_tokens": used, "cost": money}
