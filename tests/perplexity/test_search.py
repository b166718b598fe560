"""`POST /search`: what goes up, and by which key."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.keys.files import entry, write
from tests.perplexity.calling import Caller, native_error, running_caller
from tests.rig import Rig

ASK = {"query": "tides"}


async def sent(rig: Rig) -> dict[str, Any]:
    (request,) = await rig.requests("/search")
    found: dict[str, Any] = request["json"]
    return found


@pytest.mark.parametrize(
    ("fields", "goes_up"),
    [
        ({"search_type": "fast"}, {"search_type": "fast"}),
        ({"search_type": "people", "max_results": 50}, {"search_type": "people", "max_results": 50}),
        ({"search_mode": "academic"}, {"search_mode": "academic"}),
        ({"max_tokens": 500, "max_tokens_per_page": 100}, {"max_tokens": 500, "max_tokens_per_page": 100}),
        ({"search_context_size": "low"}, {"search_context_size": "low"}),
        ({"search_language_filter": ["EN", "fr", "en"]}, {"search_language_filter": ["en", "fr"]}),
        ({"search_recency_filter": "week"}, {"search_recency_filter": "week"}),
        ({"search_domain_filter": ["HTTPS://Bücher.example/"]}, {"search_domain_filter": ["xn--bcher-kva.example"]}),
        ({"search_before_date_filter": "2026-03-01T00:00:00Z"}, {"search_before_date_filter": "03/01/2026"}),
        ({"last_updated_after_filter": "3/1/2026"}, {"last_updated_after_filter": "03/01/2026"}),
        ({"published_after": "03/01/2026"}, {"search_after_date_filter": "03/01/2026"}),
        ({"published_before": "03/01/2026"}, {"search_before_date_filter": "03/01/2026"}),
        ({"latest_updated": False, "display_server_time": False, "country": None, "search_domain_filter": []}, {}),
    ],
)
async def test_fields_go_up_as_the_api_has_them(
    caller: Caller, fields: dict[str, object], goes_up: dict[str, object]
) -> None:
    reply = await caller.post("/perplexity/search", {**ASK, **fields})
    assert reply.status_code == 200, reply.text
    assert await sent(caller.rig) == {**ASK, **goes_up}


async def test_the_latest_are_those_of_the_last_month(caller: Caller) -> None:
    before = datetime.now(UTC).date() - timedelta(days=30)
    await caller.post("/search", {**ASK, "latest_updated": True})
    after = datetime.now(UTC).date() - timedelta(days=30)
    assert (await sent(caller.rig))["last_updated_after_filter"] in (f"{before:%m/%d/%Y}", f"{after:%m/%d/%Y}")


async def test_the_answer_is_the_upstreams_to_the_letter(caller: Caller) -> None:
    body = (
        '{"id":"s1","results":[{"url":"https://a.example","title":"A","snippet":"","odd":[1.0,null]}],"new":{"a":1e2}}'
    )
    await caller.rig.script("/search", {"headers": {"content-type": "application/json"}, "steps": [{"bytes": body}]})
    assert (await caller.post("/search", ASK)).text == body


async def test_a_reply_without_results_is_no_success(caller: Caller) -> None:
    step = {"bytes": '{"id":"s1","status":"failed"}'}
    await caller.rig.script("/search", {"headers": {"content-type": "application/json"}, "steps": [step]})
    error = native_error(await caller.post("/search", ASK), 502)
    assert "list of results" in error["message"]


async def test_a_key_may_be_named_and_its_searches_stand_in_the_ledger(tmp_path: Path) -> None:
    write(tmp_path, entry("one"), entry("two", weight=3))
    async with running_caller(tmp_path, perplexity_api_key=None) as caller:
        for name in ("one", "two", "one"):
            reply = await caller.post("/search", ASK, headers={"x-pplx-key-name": name})
            assert reply.status_code == 200
        used = [request["headers"]["authorization"] for request in await caller.rig.requests("/search")]
        assert [re.sub(r"Bearer pplx-|-SECRET-KEY", "", token) for token in used] == ["one", "two", "one"]
        rows = (await caller.get("/admin/requests")).json()["data"]
        told = [(row["key"], row["cost"], row["searches"]) for row in rows if row["operation"] == "search"]
        assert told == [("one", 0.005, 1), ("two", 0.005, 1), ("one", 0.005, 1)]


async def test_a_dead_key_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, entry("one"), entry("two"))
    async with running_caller(tmp_path, perplexity_api_key=None) as caller:
        dead = {"pplx-one-SECRET-KEY": "dead"}
        told = await caller.rig.client.post(f"{caller.rig.emulator_url}/_emulator/keys", json=dead)
        assert told.status_code == 200, told.text
        for _ in range(3):
            assert (await caller.post("/search", ASK)).status_code == 200


async def test_a_caller_without_leave_for_the_api_is_refused(caller: Caller) -> None:
    key = await caller.new_key("session only", upstreams=["session"])
    native_error(await caller.post("/search", ASK, key=key), 403)
    assert await caller.rig.requests("/search") == []
