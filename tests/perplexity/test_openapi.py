"""What the description of the interface says of the mirror, and of what is no question in OpenAI's dialect."""

from typing import Any

import jsonschema_rs
import pytest

from pplx_gateway.protocols.perplexity.routes import addresses
from pplx_gateway.web.openapi import document
from tests.perplexity.calling import Caller


def fits(name: str, value: object) -> bool:
    found = document()
    return jsonschema_rs.Draft202012Validator({**found, **found["components"]["schemas"][name]}).is_valid(value)


@pytest.mark.parametrize("path", ["/search", "/embeddings", "/contextualizedembeddings", "/decisions"])
async def test_every_address_answers_alike(caller: Caller, path: str) -> None:
    for address in addresses(path):
        reply = await caller.post(address, {})
        assert (reply.status_code, reply.json()["error"]["code"]) == (400, 400)


@pytest.mark.parametrize(
    ("name", "path", "body"),
    [
        ("EmbeddingList", "/v1/embeddings", {"model": "pplx-embed-v1-4b", "input": "a"}),
        ("EmbeddingsReply", "/perplexity/v1/embeddings", {"model": "pplx-embed-v1-4b", "input": "a"}),
        (
            "ContextualizedEmbeddingsReply",
            "/v1/contextualizedembeddings",
            {"model": "pplx-embed-context-v1-4b", "input": [["a"]]},
        ),
        (
            "DecisionReply",
            "/v1/decisions",
            {
                "model": "pplx-decider-v1-27b",
                "input": "a",
                "questions": [{"type": "predicate", "instructions": "b"}],
            },
        ),
        ("ErrorBody", "/v1/embeddings", {}),
        ("PerplexityErrorBody", "/perplexity/v1/embeddings", {}),
    ],
)
async def test_answers_fit_their_schemas(caller: Caller, name: str, path: str, body: dict[str, Any]) -> None:
    assert fits(name, (await caller.post(path, body)).json())


async def test_lists_fit_their_schemas(caller: Caller) -> None:
    assert fits("ModelEntries", (await caller.get("/perplexity/v1/models")).json())
    assert fits("NativeList", (await caller.get("/perplexity/v1/files")).json())
    assert fits("SkillList", (await caller.get("/perplexity/v1/skills")).json())
    assert fits("BatchList", (await caller.get("/v1/batches")).json())
