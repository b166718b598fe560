"""`POST /v1/embeddings` and `/v1/contextualizedembeddings`: vectors with a meaning, their forms, limits and prices."""

import base64
import math
import struct

import pytest

from tests.emulator.caller import Caller, Json

SMALL, LARGE = "pplx-embed-v1-0.6b", "pplx-embed-v1-4b"
CONTEXT = "pplx-embed-context-v1-0.6b"
RIVERS = ["Two rivers meet in Ghent", "The rivers of Ghent meet in the town", "Interest rates rose by a quarter point"]


def embed(caller: Caller, texts: object, **fields: object) -> Json:
    reply = caller.send("POST", "/v1/embeddings", {"model": SMALL, "input": texts, **fields})
    assert reply.status == 200, reply.body
    return dict(reply.json)


def packed(entry: Json) -> bytes:
    return base64.b64decode(entry["embedding"], validate=True)


def numbers(entry: Json) -> list[int]:
    data = packed(entry)
    return list(struct.unpack(f"{len(data)}b", data))


def cosine(left: list[int], right: list[int]) -> float:
    dot = sum(a * b for a, b in zip(left, right, strict=True))
    return dot / math.sqrt(sum(a * a for a in left) * sum(b * b for b in right))


def common_bits(left: bytes, right: bytes) -> int:
    return sum((~(a ^ b) & 255).bit_count() for a, b in zip(left, right, strict=True))


@pytest.mark.parametrize(("model", "size"), [(SMALL, 1024), (LARGE, 2560)])
def test_vectors_have_the_models_size_as_signed_bytes(caller: Caller, model: str, size: int) -> None:
    whole = embed(caller, "tides", model=model)
    (entry,) = whole["data"]
    assert (whole["object"], whole["model"]) == ("list", model)
    assert (entry["object"], entry["index"]) == ("embedding", 0)
    values = numbers(entry)
    assert len(values) == size
    assert max(map(abs, values)) == 127


@pytest.mark.parametrize("dimensions", [128, 256, 1024])
def test_texts_about_one_thing_lie_near_each_other(caller: Caller, dimensions: int) -> None:
    one, same, other = (numbers(entry) for entry in embed(caller, RIVERS, dimensions=dimensions)["data"])
    assert len(one) == dimensions
    assert cosine(one, same) > 0.5
    assert cosine(one, other) < 0.2


def test_a_shorter_vector_is_the_beginning_of_the_longer(caller: Caller) -> None:
    long, short = (numbers(embed(caller, RIVERS[0], dimensions=d)["data"][0]) for d in (1024, 128))
    assert cosine(long[:128], short) > 0.99


def test_binary_vectors_are_bits_lowest_first(caller: Caller) -> None:
    signs = [value > 0 for value in numbers(embed(caller, "tides")["data"][0])]
    bits = packed(embed(caller, "tides", encoding_format="base64_binary")["data"][0])
    assert len(bits) == 128
    assert [bool(byte >> place & 1) for byte in bits for place in range(8)] == signs
    one, same, other = (packed(e) for e in embed(caller, RIVERS, encoding_format="base64_binary")["data"])
    assert common_bits(one, same) > common_bits(one, other)


def test_order_and_repeats_are_kept_and_the_same_text_is_the_same_vector(caller: Caller) -> None:
    data = embed(caller, ["a river", "a bridge", "a river"])["data"]
    assert [entry["index"] for entry in data] == [0, 1, 2]
    assert data[0]["embedding"] == data[2]["embedding"] != data[1]["embedding"]
    assert embed(caller, "a river")["data"][0]["embedding"] == data[0]["embedding"]


@pytest.mark.parametrize(("model", "price"), [(SMALL, 0.004), (LARGE, 0.03)])
def test_tokens_are_billed_at_the_models_price(caller: Caller, model: str, price: float) -> None:
    usage = embed(caller, ["x" * 400, "y" * 40], model=model)["usage"]
    assert (usage["prompt_tokens"], usage["total_tokens"]) == (110, 110)
    assert usage["cost"]["currency"] == "USD"
    assert usage["cost"]["total_cost"] == usage["cost"]["input_cost"] == pytest.approx(110 * price / 1e6, rel=1e-9)


def test_texts_without_words_have_vectors_too(caller: Caller) -> None:
    assert any(numbers(embed(caller, "🌊")["data"][0]))


def test_chunks_are_embedded_within_their_document(caller: Caller) -> None:
    lonely, sunk = "It rose by half.", "The river Leie flooded Ghent after the storm."
    body = {"model": CONTEXT, "input": [[lonely, sunk], [lonely]]}
    reply = caller.send("POST", "/v1/contextualizedembeddings", body)
    first, second = reply.json["data"]
    assert [first["index"], second["index"]] == [0, 1]
    assert [chunk["index"] for chunk in first["data"]] == [0, 1]
    river = numbers(first["data"][1])
    assert cosine(numbers(first["data"][0]), river) > cosine(numbers(second["data"][0]), river)
    assert reply.json["usage"]["cost"]["total_cost"] > 0


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("embeddings", {"user": "me"}, "user"),
        ("embeddings", {"encoding_format": "float"}, "encoding_format"),
        ("embeddings", {"model": "text-embedding-3-small"}, "model"),
        ("embeddings", {"model": CONTEXT}, "model"),
        ("embeddings", {"input": []}, "input"),
        ("embeddings", {"input": ["a", " "]}, "input"),
        ("embeddings", {"input": ["a"] * 513}, "input"),
        ("embeddings", {"input": [1, 2]}, "input[0]"),
        ("embeddings", {"input": ["x" * 4 * 32_001]}, "input"),
        ("embeddings", {"input": ["x" * 4 * 30_001] * 4}, "input"),
        ("embeddings", {"dimensions": 120}, "dimensions"),
        ("embeddings", {"dimensions": 1032}, "dimensions"),
        ("embeddings", {"dimensions": 130}, "dimensions"),
        ("contextualizedembeddings", {"model": SMALL, "input": [["a"]]}, "model"),
        ("contextualizedembeddings", {"model": CONTEXT, "input": ["a"]}, "input[0]"),
        ("contextualizedembeddings", {"model": CONTEXT, "input": [["a"], []]}, "input"),
        ("contextualizedembeddings", {"model": CONTEXT, "input": [["a"] * 8001] * 2}, "input"),
    ],
)
def test_embeddings_are_strict(caller: Caller, path: str, fields: Json, param: str) -> None:
    error = caller.send("POST", f"/v1/{path}", {"model": SMALL, "input": "a", **fields}).error
    assert (error["code"], error["param"]) == (400, param)


def test_a_script_and_the_record_cover_embeddings(caller: Caller) -> None:
    caller.script("/v1/embeddings", {"status": 503, "steps": [{"bytes": "{}"}]})
    refused = caller.send("POST", "/v1/embeddings", {"model": SMALL, "input": "a", "user": "me"})
    assert refused.status == 400, "a script makes nothing less strict"
    assert caller.send("POST", "/v1/embeddings", {"model": SMALL, "input": "a"}).status == 503
    assert [record["refusal"] is None for record in caller.requests("path=/v1/embeddings")] == [False, True]


def test_an_empty_success_and_a_broken_one_can_be_asked_for(caller: Caller) -> None:
    assert embed(caller, "fault:empty a")["data"] == []
    broken = caller.send("POST", "/v1/embeddings", {"model": SMALL, "input": "fault:upstream_bad_json a"})
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        _ = broken.json
