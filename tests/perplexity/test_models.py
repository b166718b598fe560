"""`GET /v1/models` of the mirror."""

from pathlib import Path

import pytest

from tests.perplexity.calling import Caller, running_caller

PATH = "/perplexity/v1/models"


async def test_prices_stand_with_the_models_that_have_one(caller: Caller) -> None:
    listed = {entry["id"]: entry for entry in (await caller.get(PATH)).json()["data"]}
    assert listed["anthropic/claude-opus-5"] == {
        "id": "anthropic/claude-opus-5",
        "object": "model",
        "created": 0,
        "owned_by": "anthropic",
        "pricing": {
            "input": 5,
            "output": 25,
            "unit": "usd_per_1m_tokens",
            "cache_read": 0.5,
            "cache_write": 6.25,
        },
    }
    assert listed["pplx-embed-v1-0.6b"]["pricing"]["input"] == 0.004
    assert listed["pplx-decider-v1.1-27b"]["pricing"] == {"input": 0.02, "output": 0, "unit": "usd_per_1m_tokens"}
    assert listed["sonar"]["pricing"] == listed["perplexity/sonar"]["pricing"]
    assert "pricing" not in listed["fast"]


@pytest.mark.parametrize("path", [PATH, "/perplexity/models"])
async def test_all_that_can_be_asked_for_is_there(caller: Caller, path: str) -> None:
    ids = {entry["id"] for entry in (await caller.get(path)).json()["data"]}
    levels = {"fast", "low", "medium", "high", "xhigh", "wide-research"}
    sonar = {"sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"}
    assert levels | sonar | {"router", "pplx-embed-context-v1-4b", "pplx-decider-v1-27b", "openai/gpt-6-luna"} <= ids


async def test_a_key_sees_what_it_may_ask(caller: Caller) -> None:
    key = await caller.new_key("narrow", models=["pplx-embed-*", "sonar"])
    ids = {entry["id"] for entry in (await caller.get(PATH, key=key)).json()["data"]}
    assert ids == {
        "sonar",
        "pplx-embed-v1-0.6b",
        "pplx-embed-v1-4b",
        "pplx-embed-context-v1-0.6b",
        "pplx-embed-context-v1-4b",
    }


async def test_without_a_key_for_the_api_the_sessions_models_are_listed(tmp_path: Path) -> None:
    async with running_caller(tmp_path, order=("session",)) as caller:
        ids = {entry["id"] for entry in (await caller.get(PATH)).json()["data"]}
    assert {"auto", "gpt"} <= ids
    assert "fast" not in ids


async def test_with_both_upstreams_the_apis_models_are_listed(tmp_path: Path) -> None:
    async with running_caller(tmp_path, order=("session", "api")) as caller:
        ids = {entry["id"] for entry in (await caller.get(PATH)).json()["data"]}
    assert {"fast", "sonar-pro"} <= ids
    assert "gpt" not in ids
