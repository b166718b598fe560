"""Whom Sonar's names lead to: the table, the owner's changes to it, and names that are gone."""

from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.protocols.perplexity.sonar.models import UPSTREAMS, built_in, table
from pplx_gateway.settings import SettingsError
from tests.cases.scripts import session_steps
from tests.rig import AGENT, ASK_PATH, Rig
from tests.sonar.calling import ask, calling, refused

NAMES = ("sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research")


async def levels(rig: Rig) -> list[str]:
    """What the Agent API was asked for, request by request."""
    bodies = [request["json"] for request in await rig.requests(AGENT)]
    return [body.get("effort") or body["model"] for body in bodies]


async def preferences(rig: Rig) -> list[str]:
    return [request["json"]["params"]["model_preference"] for request in await rig.requests(ASK_PATH)]


def test_the_table_names_models_that_there_are() -> None:
    catalogue = Catalogue.built_in()
    assert tuple(built_in()) == NAMES
    for row in built_in().values():
        assert set(row) == set(UPSTREAMS)
        assert all(catalogue.fixed(upstream, model) for upstream, model in row.items())


async def test_each_name_has_a_model_of_the_api(both: Rig) -> None:
    for name in NAMES:
        await ask(both, model=name)
    assert await levels(both) == ["perplexity/sonar", "low", "medium", "medium"]


async def test_each_name_has_one_of_the_session_where_that_is_all_there_is(session: Rig) -> None:
    for name in NAMES:
        await session.script(ASK_PATH, session_steps())
        found = (await ask(session, model=name)).json
        assert found["pplx"]["upstream"] == "session"
    assert await preferences(session) == ["experimental", "experimental", "gemini31pro_high", "pplx_alpha"]


@pytest.mark.parametrize(
    ("model", "upstream"),
    [
        ("session/sonar-deep-research", "session"),
        ("api/sonar-pro", "api"),
        ("perplexity/sonar-pro", "api"),
        ("perplexity/sonar", "api"),
        ("openai/gpt-5.4-mini", "api"),
        ("high", "api"),
        ("gpt", "session"),
    ],
)
async def test_other_names_lead_where_they_lead_everywhere(both: Rig, model: str, upstream: str) -> None:
    await both.script(ASK_PATH, session_steps())
    reply = await ask(both, model=model)
    assert reply.json["pplx"]["upstream"] == upstream
    assert reply.headers["x-pplx-requested-model"] == model


async def test_a_name_with_perplexity_before_it_reaches_the_session_alone_too(session: Rig) -> None:
    for model in ("perplexity/sonar", "perplexity/sonar-pro"):
        assert (await ask(session, model=model)).json["model"] == "sonar"


async def test_the_owner_puts_other_models_into_the_table(tmp_path: Path) -> None:
    entries = ("sonar-pro=api/high", "sonar=session/gpt", "my-sonar=api/perplexity/sonar")
    async with calling(tmp_path, sonar_models=entries) as rig:
        await ask(rig, model="sonar-pro")
        await ask(rig, model="my-sonar")
        await ask(rig, model="session/sonar")
        assert await levels(rig) == ["high", "perplexity/sonar"]
        assert await preferences(rig) == ["gpt56_terra"]


@pytest.mark.parametrize("entry", ["sonar", "sonar=", "sonar=gpt", "sonar=api/", "=api/low", "sonar = api/low"])
def test_an_entry_that_cannot_be_read_stops_the_start(entry: str) -> None:
    with pytest.raises(SettingsError, match="PPLX_SONAR_MODELS"):
        table([entry])


@pytest.mark.parametrize(
    ("model", "near"),
    [
        ("llama-3.1-sonar-small-128k-online", "'sonar'"),
        ("llama-3.1-sonar-huge-128k-online", "'sonar-pro'"),
        ("pplx-70b-online", "'sonar'"),
        ("sonar-reasoning", "'sonar-reasoning-pro'"),
        ("r1-1776", "'sonar-reasoning-pro'"),
    ],
)
async def test_a_retired_name_is_told_with_the_one_to_use(both: Rig, model: str, near: str) -> None:
    error = await refused(both, 404, model=model)
    assert (error["type"], error["param"]) == ("model_not_found", "model")
    assert "retired" in error["message"]
    assert near in error["message"]


async def test_an_unknown_name_is_told_with_those_near_it(both: Rig) -> None:
    error = await refused(both, 404, model="sonar-por")
    assert "'sonar-pro'" in error["message"]
    assert await both.requests(AGENT) == []


async def test_no_default_answers_for_a_name_that_is_missing(both: Rig) -> None:
    body: dict[str, Any] = {"messages": [{"role": "user", "content": "Hello there, Ghent"}]}
    reply = await both.post(body, path="/perplexity/chat/completions")
    assert (reply.status, reply.error["param"]) == (400, "model")


async def test_a_key_may_be_limited_to_sonars_names(both: Rig) -> None:
    made = await both.post({"name": "page", "models": ["sonar-*"]}, path="/admin/caller-keys")
    key = {"authorization": f"Bearer {made.json['secret']}"}
    assert (await ask(both, model="session/sonar-reasoning-pro", headers=key)).status == 200
    assert await preferences(both) == ["gemini31pro_high"]
    refusal = await ask(both, model="gemini", headers=key)
    assert (refusal.error["code"], refusal.error["type"]) == (403, "model_not_allowed")
