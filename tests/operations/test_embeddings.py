"""Embeddings: shapes, splitting, costs to the last digit, and answers that cannot be right."""

import pytest

from pplx_gateway.errors import InvalidRequest, ModelNotFound, UpstreamError
from pplx_gateway.operations import Texts
from tests.operations.rig import Rig, running

MODEL = "pplx-embed-v1-0.6b"
PATH = "/v1/embeddings"


def texts(*given: str, **fields: object) -> Texts:
    return Texts(model=MODEL, documents=tuple((each,) for each in given), **fields)  # type: ignore[arg-type]


async def test_texts_become_vectors_in_their_order(rig: Rig) -> None:
    found = await rig.does.embedder.embed(texts("a river", "a bridge", "a river"), rig.note)
    first, second, third = (vector for (vector,) in found.vectors)
    assert first == third != second
    assert len(first) == 1024
    assert found.model == MODEL
    (request,) = await rig.requests(PATH)
    assert request["json"] == {
        "model": MODEL,
        "input": ["a river", "a bridge", "a river"],
        "encoding_format": "base64_int8",
    }


async def test_dimensions_and_bits(rig: Rig) -> None:
    found = await rig.does.embedder.embed(texts("a", dimensions=256, encoding="binary"), rig.note)
    assert len(found.vectors[0][0]) == 32


async def test_chunks_keep_the_shape_of_their_documents(rig: Rig) -> None:
    asked = Texts(model="pplx-embed-context-v1-4b", documents=(("a", "b"), ("c",)), contextual=True, dimensions=128)
    found = await rig.does.embedder.embed(asked, rig.note)
    assert [[len(chunk) for chunk in document] for document in found.vectors] == [[128, 128], [128]]
    (request,) = await rig.requests("/v1/contextualizedembeddings")
    assert request["json"]["input"] == [["a", "b"], ["c"]]


async def test_more_than_one_call_takes_is_split_and_summed_exactly(rig: Rig) -> None:
    given = tuple(f"text number {number}" for number in range(1100))
    found = await rig.does.embedder.embed(texts(*given), rig.note)
    assert len(found.vectors) == 1100
    requests = await rig.requests(PATH)
    assert [len(request["json"]["input"]) for request in requests] == [512, 512, 76]
    alone = await rig.does.embedder.embed(texts(given[600]), rig.note)
    assert found.vectors[600] == alone.vectors[0]
    assert found.receipt.input_tokens == sum(receipt.input_tokens for receipt in rig.noted[:3])
    assert found.receipt.cost is not None
    assert found.receipt.cost.total == found.receipt.input_tokens * 4 / 1e9
    assert not found.receipt.computed


async def test_long_texts_are_split_by_their_length(rig: Rig) -> None:
    await rig.does.embedder.embed(texts(*("x" * 100_000 for _ in range(4))), rig.note)
    assert [len(request["json"]["input"]) for request in await rig.requests(PATH)] == [3, 1]


async def test_another_key_takes_over_in_the_middle() -> None:
    async with running("pplx-one", "pplx-two") as rig:
        throttled = {"status": 429, "headers": {"retry-after": "60"}, "steps": []}
        await rig.does.embedder.embed(texts("warm"), rig.note)
        await rig.script(PATH, throttled)
        found = await rig.does.embedder.embed(texts(*("x" * 100_000 for _ in range(6))), rig.note)
        assert len(found.vectors) == 6
        assert [request["status"] for request in await rig.requests(PATH)] == [200, 429, 200, 200]
        assert len({receipt.key_name for receipt in rig.noted[1:]}) == 1, "the throttled key rests"


async def test_what_was_paid_before_a_failure_is_noted(rig: Rig) -> None:
    given = [*("x" * 100_000 for _ in range(3)), "fault:upstream_500 hi"]
    with pytest.raises(UpstreamError):
        await rig.does.embedder.embed(texts(*given), rig.note)
    (receipt,) = rig.noted
    assert receipt.cost is not None
    assert receipt.cost.total > 0


async def test_a_cost_that_was_not_given_is_worked_out(rig: Rig) -> None:
    reply = '{"data":[{"index":0,"embedding":"AQID"}],"usage":{"prompt_tokens":301}}'
    await rig.script(PATH, {"steps": [{"bytes": reply}]})
    receipt = (await rig.does.embedder.embed(texts("a"), rig.note)).receipt
    assert (receipt.cost and receipt.cost.total, receipt.computed) == (1.204e-06, True)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"documents": ()}, "input"),
        ({"documents": ((),)}, "input"),
        ({"documents": (("a",), (" ",))}, "input"),
        ({"documents": (("a",),) * 513, "contextual": True}, "input"),
        ({"documents": (("a",) * 16_001,), "contextual": True}, "input"),
        ({"dimensions": 120}, "dimensions"),
        ({"dimensions": 1032}, "dimensions"),
        ({"dimensions": 129}, "dimensions"),
    ],
)
async def test_bad_texts_are_refused_before_they_are_sent(rig: Rig, fields: dict[str, object], param: str) -> None:
    asked = {"model": MODEL, "documents": (("a",),), **fields}
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.embedder.embed(Texts(**asked), rig.note)  # type: ignore[arg-type]
    assert refused.value.param == param
    assert await rig.requests() == []


async def test_an_unknown_model_is_not_found(rig: Rig) -> None:
    with pytest.raises(ModelNotFound):
        await rig.does.embedder.embed(Texts(model="pplx-embed-v9", documents=(("a",),)), rig.note)


@pytest.mark.parametrize(
    "data",
    [
        "[]",
        '[{"index":0,"embedding":"AQID"}]',
        '[{"index":0,"embedding":"AQID"},{"index":0,"embedding":"AQID"}]',
        '[{"index":0,"embedding":"AQID"},{"index":1,"embedding":"!"}]',
        '[{"index":0,"embedding":"AQID"},{"index":1,"embedding":"AQ=="}]',
        '[{"index":0,"embedding":[1,2]},{"index":1,"embedding":"AQID"}]',
    ],
)
async def test_vectors_that_cannot_be_right_are_no_answer(rig: Rig, data: str) -> None:
    await rig.script(PATH, {"steps": [{"bytes": f'{{"data":{data},"usage":{{"prompt_tokens":2}}}}'}]})
    with pytest.raises(UpstreamError):
        await rig.does.embedder.embed(texts("a", "b"), rig.note)
    assert len(rig.noted) == 1


async def test_vectors_out_of_order_are_put_in_order(rig: Rig) -> None:
    data = '[{"index":1,"embedding":"AQID"},{"index":0,"embedding":"BAUG"}]'
    await rig.script(PATH, {"steps": [{"bytes": f'{{"data":{data}}}'}]})
    found = await rig.does.embedder.embed(texts("a", "b"), rig.note)
    assert found.vectors == ((b"\x04\x05\x06",), (b"\x01\x02\x03",))
