"""Names of Anthropic's lead to models of ours, and lists of models have its shape for those who speak it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from anthropic import AsyncAnthropic, NotFoundError
from anthropic.types import ModelInfo
from pydantic import TypeAdapter

from pplx_gateway.caller_keys import CallerKey, Limits, current_key
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.anthropic.names import AnthropicModels, built_in
from pplx_gateway.settings import SettingsError
from tests.anthropic.asking import Json, body
from tests.openai.fakes import KEY, FakeUpstream, gateway
from tests.web.calling import calling

SESSION, API = ("session",), ("api",)
BOTH = ("session", "api")
HEADERS = {"x-api-key": KEY, "anthropic-version": "2023-06-01"}


def served(upstreams: tuple[str, ...] = BOTH, **settings: Any) -> Gateway:
    return gateway(*map(FakeUpstream, upstreams), **settings)


def targets(name: str | None, upstreams: tuple[str, ...] = BOTH, **settings: Any) -> list[str]:
    route = AnthropicModels(served(upstreams, **settings)).resolve(name)
    assert name is None or route.requested == name
    return [f"{model.upstream}/{model.id}" for model in route.targets]


@pytest.mark.parametrize(
    ("name", "session", "api"),
    [
        ("claude-opus-4-1-20250805", "session/opus", "api/anthropic/claude-opus-5-5"),
        ("claude-3-opus-latest", "session/opus", "api/anthropic/claude-opus-5-5"),
        ("claude-fable-5", "session/opus", "api/anthropic/claude-fable-5-1"),
        ("claude-sonnet-4-5-20250929", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
        ("claude-3-7-sonnet-latest", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
        ("claude-sonnet-4-5[1m]", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
        ("us.anthropic.claude-sonnet-4-20250514-v1:0", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
        ("Claude-Sonnet-5", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
        ("claude-haiku-4-5-20251001", "session/auto", "api/anthropic/claude-haiku-5-5"),
        ("claude-3-5-haiku-20241022", "session/auto", "api/anthropic/claude-haiku-5-5"),
        ("haiku", "session/auto", "api/anthropic/claude-haiku-5-5"),
        ("sonnet", "session/sonnet", "api/anthropic/claude-sonnet-5-5"),
    ],
)
def test_names_that_clients_ask_for_have_targets_on_each_upstream(name: str, session: str, api: str) -> None:
    assert targets(name, SESSION) == [session]
    assert targets(name, API) == [api]


def test_the_api_is_asked_beside_the_session_with_leave_to_spend_only() -> None:
    name = "claude-sonnet-4-5"
    assert targets(name, allow_spending=False) == ["session/sonnet"]
    assert targets(name, allow_spending=True) == ["session/sonnet", "api/anthropic/claude-sonnet-5-5"]


def test_names_of_ours_are_what_they_always_are() -> None:
    assert targets("gpt", allow_spending=False) == ["session/gpt"]
    assert targets("api/sonar") == ["api/sonar"]
    assert targets("anthropic/claude-opus-5", API) == ["api/anthropic/claude-opus-5"]
    assert targets(None, allow_spending=False) == ["session/gpt"]
    with pytest.raises(ModelNotFound, match="which is not set up"):
        targets("anthropic/claude-opus-5", SESSION)


def test_the_owners_table_comes_first() -> None:
    table = ("claude-opus-*=api/medium", "*haiku*=gpt", "gpt=sonnet")
    assert targets("claude-opus-4-1", allow_spending=False, anthropic_models=table) == ["api/medium"]
    assert targets("claude-3-5-haiku-latest", allow_spending=False, anthropic_models=table) == ["session/gpt"]
    assert targets("gpt", allow_spending=False, anthropic_models=table) == ["session/sonnet"]
    assert targets("claude-sonnet-5", SESSION, anthropic_models=table) == ["session/sonnet"]


@pytest.mark.parametrize("entry", ["claude-opus", "=gpt", "claude opus=gpt", "claude-opus=", "a=b=c"])
def test_a_table_that_cannot_be_read_is_named(entry: str) -> None:
    with pytest.raises(SettingsError, match="PPLX_ANTHROPIC_MODELS"):
        AnthropicModels(served(anthropic_models=(entry,)))


def test_a_model_above_the_plan_is_refused_and_never_swapped() -> None:
    with pytest.raises(ModelNotAllowed, match=r"max account.*PPLX_ANTHROPIC_MODELS"):
        targets("claude-opus-4-1", account_type="pro", allow_spending=False)
    assert targets("claude-opus-4-1", account_type="pro", allow_spending=True) == ["api/anthropic/claude-opus-5-5"]


@pytest.mark.parametrize("limits", [Limits(models=("sonar",)), Limits(upstreams=("api",))])
def test_what_the_callers_key_refuses_is_not_blamed_on_the_owners_table(limits: Limits) -> None:
    with keyed(limits), pytest.raises(ModelNotAllowed, match="This key may") as refused:
        targets("claude-opus-4-1", allow_spending=False)
    assert "PPLX_ANTHROPIC_MODELS" not in refused.value.message


@contextmanager
def keyed(limits: Limits) -> Iterator[None]:
    """The request at work has a key with `limits`."""
    token = current_key.set(CallerKey(id="ck_1", name="one", hint="wxyz", created_at=0.0, limits=limits))
    try:
        yield
    finally:
        current_key.reset(token)


def test_a_name_that_nobody_knows_is_not_guessed() -> None:
    with pytest.raises(ModelNotFound):
        targets("claude-9")


def test_the_built_in_table_leads_somewhere() -> None:
    catalogue = served().catalogue
    for row in built_in():
        assert catalogue.find("session", row.session), row
        assert catalogue.find("api", row.api), row
        assert targets(row.listed, API) == [f"api/{row.api}"]


async def test_the_answer_says_what_was_asked_for_and_what_answered() -> None:
    async with calling(served()) as caller:
        reply = await caller.ask(body(model="claude-sonnet-4-5"), HEADERS, "/v1/messages")
    assert reply.headers["x-pplx-requested-model"] == "claude-sonnet-4-5"
    assert reply.json()["pplx"]["served_model"] == "perplexity/sonar"


async def listed(query: str = "", **settings: Any) -> Json:
    async with calling(served(**settings)) as caller:
        reply = await caller.get(f"/v1/models{query}", HEADERS)
    assert reply.status_code == 200, reply.text
    found: Json = reply.json()
    for model in found["data"]:
        TypeAdapter(ModelInfo).validate_json(json.dumps(model), strict=True)
    return found


async def test_the_list_has_anthropics_shape_for_those_who_say_its_version() -> None:
    found = await listed()
    ids = [model["id"] for model in found["data"]]
    assert ids[:2] == ["claude-opus-5-5", "claude-fable-5-1"]
    assert {"auto", "gpt", "sonar", "perplexity/sonar"} <= set(ids)
    assert (found["has_more"], found["first_id"], found["last_id"]) == (False, ids[0], ids[-1])
    async with calling(served()) as caller:
        assert (await caller.get("/v1/models")).json()["object"] == "list"


async def test_names_that_nobody_answers_to_are_not_listed() -> None:
    found = await listed(account_type="free", allow_spending=False)
    assert found["data"][0]["id"] == "claude-haiku-5-5"


async def test_pages_follow_each_other_both_ways() -> None:
    every = [model["id"] for model in (await listed())["data"]]
    first = await listed("?limit=3")
    assert [model["id"] for model in first["data"]] == every[:3]
    assert first["has_more"]
    second = await listed(f"?limit=3&after_id={first['last_id']}")
    assert [model["id"] for model in second["data"]] == every[3:6]
    before = await listed(f"?limit=2&before_id={every[5]}")
    assert [model["id"] for model in before["data"]] == every[3:5]
    assert before["has_more"]


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=x", "limit=1001", "after_id=nothing", "before_id=nothing", "after_id=gpt&before_id=gpt"]
)
async def test_a_wrong_page_is_refused_by_name(query: str) -> None:
    async with calling(served()) as caller:
        reply = await caller.get(f"/v1/models?{query}", HEADERS)
    assert reply.status_code == 400
    assert reply.json()["error"]["type"] == "invalid_request_error"
    assert query.rpartition("&")[2].partition("=")[0] in reply.json()["error"]["message"]


async def test_the_sdk_lists_and_retrieves() -> None:
    async with (
        calling(served()) as caller,
        AsyncAnthropic(base_url=caller.url, api_key=KEY, _strict_response_validation=True, max_retries=0) as client,
    ):
        ids = [model.id async for model in client.models.list(limit=4)]
        one = await client.models.retrieve("claude-sonnet-4-5")
        slashed = await client.models.retrieve("perplexity/sonar")
        with pytest.raises(NotFoundError):
            await client.models.retrieve("nothing")
    assert len(ids) == len(set(ids)) > 20
    assert (one.id, one.display_name) == ("claude-sonnet-4-5", "Claude Sonnet 5")
    assert slashed.id == "perplexity/sonar"
