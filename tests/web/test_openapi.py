import json

import jsonschema_rs
import pytest

from pplx_gateway.web.openapi import document
from tests.openai import reading
from tests.web.calling import ASK, CHAT, calling


def validator(name: str) -> jsonschema_rs.Draft202012Validator:
    found = document()
    return jsonschema_rs.Draft202012Validator({**found, **found["components"]["schemas"][name]})


async def test_the_document_needs_no_key() -> None:
    async with calling() as caller:
        found = (await caller.get("/openapi.json", headers={})).json()
    assert found["openapi"] == "3.1.0"
    assert found["paths"][CHAT]["post"]["responses"]["400"]


def test_no_two_operations_have_one_name() -> None:
    names = [call["operationId"] for calls in document()["paths"].values() for call in calls.values()]
    assert len(names) == len(set(names))


def test_every_schema_in_it_is_one() -> None:
    draft = "https://json-schema.org/draft/2020-12/schema"
    for schema in document()["components"]["schemas"].values():
        jsonschema_rs.meta.validate({**schema, "$schema": draft})


def test_every_reference_in_it_leads_somewhere() -> None:
    found = document()
    for reference in json.dumps(found).split('"$ref": "#/')[1:]:
        place = found
        for step in reference.split('"')[0].split("/"):
            place = place[step]
        assert place


@pytest.mark.parametrize(
    ("body", "valid"),
    [
        (ASK, True),
        ({**ASK, "temperature": 0.5, "search_recency_filter": "week", "thinking": True}, True),
        ({**ASK, "unknown": 1}, True),
        ({**ASK, "stream": "true"}, False),
        ({**ASK, "temperature": 3}, False),
        ({"model": "sonar", "messages": []}, False),
        ({"model": "sonar"}, False),
    ],
)
def test_the_schema_of_a_request_agrees_with_the_decoder(body: object, valid: bool) -> None:
    assert validator("ChatRequest").is_valid(body) is valid


async def test_answers_fit_their_schemas() -> None:
    async with calling() as caller:
        whole, stream = await caller.ask(), await caller.stream(stream_options={"include_usage": True})
        refused, models = await caller.ask(b"{"), await caller.get("/v1/models")
        health = await caller.get("/health")
    validator("ChatCompletion").validate(whole.json())
    for chunk in reading.chunks(stream.content):
        validator("ChatCompletionChunk").validate(chunk)
    validator("ErrorBody").validate(refused.json())
    validator("ModelList").validate(models.json())
    validator("Health").validate(health.json())
