"""Perplexity's own SDK against the mirror: only the base address differs. Every method of what is no question."""

import asyncio
import json
from typing import Any

import httpx
import perplexity
import pytest
from perplexity.generated import api

from tests.emulator_api.making import jsonl, line, skill
from tests.perplexity.calling import Caller, Sdk, bytes_of

DECIDER = "pplx-decider-v1.1-27b"


async def test_search(sdk: Sdk, caller: Caller) -> None:
    found = await sdk.do(
        lambda client: client.search.create(
            query=["tides", "bridges"],
            max_results=4,
            country="be",
            search_domain_filter=["-https://Pages.example/"],
            search_after_date_filter="2026-01-31",
            display_server_time=True,
        )
    )
    assert len(found.results) == 4
    assert found.server_time
    (sent,) = await caller.rig.requests("/search")
    assert sent["json"] == {
        "query": ["tides", "bridges"],
        "max_results": 4,
        "country": "BE",
        "search_domain_filter": ["-pages.example"],
        "search_after_date_filter": "01/31/2026",
        "display_server_time": True,
    }


async def test_embeddings(sdk: Sdk) -> None:
    made = await sdk.do(
        lambda client: client.embeddings.create(model="pplx-embed-v1-4b", input=["a river", "a bridge"], dimensions=128)
    )
    assert [entry.index for entry in made.data] == [0, 1]
    assert made.usage.cost.total_cost == pytest.approx(made.usage.prompt_tokens * 0.03 / 1e6)


async def test_contextualized_embeddings(sdk: Sdk) -> None:
    documents = [["a river", "its bridge"], ["a tide"]]
    made = await sdk.do(
        lambda client: client.contextualized_embeddings.create(model="pplx-embed-context-v1-0.6b", input=documents)
    )
    assert [len(document.data) for document in made.data] == [2, 1]


async def test_decisions(sdk: Sdk) -> None:
    team = {"type": "choice", "criteria": {"billing": "invoices, VAT", "support": None}}
    made = await sdk.do(
        lambda client: client.decisions.create(
            model=DECIDER,
            state={"ticket": "The billing department sent an invoice with the wrong VAT"},
            questions={"team": team},
        )
    )
    answer = made.answers["team"]
    assert isinstance(answer, api.DecisionChoiceAnswerOutput)
    assert answer.choice == "billing"


async def test_models(sdk: Sdk) -> None:
    listed = await sdk.do(lambda client: client.models.list())
    ids = [model.id for model in listed.data]
    assert {"perplexity/sonar", "sonar-pro", "fast", "pplx-embed-v1-4b", DECIDER} <= set(ids)
    assert len(ids) == len(set(ids))


async def test_files(sdk: Sdk) -> None:
    content = jsonl(line("a"))
    made = await sdk.do(lambda client: client.files.create(file=("in.jsonl", content), purpose="batch"))
    listed = await sdk.do(lambda client: client.files.list(purpose="batch", limit=1, order="desc"))
    assert [file.id for file in listed.data] == [made.id]
    assert (await sdk.do(lambda client: client.files.retrieve(made.id))).filename == "in.jsonl"
    assert await bytes_of(await sdk.do(lambda client: client.files.content(made.id))) == content
    assert (await sdk.do(lambda client: client.files.delete(made.id))).deleted
    with pytest.raises(perplexity.NotFoundError):
        await sdk.do(lambda client: client.files.retrieve(made.id))


async def test_batches(sdk: Sdk, caller: Caller) -> None:
    file = await sdk.do(
        lambda client: client.files.create(file=("in.jsonl", jsonl(line("a"), line("b"))), purpose="batch")
    )
    batch = await sdk.do(_start(file.id, idempotency_key="one"))
    assert (await sdk.do(_start(file.id, idempotency_key="one"))).id == batch.id
    await caller.emulated(f"/_emulator/batches?id={batch.id}&status=completed&timeout=10")
    assert batch.id in [each.id for each in (await sdk.do(lambda client: client.batches.list(limit=5))).data]
    done = await sdk.do(lambda client: client.batches.retrieve(batch.id))
    assert (done.status, done.request_counts.completed) == ("completed", 2)
    results = (await bytes_of(await sdk.do(lambda client: client.files.content(done.output_file_id)))).splitlines()
    assert [json.loads(result)["custom_id"] for result in results] == ["a", "b"]
    with pytest.raises(perplexity.BadRequestError, match="cannot be cancelled"):
        await sdk.do(lambda client: client.batches.cancel(batch.id))


async def test_a_batch_is_cancelled(sdk: Sdk, caller: Caller) -> None:
    file = await sdk.do(lambda client: client.files.create(file=("in.jsonl", jsonl(line("a"))), purpose="batch"))
    batch = await sdk.do(_start(file.id))
    assert (await sdk.do(lambda client: client.batches.cancel(batch.id))).status == "cancelling"
    await caller.emulated(f"/_emulator/batches?id={batch.id}&status=cancelled&timeout=10")


async def test_skills(sdk: Sdk) -> None:
    made = await sdk.do(lambda client: client.skills.create(file=("skill.zip", skill())))
    assert (made.name, made.revision) == ("tide-tables", made.latest_revision)
    newer = await sdk.do(
        lambda client: client.skills.update(
            made.skill_id, expected_revision=made.revision, file=("skill.zip", skill("tides"))
        )
    )
    older = await sdk.do(lambda client: client.skills.retrieve(made.skill_id, revision=made.revision))
    assert older.name == "tide-tables"
    revisions = await sdk.do(lambda client: client.skills.revisions.list(made.skill_id))
    assert [each.revision for each in revisions.revisions] == [newer.revision, made.revision]
    download = await sdk.do(lambda client: client.skills.download(made.skill_id))
    fetched = await asyncio.to_thread(httpx.get, download.download_url, trust_env=False)
    assert fetched.content == skill("tides")
    listed = await sdk.do(lambda client: client.skills.list(limit=5))
    assert [each.skill_id for each in listed.skills] == [made.skill_id]
    with pytest.raises(perplexity.ConflictError):
        await sdk.do(lambda client: client.skills.delete(made.skill_id, expected_revision=made.revision))
    await sdk.do(lambda client: client.skills.delete(made.skill_id, expected_revision=newer.revision))
    assert (await sdk.do(lambda client: client.skills.list())).skills == []


async def test_browser_sessions(sdk: Sdk) -> None:
    session = await sdk.do(lambda client: client.browser.sessions.create())
    assert session.status == "running"
    await sdk.do(lambda client: client.browser.sessions.delete(session.session_id))
    with pytest.raises(perplexity.NotFoundError):
        await sdk.do(lambda client: client.browser.sessions.delete(session.session_id))


def _start(file_id: str, **more: Any) -> Any:
    return lambda client: client.batches.create(endpoint="/v1/responses", input_file_id=file_id, **more)
