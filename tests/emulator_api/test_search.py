"""`POST /search` and its alias: filters that filter, and what is refused (the rest is in tests/emulator)."""

from datetime import UTC, datetime, timedelta

import pytest

from tests.emulator.caller import Caller, Json


def search(caller: Caller, path: str = "/search", **fields: object) -> list[Json]:
    reply = caller.send("POST", path, {"query": "tides", **fields})
    assert reply.status == 200, reply.body
    found: list[Json] = reply.json["results"]
    return found


def test_both_paths_find_the_same(caller: Caller) -> None:
    assert search(caller, "/v1/search") == search(caller)


def test_dates_filter_and_odd_ones_are_ignored(caller: Caller) -> None:
    every = search(caller, max_results=20)
    late = search(caller, max_results=20, search_after_date_filter="5/1/2026", search_before_date_filter="07/31/2026")
    assert late == [page for page in every if "2026-05-01" <= (page["date"] or "") <= "2026-07-31"]
    assert 0 < len(late) < len(every)
    updated = search(caller, max_results=20, last_updated_after_filter="06/01/2026")
    assert updated == [page for page in every if (page["last_updated"] or "") >= "2026-06-01"]
    assert search(caller, max_results=20, search_after_date_filter="2026-05-01") == every


def test_a_recency_brings_pages_of_late(caller: Caller) -> None:
    today = datetime.now(UTC).date()
    oldest = (today - timedelta(days=7)).isoformat()
    assert all(page["date"] >= oldest for page in search(caller, search_recency_filter="week"))


def test_modes_have_their_own_places(caller: Caller) -> None:
    hosts = {page["url"].split("/")[2] for page in search(caller, search_mode="sec")}
    assert hosts == {"filings.example"}


def test_snippets_are_cut_to_their_budget(caller: Caller) -> None:
    assert max(len(page["snippet"]) for page in search(caller, max_tokens_per_page=5)) == 20


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 100, "search_context_size": "low"},
        {"max_tokens_per_page": 100, "search_context_size": "low"},
        {"max_tokens": 1_000_001},
        {"search_language_filter": ["english"]},
        {"search_language_filter": ["en"] * 21},
        {"country": "Belgium"},
        {"search_recency_filter": "week", "search_after_date_filter": "01/01/2026"},
        {"search_mode": "news"},
    ],
)
def test_search_refuses(caller: Caller, fields: Json) -> None:
    assert caller.send("POST", "/v1/search", {"query": "tides", **fields}).error["code"] == 400


def test_faults_and_slowness_can_be_asked_for(caller: Caller) -> None:
    assert search(caller, query="fault:empty tides") == []
    assert len(search(caller, query="slow: tides")) == 10
    assert caller.send("POST", "/search", {"query": ["fault:upstream_402 tides"]}).status == 402
