"""Texts to vectors (docs/wire-agent.md 4)."""

import base64
import binascii
from collections.abc import Iterator, Sequence

import msgspec

from pplx_gateway.answer import Cost
from pplx_gateway.errors import InvalidRequest, UpstreamError
from pplx_gateway.operations import Texts, Vectors
from pplx_gateway.receipts import Note, Receipt
from pplx_gateway.upstreams.api.events import NULL, Shape
from pplx_gateway.upstreams.api.operations.calls import Answered, Calls
from pplx_gateway.upstreams.api.operations.prices import embedding_cost, together

PATH = "/v1/embeddings"
CONTEXT_PATH = "/v1/contextualizedembeddings"
MOST_DOCUMENTS = 512
MOST_CHUNKS = 16_000
MOST_CHARACTERS = 300_000
"""In one call, which takes 120,000 tokens: two and a half characters each are few even for other scripts."""
LEAST_DIMENSIONS = 128
_DIMENSIONS = {"0.6b": 1024, "4b": 2560}
_ENCODINGS = {"int8": "base64_int8", "binary": "base64_binary"}

Documents = Sequence[tuple[str, ...]]


class _Entry(msgspec.Struct):
    index: int | None = None
    embedding: str | None = None
    data: list[msgspec.Raw] | None = None


class _Money(msgspec.Struct):
    input_cost: float | None = None
    total_cost: float | None = None
    currency: str | None = None


class _Used(msgspec.Struct):
    prompt_tokens: int | None = None
    total_tokens: int | None = None
    cost: msgspec.Raw = NULL


class _Reply(msgspec.Struct):
    model: str | None = None
    data: list[msgspec.Raw] | None = None
    usage: msgspec.Raw = NULL


_ENTRY, _REPLY, _USED, _MONEY = Shape(_Entry), Shape(_Reply), Shape(_Used), Shape(_Money)


class ApiEmbedder:
    """An Embedder (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def embed(self, texts: Texts, note: Note) -> Vectors:
        check(texts)
        vectors: list[tuple[bytes, ...]] = []
        receipts: list[Receipt] = []
        model = texts.model
        for part in parts(texts):
            answered = await self._calls.paid(*_asked(texts, part), (texts.model,), texts.key_name, note=note)
            reply = answered.read(_REPLY, note)
            receipts.append(_receipt(answered, reply, texts.model))
            note(receipts[-1])
            vectors += _vectors(reply, texts, part)
            model = reply.model or model
        return Vectors(model=model, vectors=tuple(vectors), receipt=together(receipts))


def check(texts: Texts) -> None:
    """Raises InvalidRequest for what the API would refuse."""
    if not texts.documents or not all(texts.documents):
        raise InvalidRequest("'input' holds no text.", param="input")
    if not all(chunk.strip() for document in texts.documents for chunk in document):
        raise InvalidRequest("'input' holds an empty text.", param="input")
    chunks = sum(map(len, texts.documents))
    if texts.contextual and (len(texts.documents) > MOST_DOCUMENTS or chunks > MOST_CHUNKS):
        message = f"'input' takes at most {MOST_DOCUMENTS} documents with {MOST_CHUNKS} chunks in all."
        raise InvalidRequest(message, param="input")
    most = next((size for name, size in _DIMENSIONS.items() if texts.model.endswith(name)), None)
    wanted = texts.dimensions
    if wanted is not None and most and (not LEAST_DIMENSIONS <= wanted <= most or wanted % 8):
        message = f"'dimensions' must be a multiple of 8 from {LEAST_DIMENSIONS} to {most}, not {wanted}."
        raise InvalidRequest(message, param="dimensions")


def parts(texts: Texts) -> Iterator[Documents]:
    """What goes into one call each, in order. Documents with context stay together: a second call would not be the same
    request."""
    if texts.contextual:
        yield texts.documents
        return
    part: list[tuple[str, ...]] = []
    room = MOST_CHARACTERS
    for document in texts.documents:
        size = sum(map(len, document))
        if part and (len(part) == MOST_DOCUMENTS or size > room):
            yield part
            part, room = [], MOST_CHARACTERS
        part.append(document)
        room -= size
    yield part


def _asked(texts: Texts, part: Documents) -> tuple[str, bytes]:
    """Path and body."""
    fields: dict[str, object] = {
        "model": texts.model,
        "input": part if texts.contextual else [text for (text,) in part],
        "encoding_format": _ENCODINGS[texts.encoding],
    }
    if texts.dimensions is not None:
        fields["dimensions"] = texts.dimensions
    return CONTEXT_PATH if texts.contextual else PATH, msgspec.json.encode(fields)


def _vectors(reply: _Reply, texts: Texts, part: Documents) -> list[tuple[bytes, ...]]:
    """Raises UpstreamError unless there is one vector for each text, all of one length."""
    entries = _in_order(reply.data, len(part))
    if texts.contextual:
        sizes = map(len, part)
        found = [tuple(map(_bytes, _in_order(e.data, size))) for e, size in zip(entries, sizes, strict=True)]
    else:
        found = [(_bytes(entry),) for entry in entries]
    wanted = None if texts.dimensions is None else texts.dimensions // (8 if texts.encoding == "binary" else 1)
    lengths = {len(vector) for document in found for vector in document}
    if len(lengths) != 1 or wanted not in (None, *lengths):
        raise UpstreamError("The Perplexity API gave vectors of another length than was asked for.")
    return found


def _in_order(raws: Sequence[msgspec.Raw] | None, count: int) -> list[_Entry]:
    entries = [entry for raw in raws or () if (entry := _ENTRY.read(raw)) is not None]
    places = {entry.index: entry for entry in entries}
    if len(entries) != count or set(places) != set(range(count)):
        raise UpstreamError(f"The Perplexity API gave {len(entries)} embeddings where {count} were asked for.")
    return [places[place] for place in range(count)]


def _bytes(entry: _Entry) -> bytes:
    try:
        vector = base64.b64decode(entry.embedding or "", validate=True)
    except (binascii.Error, ValueError):
        vector = b""
    if not vector:
        raise UpstreamError("The Perplexity API gave an embedding that is not in base64.")
    return vector


def _receipt(answered: Answered, reply: _Reply, model: str) -> Receipt:
    used = _USED.read(reply.usage) or _Used()
    tokens = used.prompt_tokens or used.total_tokens or 0
    money = _MONEY.read(used.cost)
    given = None
    if money is not None and money.total_cost is not None:
        given = Cost(total=money.total_cost, input=money.input_cost, currency=money.currency or "USD")
    cost = given or embedding_cost(model, tokens)
    return msgspec.structs.replace(
        answered.receipt(), model=model, input_tokens=tokens, cost=cost, computed=given is None and cost is not None
    )
