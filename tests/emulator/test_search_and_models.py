"""`POST /search` and `GET /v1/models`."""

import re

import pytest

from tests.emulator.caller import Caller, Json


def search(caller: Caller, **fields: object) -> list[Json]:
    reply = caller.send("POST", "/search", fields)
    assert reply.status == 200, reply.body
    assert "usage" not in reply.json
    results: list[Json] = reply.json["results"]
    return results


def test_a_search_finds_ten_pages_the_same_every_time(caller: Caller) -> None:
    first = search(caller, query="heat pump subsidy")
    assert len(first) == 10
    assert first == search(caller, query="heat pump subsidy")
    assert len({page["url"] for page in first}) == 10
    assert all(re.fullmatch(r"2026-\d\d-\d\d", page["date"]) for page in first if page["date"])
    assert first[0].keys() == {"title", "url", "snippet", "date", "last_updated"}


def test_several_queries_give_one_flat_list(caller: Caller) -> None:
    found = search(caller, query=["tides", "bridges"], max_results=5)
    assert len(found) == 5
    assert {page["url"].split("/")[3] for page in found} == {"tides", "bridges"}


def test_domains_are_allowed_or_denied(caller: Caller) -> None:
    allowed = search(caller, query="tides", search_domain_filter=["one.example", "two.example"])
    assert {page["url"].split("/")[2] for page in allowed} == {"one.example", "two.example"}
    denied = search(caller, query="tides", search_domain_filter=["-notes.example"], max_results=20)
    assert "notes.example" not in {page["url"].split("/")[2] for page in denied}


def test_whole_results_are_dropped_to_fit_the_budget(caller: Caller) -> None:
    assert 0 < len(search(caller, query="tides", max_tokens=80)) < 10


def test_the_server_time_is_shown_on_request(caller: Caller) -> None:
    shown = caller.send("POST", "/search", {"query": "tides", "display_server_time": True}).json
    assert shown["server_time"].startswith("20")
    assert "server_time" not in caller.send("POST", "/search", {"query": "tides"}).json


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"query": ""},
        {"query": []},
        {"query": ["a"] * 6},
        {"query": 5},
        {"query": "a", "max_results": 21},
        {"query": "a", "max_results": 0},
        {"query": "a", "search_type": "images"},
        {"query": "a", "search_recency_filter": "fortnight"},
        {"query": "a", "search_domain_filter": ["d.example"] * 21},
        {"query": "a", "search_after_date": "01/01/2026"},
        {"query": "a", "model": "sonar"},
    ],
)
def test_search_is_strict(caller: Caller, fields: Json) -> None:
    assert caller.send("POST", "/search", fields).error["code"] == 400


def test_people_may_be_found_in_greater_numbers(caller: Caller) -> None:
    assert len(search(caller, query="bridge builders", search_type="people", max_results=50)) == 50


def test_search_needs_a_key_and_models_do_not(caller: Caller) -> None:
    assert caller.with_key(None).send("POST", "/search", {"query": "tides"}).status == 401
    listed = caller.with_key(None).send("GET", "/v1/models").json
    assert listed["object"] == "list"
    assert len(listed["data"]) == 52
    assert len({model["id"] for model in listed["data"]}) == 52
    sonar = next(model for model in listed["data"] if model["id"] == "perplexity/sonar")
    assert sonar == {
        "id": "perplexity/sonar",
        "object": "model",
        "created": 0,
        "owned_by": "perplexity",
        "pricing": {"input": 0.25, "output": 2.5, "cache_read": 0.0625, "unit": "usd_per_1m_tokens"},
    }


def test_every_listed_model_answers(caller: Caller) -> None:
    for model in caller.send("GET", "/v1/models").json["data"]:
        assert caller.ask("hi", model=model["id"], max_output_tokens=64).status == 200
