"""Searches, embeddings and decisions in the ledger: their cost is given, or worked out and marked so."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.caller_keys.calling import make
from tests.ledger.asking import requests
from tests.rig import KEY, bearer, running

OWNER = bearer(KEY)
TEXTS = ["The Leie meets the Scheldt.", "Velo"]
QUESTIONS = {"rivers": {"type": "noul", "instructions": "Is this about rivers?"}}
DECISION: dict[str, Any] = {"model": "pplx-decider-v1.1-27b", "state": TEXTS[0], "questions": QUESTIONS}
EMBED: dict[str, Any] = {"model": "pplx-embed-v1-0.6b", "input": TEXTS}
SEARCH: dict[str, Any] = {"query": "rivers of Ghent"}


async def test_a_search_costs_what_the_price_list_says(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.client.post(f"{rig.url}/perplexity/search", json=SEARCH, headers=OWNER)
        fast = {**SEARCH, "search_type": "fast"}
        await rig.client.post(f"{rig.url}/search", json=fast, headers=OWNER)
        second, first = await requests(rig)
    assert reply.status_code == 200
    assert (first["protocol"], first["operation"], first["upstream"], first["key"]) == (
        "perplexity",
        "search",
        "api",
        "default",
    )
    assert (first["cost"], first["cost_source"], first["searches"]) == (Decimal("0.005"), "computed", 1)
    assert (second["cost"], second["cost_source"]) == (Decimal("0.001"), "computed")


async def test_embeddings_cost_what_the_api_says(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.client.post(f"{rig.url}/perplexity/v1/embeddings", json=EMBED, headers=OWNER)
        openai = await rig.client.post(f"{rig.url}/v1/embeddings", json=EMBED, headers=OWNER)
        second, first = await requests(rig)
    assert (reply.status_code, openai.status_code) == (200, 200)
    given = Decimal(repr(reply.json()["usage"]["cost"]["total_cost"]))
    assert (first["cost"], first["cost_source"], first["input_tokens"]) == (
        given,
        "given",
        reply.json()["usage"]["prompt_tokens"],
    )
    assert (first["protocol"], second["protocol"], second["cost"]) == ("perplexity", "openai", given)
    assert first["requested_model"] == first["served_model"] == "pplx-embed-v1-0.6b"


async def test_decisions_cost_what_goes_in(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.client.post(f"{rig.url}/v1/decisions", json=DECISION, headers=OWNER)
        (row,) = await requests(rig)
    tokens = reply.json()["usage"]["input_tokens"]
    assert (row["operation"], row["input_tokens"]) == ("decisions", tokens)
    assert (row["cost"], row["cost_source"]) == (Decimal("0.02") * tokens / 1_000_000, "computed")


@pytest.mark.parametrize(
    ("path", "body", "model"),
    [
        ("/perplexity/search", SEARCH, "search"),
        ("/v1/embeddings", EMBED, "pplx-embed-v1-0.6b"),
        ("/perplexity/v1/embeddings", EMBED, "pplx-embed-v1-0.6b"),
        ("/v1/decisions", DECISION, "pplx-decider-v1.1-27b"),
    ],
)
async def test_a_key_must_be_allowed_what_it_asks(tmp_path: Path, path: str, body: dict[str, Any], model: str) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        for name, limits, status in (
            ("other", {"models": ["sonar"]}, 403),
            ("session", {"upstreams": ["session"]}, 403),
            ("poor", {"cost_per_day": 0}, 402),
            ("fine", {"models": [model], "upstreams": ["api"]}, 200),
        ):
            _, secret = await make(rig, name, **limits)
            reply = await rig.client.post(rig.url + path, json=body, headers=bearer(secret))
            assert reply.status_code == status, (name, reply.text)
        upstream = await rig.requests(path.removeprefix("/perplexity"))
        assert len(upstream) == 1, "what was refused was not asked"


async def test_a_refusal_has_the_shape_of_the_mirror(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig, cost_per_day=0)
        reply = await rig.client.post(f"{rig.url}/perplexity/search", json=SEARCH, headers=bearer(secret))
        (row,) = await requests(rig)
    assert (reply.status_code, reply.json()["error"]["code"]) == (402, 402)
    assert row["error"] == "insufficient_quota"
