"""`/v1/embeddings` as OpenAI's clients ask: floats, base64, and the API's own formats."""

import base64
import math
import struct
from pathlib import Path

import openai
import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from tests.perplexity.calling import Caller, openai_error, running_caller
from tests.rig import KEY

MODEL = "pplx-embed-v1-0.6b"
EMBED = {"model": MODEL, "input": "a river"}
PATH = "/v1/embeddings"


def client(caller: Caller) -> AsyncOpenAI:
    http = DefaultAsyncHttpx2Client(trust_env=False)
    return AsyncOpenAI(base_url=f"{caller.rig.url}/v1", api_key=KEY, max_retries=0, http_client=http)


async def test_the_sdks_default_and_floats_are_the_same_vectors(caller: Caller) -> None:
    texts = ["a river", "a bridge over the river", "a tide"]
    async with client(caller) as sdk:
        usual = await sdk.embeddings.create(model=MODEL, input=texts)
        floats = await sdk.embeddings.create(model=MODEL, input=texts, encoding_format="float")
    assert [entry.index for entry in usual.data] == [0, 1, 2]
    assert usual.model == MODEL
    assert usual.usage.prompt_tokens == usual.usage.total_tokens > 0
    for one, other in zip(usual.data, floats.data, strict=True):
        assert len(one.embedding) == 1024
        assert math.hypot(*one.embedding) == pytest.approx(1, abs=1e-6)
        assert one.embedding == pytest.approx(other.embedding, abs=1e-7)
    assert usual.data[0].embedding != usual.data[2].embedding


async def test_floats_are_the_upstreams_bytes_at_length_one(caller: Caller) -> None:
    raw = (await caller.post(PATH, {**EMBED, "encoding_format": "base64_int8"})).json()["data"][0]["embedding"]
    signed = memoryview(base64.b64decode(raw)).cast("b").tolist()
    length = math.sqrt(sum(value * value for value in signed))
    floats = (await caller.post(PATH, EMBED)).json()["data"][0]["embedding"]
    assert floats == pytest.approx([value / length for value in signed], abs=1e-8)
    assert min(signed) < 0 < max(signed)
    packed = (await caller.post(PATH, {**EMBED, "encoding_format": "base64"})).json()["data"][0]["embedding"]
    assert list(struct.unpack(f"<{len(signed)}f", base64.b64decode(packed))) == pytest.approx(floats, abs=1e-7)


async def test_dimensions_and_bits_are_as_asked(caller: Caller) -> None:
    short = await caller.post(PATH, {**EMBED, "dimensions": 128})
    assert len(short.json()["data"][0]["embedding"]) == 128
    bits = await caller.post(PATH, {**EMBED, "dimensions": 256, "encoding_format": "base64_binary"})
    assert len(base64.b64decode(bits.json()["data"][0]["embedding"])) == 32
    sent = [request["json"]["encoding_format"] for request in await caller.rig.requests(PATH)]
    assert sent == ["base64_int8", "base64_binary"]


async def test_more_texts_than_one_call_takes_come_back_in_order(caller: Caller) -> None:
    texts = [f"river {number}" for number in range(600)]
    reply = (await caller.post(PATH, {**EMBED, "input": texts, "dimensions": 128})).json()
    assert [entry["index"] for entry in reply["data"]] == list(range(600))
    alone = (await caller.post(PATH, {**EMBED, "input": texts[599], "dimensions": 128})).json()
    assert reply["data"][599]["embedding"] == alone["data"][0]["embedding"]
    assert len(await caller.rig.requests(PATH)) == 3
    assert reply["usage"]["prompt_tokens"] > 600


async def test_a_vector_of_nothing_stays_nothing(caller: Caller) -> None:
    nothing = base64.b64encode(bytes(8)).decode()
    body = (
        f'{{"model": "{MODEL}", "data": [{{"index": 0, "embedding": "{nothing}"}}], "usage": {{"prompt_tokens": 1}}}}'
    )
    await caller.rig.script(PATH, {"headers": {"content-type": "application/json"}, "steps": [{"bytes": body}]})
    assert (await caller.post(PATH, EMBED)).json()["data"][0]["embedding"] == [0.0] * 8


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [1, 2, 3]}, "input"),
        ({"input": [[1, 2], [3]]}, "input"),
        ({"input": ["a", 2]}, "input"),
        ({"input": []}, "input"),
        ({"input": "  "}, "input[0]"),
        ({"input": ["a", ""]}, "input[1]"),
        ({"input": None}, "input"),
        ({"dimensions": 0}, "dimensions"),
        ({"dimensions": 130}, "dimensions"),
        ({"dimensions": 4096}, "dimensions"),
        ({"encoding_format": "int8"}, "encoding_format"),
        ({"model": 7}, "model"),
    ],
)
async def test_a_mistake_is_named(caller: Caller, fields: dict[str, object], param: str) -> None:
    assert openai_error(await caller.post(PATH, {**EMBED, **fields}), 400)["param"] == param
    assert await caller.rig.requests(PATH) == []


@pytest.mark.parametrize("model", ["text-embedding-3-small", "pplx-embed-context-v1-4b", "sonar"])
async def test_another_model_is_a_404_that_tells_what_there_is(caller: Caller, model: str) -> None:
    error = openai_error(await caller.post(PATH, {**EMBED, "model": model}), 404)
    assert (error["code"], error["param"]) == ("model_not_found", "model")


async def test_token_arrays_tell_the_way_out(caller: Caller) -> None:
    async with client(caller) as sdk:
        with pytest.raises(openai.BadRequestError, match="check_embedding_ctx_length=False"):
            await sdk.embeddings.create(model=MODEL, input=[[1, 2, 3]])


async def test_a_prefix_and_fields_without_effect_are_taken(caller: Caller) -> None:
    reply = await caller.post("/embeddings", {**EMBED, "model": f"api/{MODEL}", "user": "me", "colour": "red"})
    assert reply.status_code == 200
    assert reply.headers["x-pplx-dropped"] == "colour"
    (sent,) = await caller.rig.requests(PATH)
    assert sent["json"]["model"] == MODEL


async def test_what_was_used_stands_in_the_ledger(caller: Caller) -> None:
    used = (await caller.post(PATH, EMBED)).json()["usage"]["prompt_tokens"]
    (row,) = [row for row in (await caller.get("/admin/requests")).json()["data"] if row["operation"] == "embeddings"]
    assert (row["input_tokens"], row["upstream"], row["key"], row["requested_model"]) == (used, "api", "default", MODEL)
    assert row["cost"] == pytest.approx(used * 0.004 / 1e6)


async def test_langchain_embeds_queries_and_documents(tmp_path: Path) -> None:
    embeddings = pytest.importorskip("langchain_openai").OpenAIEmbeddings
    async with running_caller(tmp_path) as caller:
        asked = embeddings(model=MODEL, base_url=f"{caller.rig.url}/v1", api_key=KEY, check_embedding_ctx_length=False)
        documents = await asked.aembed_documents(["a river", "a tide"])
        query = await asked.aembed_query("a river")
    assert query == pytest.approx(documents[0], abs=1e-7)
    assert query != pytest.approx(documents[1], abs=1e-3)
