"""What /metrics says of a running gateway."""

import asyncio
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import FIRST_TEXT, METRICS, REQUESTS, SECONDS
from pplx_gateway.store.counters import Counted, Counters, Series
from tests.cases.scripts import W_BASE, session_steps
from tests.ledger.asking import ask, read
from tests.life.waiting import until
from tests.observability.scraping import scrape
from tests.rig import AGENT, API_KEY, ASK_PATH, COOKIE, KEY, Rig, bearer, running

OF_MODULE = pytest.mark.asyncio(loop_scope="module")
SPENT = {"status": "FAILED", "error_code": "PRO_QUOTA_EXCEEDED", "final": True, "final_sse_message": True}
CHAT = {"protocol": "openai", "operation": "chat/completions"}


@OF_MODULE
async def test_the_figures_are_those_of_the_ledger(rig: Rig) -> None:
    before = await scrape(rig.client, rig.url)
    for model in ("gpt", "api/sonar", "api/sonar"):
        await rig.stream(ask(model))
    assert (await rig.chat(ask("gpt", temperature=0.3))).status == 400
    usage = (await read(rig, "/admin/usage", group_by="none"))["total"]
    now = await scrape(rig.client, rig.url, openmetrics=True)

    assert now.sum("requests_total", **CHAT) == usage["requests"] == now.sum("request_seconds_count", **CHAT)
    assert now.sum("requests_total", **CHAT) - before.sum("requests_total", **CHAT) == 4
    assert now.sum("request_errors_total", **CHAT) == usage["errors"]
    assert now.sum("request_errors_total", code="unsupported_parameter") == 1
    assert now.sum("requests_total", upstream="api", model="sonar", status="200") == 2
    assert now.sum("first_text_seconds_count", upstream="session", model="gpt") == 1
    assert now.sum("tokens_total", kind="input") == usage["input_tokens"]
    assert now.sum("tokens_total", kind="output") == usage["output_tokens"]
    assert round(Decimal(now.sum("cost_dollars_total")), 9) == round(usage["cost"], 9)
    assert now.sum("searches_total", kind="pro") == 1
    assert now.sum("api_key_requests_total", key="default") == 2
    assert now.get("api_key_workers", key="default", state="good") == 1
    assert now.get("session_state", state="valid") == 1
    assert now.get("session_state", state="expired") == 0
    assert now.get("store_bytes", part="log") or now.get("store_bytes", part="database")
    assert now.get("store_up") == now.get("workers") == 1


@OF_MODULE
async def test_only_the_owner_reads_it(rig: Rig) -> None:
    made = await rig.post({"name": "scraper"}, path="/admin/caller-keys")
    assert (await rig.get("/metrics", key=None)).status == 401
    assert (await rig.get("/metrics", key="gk-wrong")).status == 401
    assert (await rig.get("/metrics", key=made.json["secret"])).status == 403
    found = await scrape(rig.client, rig.url)
    assert (
        found.get("requests_total", protocol="gateway", operation="metrics", status="401", upstream="", model="") == 2
    )
    assert made.json["secret"] not in found.text


@OF_MODULE
async def test_names_that_anybody_can_make_up_are_no_series(rig: Rig) -> None:
    for number in range(5):
        reply = await rig.post(ask(f"api/made-up/model-{number}"))
        assert reply.status in (200, 400, 404, 502)
        await rig.get(f"/v1/nothing/here-{number}")
        await rig.client.request(f"VERB{number}", f"{rig.url}/v1/models", headers=bearer(KEY))
    found = await scrape(rig.client, rig.url)
    assert "made-up" not in found.text
    assert "here-" not in found.text
    assert "VERB" not in found.text
    assert found.sum("requests_total", model="other") >= 1


