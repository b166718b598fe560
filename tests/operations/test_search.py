"""Searches: what is sent, what comes back, what is refused before it is billed, what it cost."""

import json
from datetime import date

import pytest

from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    ModelNotAllowed,
    RateLimited,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.operations import Lookup
from tests.operations.rig import Rig, running

PATH = "/search"


async def test_pages_come_back_with_the_body_as_it_came(rig: Rig) -> None:
    found = await rig.does.searcher.search(Lookup(queries=("tides", "bridges"), max_results=4), rig.note)
    body = json.loads(found.body)
    assert [page.url for page in found.pages] == [page["url"] for page in body["results"]]
    assert found.id == body["id"]
    (request,) = await rig.requests(PATH)
    assert request["json"] == {"query": ["tides", "bridges"], "max_results": 4}
    assert request["headers"]["authorization"] == "Bearer pplx-test"


async def test_every_option_reaches_the_api_in_its_words(rig: Rig) -> None:
    lookup = Lookup(
        queries=("tides",),
        kind="fast",
        mode="academic",
        max_results=20,
        max_tokens=5000,
        max_tokens_per_page=100,
        country="BE",
        domains=("-one.example", "-two.example/path"),
        languages=("en", "nl"),
        after=date(2026, 1, 2),
        before=date(2026, 12, 31),
        updated_after=date(2026, 1, 2),
        updated_before=date(2026, 12, 31),
        show_time=True,
    )
    found = await rig.does.searcher.search(lookup, rig.note)
    assert "server_time" in json.loads(found.body)
    (request,) = await rig.requests(PATH)
    assert request["json"] == {
        "query": "tides",
        "search_type": "fast",
        "search_mode": "academic",
        "max_results": 20,
        "max_tokens": 5000,
        "max_tokens_per_page": 100,
        "country": "BE",
        "search_domain_filter": ["-one.example", "-two.example/path"],
        "search_language_filter": ["en", "nl"],
        "search_after_date_filter": "01/02/2026",
        "search_before_date_filter": "12/31/2026",
        "last_updated_after_filter": "01/02/2026",
        "last_updated_before_filter": "12/31/2026",
        "display_server_time": True,
    }
    await rig.does.searcher.search(Lookup(queries=("a",), recency="week", context_size="low"), rig.note)


@pytest.mark.parametrize(("kind", "price"), [(None, 0.005), ("web", 0.005), ("fast", 0.001), ("people", None)])
async def test_the_cost_is_worked_out_and_said_to_be(rig: Rig, kind: object, price: float | None) -> None:
    lookup = Lookup(queries=("a", "b"), kind=kind)  # type: ignore[arg-type]
    receipt = (await rig.does.searcher.search(lookup, rig.note)).receipt
    assert rig.noted == [receipt]
    assert (receipt.searches, receipt.cost and receipt.cost.total) == (1, price)
    assert receipt.computed == (price is not None)
    assert receipt.request_id
    assert receipt.limits["x-ratelimit-limit"] == "50"


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"queries": ()}, "query"),
        ({"queries": ("a",) * 6}, "query"),
        ({"queries": ("a", " ")}, "query"),
        ({"max_results": 21}, "max_results"),
        ({"max_results": 0}, "max_results"),
        ({"kind": "people", "max_results": 51}, "max_results"),
        ({"max_tokens": 1_000_001}, "max_tokens"),
        ({"max_tokens_per_page": 0}, "max_tokens_per_page"),
        ({"max_tokens": 10, "context_size": "low"}, "search_context_size"),
        ({"domains": ("a.example", "-b.example")}, "search_domain_filter"),
        ({"domains": ("a.example",) * 21}, "search_domain_filter"),
        ({"domains": ("https://a.example",)}, "search_domain_filter"),
        ({"domains": ("-",)}, "search_domain_filter"),
        ({"domains": ("x" * 254,)}, "search_domain_filter"),
        ({"languages": ("EN",)}, "search_language_filter"),
        ({"languages": ("en",) * 21}, "search_language_filter"),
        ({"country": "be"}, "country"),
        ({"recency": "day", "after": date(2026, 1, 1)}, "search_recency_filter"),
        ({"after": date(2026, 2, 1), "before": date(2026, 1, 1)}, "search_after_date_filter"),
        ({"updated_after": date(2026, 2, 1), "updated_before": date(2026, 1, 1)}, "last_updated_after_filter"),
    ],
)
async def test_what_would_be_refused_or_billed_for_nothing_is_not_sent(
    rig: Rig, fields: dict[str, object], param: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.searcher.search(Lookup(**{"queries": ("a",), **fields}), rig.note)  # type: ignore[arg-type]
    assert refused.value.param == param
    assert await rig.requests() == []


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("upstream_401", UpstreamAuth),
        ("upstream_402", InsufficientQuota),
        ("upstream_500", UpstreamError),
        ("upstream_html", UpstreamError),
    ],
)
async def test_refusals_are_errors_of_ours_and_sent_once(rig: Rig, fault: str, error: type[GatewayError]) -> None:
    with pytest.raises(error):
        await rig.does.searcher.search(Lookup(queries=(f"fault:{fault} a",)), rig.note)
    assert len(await rig.requests(PATH)) == 1
    assert rig.noted == []


