"""`POST /v1/embeddings` in OpenAI's shape.

The API gives signed bytes and nothing finer. They become floats of a vector of length 1, as OpenAI's are, so that a
dot product is the cosine; its own two formats are handed on as they are. Most clients ask for base64, which is
little-endian float32.
"""

import math
import struct
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.operations import Texts, Vectors
from pplx_gateway.permits import permit
from pplx_gateway.protocols.embedding import check_texts, embedding_model
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.protocols.operation import Operation, Reply, dropped, json, told

Format = Literal["float", "base64", "base64_int8", "base64_binary"]
_SIGNED = range(-128, 128)


class EmbeddingsRequest(msgspec.Struct, frozen=True, kw_only=True):
    """`user` says nothing. `encoding_format` may be one of the API's own, too."""

    model: str
    input: str | list[str | int | list[int]]
    dimensions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    encoding_format: Format | None = None
    user: str | None = None


class EmbeddingEntry(msgspec.Struct, frozen=True, kw_only=True):
    """`embedding` is a list of numbers, or base64."""

    index: int
    embedding: msgspec.Raw
    object: Literal["embedding"] = "embedding"


class EmbeddingUsage(msgspec.Struct, frozen=True, kw_only=True):
    prompt_tokens: int
    total_tokens: int


class EmbeddingList(msgspec.Struct, frozen=True, kw_only=True):
    data: list[EmbeddingEntry]
    model: str
    usage: EmbeddingUsage
    object: Literal["list"] = "list"


async def embeddings(asked: Operation) -> Reply:
    """Raises GatewayError."""
    body = await asked.body()
    request = decode(body, EmbeddingsRequest)
    form = request.encoding_format or "float"
    texts = Texts(
        model=embedding_model(request.model),
        documents=tuple((text,) for text in _texts(request.input)),
        dimensions=request.dimensions,
        encoding="binary" if form == "base64_binary" else "int8",
        key_name=asked.key_name,
    )
    permit(request.model, "api")
    embedder = asked.gateway.operations.embedder
    async with asked.leaving():
        vectors = await embedder.embed(texts, asked.note(request.model))
    unknown = unknown_keys(body, EmbeddingsRequest)
    return json(_listed(vectors, form), [*told(vectors.receipt), *dropped(unknown)])


def _texts(given: str | list[str | int | list[int]]) -> list[str]:
    """Raises InvalidRequest."""
    if isinstance(given, str):
        given = [given]
    texts = [each for each in given if isinstance(each, str)]
    if len(texts) != len(given):
        raise InvalidRequest(
            "'input' holds numbers of tokens, which belong to another tokenizer. Send text (in LangChain: "
            "check_embedding_ctx_length=False).",
            param="input",
        )
    check_texts(texts, "input")
    return texts


def _listed(vectors: Vectors, form: Format) -> EmbeddingList:
    write = _WRITERS[form]
    data = [
        EmbeddingEntry(index=index, embedding=msgspec.Raw(write(vector)))
        for index, (vector,) in enumerate(vectors.vectors)
    ]
    tokens = vectors.receipt.input_tokens
    usage = EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens + vectors.receipt.output_tokens)
    return EmbeddingList(data=data, model=vectors.model, usage=usage)


def _numbers(vector: bytes) -> bytes:
    """As JSON. There are 256 different numbers at most, so each is written once."""
    written = [f"{value:.9g}".encode() for value in _scaled(vector)]
    return b"[" + b",".join([written[byte] for byte in vector]) + b"]"


def _floats(vector: bytes) -> bytes:
    packed = [struct.pack("<f", value) for value in _scaled(vector)]
    return encode(b"".join([packed[byte] for byte in vector]))


def _scaled(vector: bytes) -> Sequence[float]:
    """What each byte of the vector stands for, by the byte as it is without a sign."""
    length = math.sqrt(sum(value * value for value in memoryview(vector).cast("b"))) or 1.0
    return [value / length for value in (*_SIGNED[128:], *_SIGNED[:128])]


_WRITERS: dict[Format, Callable[[bytes], bytes]] = {
    "float": _numbers,
    "base64": _floats,
    "base64_int8": encode,
    "base64_binary": encode,
}