@OF_MODULE
async def test_an_open_stream_is_seen_while_it_is_open(rig: Rig) -> None:
    await rig.script(ASK_PATH, [*session_steps(W_BASE[:3], end=False), {"sleep": 60}])
    async with rig.open_stream(ask("gpt")) as stream:
        chunks = stream.aiter_raw()  # one that nobody holds closes the stream
        await anext(chunks)
        now = await scrape(rig.client, rig.url)
        assert now.get("open_streams", upstream="session") == 1
        assert now.get("open_requests") == 1

    async def closed() -> bool:
        return (await scrape(rig.client, rig.url)).get("open_streams", upstream="session") == 0

    await until(closed)


@OF_MODULE
async def test_failures_and_failovers_are_told_by_code(rig: Rig) -> None:
    before = await scrape(rig.client, rig.url)
    failed = await rig.chat(ask("gpt", messages=[{"role": "user", "content": "fault:upstream_500 in some city"}]))
    assert failed.status == 502
    await rig.script(ASK_PATH, session_steps([SPENT]))
    other = await rig.chat(ask("sonar"))
    assert other.headers["x-pplx-failover"] == "quota_exhausted"
    now = await scrape(rig.client, rig.url)

    def grown(name: str, **labels: str) -> float:
        return now.sum(name, **labels) - before.sum(name, **labels)

    assert grown("upstream_calls_total", upstream="session", outcome="500") >= 1
    assert grown("upstream_errors_total", upstream="session", code="upstream_error") == 1
    assert grown("upstream_errors_total", upstream="session", code="quota_exhausted") == 1
    assert grown("failovers_total", source="session", target="api", code="quota_exhausted") == 1


@OF_MODULE
async def test_a_key_that_the_api_refuses_is_told_by_its_name(rig: Rig) -> None:
    before = await scrape(rig.client, rig.url)
    await rig.script(AGENT, {"status": 401, "steps": [{"bytes": '{"error": {"message": "bad key", "code": 401}}'}]})
    assert (await rig.chat(ask())).error["code"] == "upstream_auth"
    now = await scrape(rig.client, rig.url)
    assert now.sum("api_key_failures_total", key="default") - before.sum("api_key_failures_total", key="default") == 1
    assert now.get("api_key_workers", key="default", state="refused") == 1
    assert now.get("api_key_workers", key="default", state="good") is None
    assert (await rig.chat(ask())).status == 200
    assert (await scrape(rig.client, rig.url)).get("api_key_workers", key="default", state="good") == 1


@OF_MODULE
async def test_an_upstream_that_cannot_be_reached_is_told_by_code(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), api_url="http://127.0.0.1:9") as rig:
        assert (await rig.chat(ask())).status == 502
        found = await scrape(rig.client, rig.url)
    assert found.sum("upstream_calls_total", upstream="api", outcome="upstream_error") >= 1
    assert found.sum("upstream_errors_total", upstream="api") == 1


