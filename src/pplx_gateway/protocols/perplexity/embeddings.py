"""`POST /v1/embeddings` and `POST /v1/contextualizedembeddings`: vectors as this API writes them, in base64 of
signed bytes or of bits."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.operations import Texts, Vectors
from pplx_gateway.permits import permit
from pplx_gateway.protocols.embedding import check_texts, embedding_model
from pplx_gateway.protocols.operation import Operation, Reply, json, told
from pplx_gateway.protocols.perplexity.strict import decode_strict
from pplx_gateway.receipts import Receipt

Encoding = Literal["base64_int8", "base64_binary"]
Packed = Literal["int8", "binary"]
PACKED: dict[Encoding, Packed] = {"base64_int8": "int8", "base64_binary": "binary"}


class NativeEmbeddingsRequest(msgspec.Struct, frozen=True, kw_only=True):
    model: str
    input: str | list[str]
    dimensions: int | None = None
    encoding_format: Encoding | None = None


class ContextualizedEmbeddingsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`input` is a list of documents, each a list of its chunks."""

    model: str
    input: list[list[str]]
    dimensions: int | None = None
    encoding_format: Encoding | None = None


class EmbeddingObject(msgspec.Struct, frozen=True, kw_only=True):
    """`embedding` is base64."""

    index: int
    embedding: bytes
    object: Literal["embedding"] = "embedding"


class DocumentObject(msgspec.Struct, frozen=True, kw_only=True):
    index: int
    data: list[EmbeddingObject]
    object: Literal["list"] = "list"


class EmbeddingsCost(msgspec.Struct, frozen=True, kw_only=True):
    currency: str
    input_cost: float | None
    total_cost: float


class EmbeddingsUsage(msgspec.Struct, frozen=True, kw_only=True):
    prompt_tokens: int
    total_tokens: int
    cost: EmbeddingsCost | None = None


class EmbeddingsReply(msgspec.Struct, frozen=True, kw_only=True):
    data: list[EmbeddingObject]
    model: str
    usage: EmbeddingsUsage
    object: Literal["list"] = "list"


class ContextualizedEmbeddingsReply(msgspec.Struct, frozen=True, kw_only=True):
    data: list[DocumentObject]
    model: str
    usage: EmbeddingsUsage
    object: Literal["list"] = "list"


async def embeddings(asked: Operation) -> Reply:
    """Raises GatewayError."""
    request = decode_strict(await asked.body(), NativeEmbeddingsRequest)
    texts = [request.input] if isinstance(request.input, str) else request.input
    check_texts(texts, "input")
    vectors = await embedded(asked, request, tuple((text,) for text in texts))
    data = _objects([vector for (vector,) in vectors.vectors])
    return _reply(EmbeddingsReply(data=data, model=vectors.model, usage=usage(vectors.receipt)), vectors)


async def contextualized(asked: Operation) -> Reply:
    """Raises GatewayError."""
    request = decode_strict(await asked.body(), ContextualizedEmbeddingsRequest)
    if not request.input:
        raise InvalidRequest("'input' holds no document.", param="input")
    for index, chunks in enumerate(request.input):
        check_texts(chunks, f"input[{index}]")
    vectors = await embedded(asked, request, tuple(map(tuple, request.input)), contextual=True)
    data = [DocumentObject(index=index, data=_objects(found)) for index, found in enumerate(vectors.vectors)]
    reply = ContextualizedEmbeddingsReply(data=data, model=vectors.model, usage=usage(vectors.receipt))
    return _reply(reply, vectors)


async def embedded(
    asked: Operation,
    request: NativeEmbeddingsRequest | ContextualizedEmbeddingsRequest,
    documents: tuple[tuple[str, ...], ...],
    *,
    contextual: bool = False,
) -> Vectors:
    """Raises GatewayError."""
    texts = Texts(
        model=embedding_model(request.model, contextual=contextual),
        documents=documents,
        contextual=contextual,
        dimensions=request.dimensions,
        encoding=PACKED[request.encoding_format or "base64_int8"],
        key_name=asked.key_name,
    )
    permit(request.model, "api")
    embedder = asked.gateway.operations.embedder
    async with asked.leaving():
        return await embedder.embed(texts, asked.note(request.model))


def usage(receipt: Receipt) -> EmbeddingsUsage:
    cost = receipt.cost
    return EmbeddingsUsage(
        prompt_tokens=receipt.input_tokens,
        total_tokens=receipt.input_tokens + receipt.output_tokens,
        cost=EmbeddingsCost(currency=cost.currency, input_cost=cost.input, total_cost=cost.total) if cost else None,
    )


def _objects(vectors: Sequence[bytes]) -> list[EmbeddingObject]:
    return [EmbeddingObject(index=index, embedding=vector) for index, vector in enumerate(vectors)]


def _reply(value: EmbeddingsReply | ContextualizedEmbeddingsReply, vectors: Vectors) -> Reply:
    return json(value, told(vectors.receipt))
