import pytest
from openai import AsyncOpenAI
from openai.types import Model
from pydantic import TypeAdapter

from pplx_gateway.capabilities import Feature, Support
from tests.openai.fakes import KEY, FakeUpstream, gateway
from tests.web.calling import calling, error


async def test_the_list_holds_what_is_served_now_and_asks_nobody() -> None:
    session, api = FakeUpstream("session", support={Feature.STOP: Support.EMULATED}), FakeUpstream("api")
    async with calling(gateway(session, api)) as caller:
        reply = await caller.get("/v1/models")
    found = reply.json()
    models = {model["id"]: model for model in found["data"]}
    assert found["object"] == "list"
    assert len(models) == len(found["data"])
    assert {"auto", "gpt", "deep-research", "sonar", "sonar-pro", "perplexity/sonar"} <= set(models)
    assert models["gpt"]["upstream"] == "session"
    assert models["sonar-pro"]["upstream"] == "api"
    assert models["gpt"]["owned_by"] == "openai"
    assert models["gpt"]["capabilities"]["stop"] is True
    assert models["gpt"]["capabilities"]["temperature"] is False
    assert models["gpt"]["capabilities"]["thinking"] is True
    assert models["deep-research"]["capabilities"]["research"] is True
    for model in found["data"]:
        TypeAdapter(Model).validate_python(model, strict=True)
        assert model["object"] == "model"
        assert model["name"]
        assert None not in model.values()
    assert not session.asked
    assert not api.asked


async def test_models_above_the_tier_are_not_listed() -> None:
    async with calling(gateway(FakeUpstream("session"), account_type="free")) as caller:
        ids = {model["id"] for model in (await caller.get("/v1/models")).json()["data"]}
        refused = await caller.get("/v1/models/gpt")
    assert ids == {"auto", "helper", "router"}
    assert refused.status_code == 404
    assert "pro" in error(refused)["message"]


@pytest.mark.parametrize("path", ["sonar", "perplexity/sonar", "perplexity%2Fsonar", "api/sonar", "openai/gpt-9"])
async def test_one_model_by_any_id_that_a_question_may_name(path: str) -> None:
    async with calling() as caller:
        reply = await caller.get(f"/v1/models/{path}")
    assert reply.status_code == 200
    assert reply.json()["id"] == path.replace("%2F", "/")


async def test_an_unknown_model_is_a_404() -> None:
    async with calling() as caller:
        reply = await caller.get("/v1/models/sonnar")
    assert (reply.status_code, error(reply)["code"]) == (404, "model_not_found")


async def test_the_openai_sdk_lists_and_retrieves() -> None:
    async with calling() as caller, AsyncOpenAI(base_url=caller.url + "/v1", api_key=KEY) as client:
        listed = [model.id async for model in client.models.list()]
        one = await client.models.retrieve("perplexity/sonar")
    assert "sonar" in listed
    assert one.id == "perplexity/sonar"