@OF_MODULE
async def test_what_nobody_knows_is_not_on_the_page(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        found = await scrape(rig.client, rig.url)
    assert found.values("quota_remaining", "kind") == set()
    assert "session" not in found.text.replace("those of the session", "")


@OF_MODULE
async def test_no_secret_and_no_question_stands_on_it(rig: Rig) -> None:
    await rig.stream(ask("gpt"))
    text = (await scrape(rig.client, rig.url)).text
    for secret in (KEY, API_KEY, COOKIE, *rig.prompts, "Ghent"):
        assert secret not in text


@OF_MODULE
async def test_two_gateways_on_one_store_tell_the_same_sums(tmp_path: Path) -> None:
    """As two workers do, who are two processes."""
    async with running(tmp_path, order=("api",)) as one:
        await one.chat(ask())
        async with running(tmp_path, order=("api",)) as other:
            await other.chat(ask())
            await other.chat(ask())

            async def agreed() -> bool:
                pages = [await scrape(rig.client, rig.url) for rig in (one, other)]
                return [page.sum("requests_total", **CHAT) for page in pages] == [3, 3] and [
                    (page.get("workers"), page.get("api_key_workers", key="default", state="good")) for page in pages
                ] == [(2, 2), (2, 2)]

            await until(agreed)
        found = await scrape(one.client, one.url)
        assert found.get("workers") == 1, "who has left is not counted any more"
        assert found.sum("requests_total", **CHAT) == 3, "what it has counted stays"
    async with running(tmp_path, order=("api",)) as again:
        assert (await scrape(again.client, again.url)).sum("requests_total", **CHAT) == 3


def test_every_metric_is_named_once_and_tells_its_unit() -> None:
    assert len({metric.name for metric in METRICS}) == len(METRICS)
    for metric in METRICS:
        assert metric.about.endswith(".")
        assert bool(metric.bounds) == (metric.kind == "histogram")
        assert list(metric.bounds) == sorted(set(metric.bounds))


class BrokenCounters(Counters):
    """A store that fails as long as it is `broken`."""

    def __init__(self) -> None:
        self.broken = True
        self.held: dict[Series, float] = {}

    async def add(self, counts: Mapping[Series, float], now: float) -> None:
        await asyncio.sleep(0)
        if self.broken:
            raise StoreUnavailable("The store cannot be used: disk full.")
        for series, by in counts.items():
            self.held[series] = self.held.get(series, 0) + by

    async def all(self) -> dict[Series, Counted]:
        if self.broken:
            raise StoreUnavailable("The store cannot be used: disk full.")
        return {series: Counted(value, 0, 0) for series, value in self.held.items()}


@OF_MODULE
async def test_what_a_failing_store_does_not_take_is_counted_once_it_does() -> None:
    counters = BrokenCounters()
    meter = Meter(counters, Clock())
    series = (REQUESTS.name, "openai", "models", "200", "", "")

    async def total() -> float:
        return (await meter.totals())[series].value

    for expected in (1, 2):
        meter.count(REQUESTS, *series[1:])
        assert await total() == expected
        assert meter.failing
    counters.broken = False
    meter.count(REQUESTS, *series[1:])
    assert await total() == 3
    assert counters.held[series] == 3
    assert not meter.failing


@OF_MODULE
async def test_counting_goes_on_while_a_batch_is_written() -> None:
    counters = BrokenCounters()
    counters.broken = False
    meter = Meter(counters, Clock())
    labels = ("openai", "models", "200", "", "")
    meter.count(REQUESTS, *labels)
    flushing = asyncio.create_task(meter.flush())
    await asyncio.sleep(0)
    meter.count(REQUESTS, *labels)
    flushing.cancel()  # as a supervisor does that closes: what is on its way is written once, not twice
    await asyncio.gather(flushing, return_exceptions=True)
    assert (await meter.totals())[(REQUESTS.name, *labels)].value == 2


async def test_who_reads_while_others_write_never_finds_less() -> None:
    counters = BrokenCounters()
    counters.broken = False
    meter = Meter(counters, Clock())
    labels = ("openai", "models", "200", "", "")
    seen: list[float] = []

    async def read() -> None:
        meter.count(REQUESTS, *labels)
        seen.append((await meter.totals())[(REQUESTS.name, *labels)].value)

    await asyncio.gather(*(work() for _ in range(20) for work in (read, meter.flush)))
    assert seen == sorted(seen)
    assert seen[-1] == 20


@pytest.mark.parametrize(
    ("seconds", "bucket"), [(0.0, "0.005"), (0.005, "0.005"), (0.0051, "0.025"), (900.0, "900.0"), (901.0, "+Inf")]
)
@OF_MODULE
async def test_a_time_falls_into_one_bucket(seconds: float, bucket: str) -> None:
    meter = Meter(None, Clock())
    meter.observe(SECONDS, seconds, "openai", "models", "")
    found = await meter.totals()
    assert found[(SECONDS.name, "openai", "models", "", bucket)].value == 1
    assert found[(SECONDS.name, "openai", "models", "", "sum")].value == seconds
    assert len(found) == 2
    assert FIRST_TEXT.labels != SECONDS.labels