@pytest.mark.parametrize("fault", ["upstream_bad_json", "midstream_drop"])
async def test_an_answer_that_was_billed_and_broke_is_noted_and_not_asked_again(rig: Rig, fault: str) -> None:
    with pytest.raises(UpstreamError):
        await rig.does.searcher.search(Lookup(queries=(f"fault:{fault} a",)), rig.note)
    assert len(await rig.requests(PATH)) == 1
    assert len(rig.noted) == 1


async def test_a_throttle_is_waited_out_and_then_told_with_a_hint(rig: Rig) -> None:
    body = {"bytes": '{"error":{"message":"slow down"}}'}
    await rig.script(PATH, {"status": 429, "steps": [body]})
    assert (await rig.does.searcher.search(Lookup(queries=("a",)), rig.note)).pages
    with pytest.raises(RateLimited) as throttled:
        await rig.does.searcher.search(Lookup(queries=("fault:upstream_429 a",)), rig.note)
    assert throttled.value.retry_after
    assert len(await rig.requests(PATH)) == 2 + 3


async def test_odd_results_are_left_out_of_the_pages_but_not_of_the_body(rig: Rig) -> None:
    body = b'{"id":"x","results":[{"url":"https://a.example","title":7,"score":0.5},{"title":"no address"},null]}'
    await rig.script(PATH, {"steps": [{"bytes": body.decode()}]})
    found = await rig.does.searcher.search(Lookup(queries=("a",)), rig.note)
    assert [(page.url, page.title) for page in found.pages] == [("https://a.example", "")]
    assert found.body == body


async def test_another_key_takes_over_from_a_bad_one() -> None:
    async with running("pplx-bad", "pplx-good") as rig:
        for _ in range(3):
            found = await rig.does.searcher.search(Lookup(queries=("a",)), rig.note)
            assert found.receipt.key_name == "key-2"
        assert len([r for r in await rig.requests(PATH) if r["status"] == 401]) == 1
        with pytest.raises(UpstreamAuth):
            await rig.does.searcher.search(Lookup(queries=("a",), key_name="key-1"), rig.note)


async def test_an_allow_list_holds_for_searches() -> None:
    async with running("pplx-good", models=("sonar",)) as rig:
        with pytest.raises(ModelNotAllowed):
            await rig.does.searcher.search(Lookup(queries=("a",)), rig.note)
    async with running("pplx-good", models=("search",)) as rig:
        assert (await rig.does.searcher.search(Lookup(queries=("a",)), rig.note)).pages
