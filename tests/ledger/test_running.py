"""The ledger of the running program: one row for each request, exact money, and reports over it."""

import asyncio
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.store import Database
from tests.cases.scripts import USAGE, agent_events, agent_steps
from tests.ledger.asking import QUESTION, ask, read, requests
from tests.life.waiting import until
from tests.rig import AGENT, API_KEY, ASK_PATH, KEY, SSE_HEADERS, Rig, bearer, running

DELTAS = ("The Leie[1] meets ", "the Scheldt[2].")


async def test_a_chat_on_the_api_is_one_row_with_its_exact_cost(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps())
        reply = await rig.chat(ask(seed=7))
        assert reply.json["usage"]["cost"]["total_cost"] == 0.00503
        (row,) = await requests(rig)
    assert row["id"] == reply.headers["x-request-id"]
    assert (row["caller"], row["caller_name"], row["protocol"], row["operation"]) == (
        "owner",
        None,
        "openai",
        "chat/completions",
    )
    assert (row["requested_model"], row["served_model"], row["upstream"], row["key"]) == (
        "api/sonar",
        "sonar",
        "api",
        "default",
    )
    assert (row["input_tokens"], row["output_tokens"], row["searches"], row["estimated"]) == (20, 9, 1, False)
    assert (row["cost"], row["cost_source"]) == (Decimal("0.00503"), "given")
    assert (row["status"], row["error"], row["dropped"]) == (200, None, ["seed"])
    assert 0 <= row["first_text_milliseconds"] <= row["milliseconds"]


async def test_a_stream_is_one_row_as_well(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps())
        assert (await rig.stream(ask())).done
        (row,) = await requests(rig)
    assert (row["cost"], row["cost_source"], row["status"], row["error"]) == (Decimal("0.00503"), "given", 200, None)
    assert row["first_text_milliseconds"] is not None


async def test_the_session_counts_searches_of_the_plan_and_has_no_cost(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        await rig.chat(ask("gpt"))
        (row,) = await requests(rig)
        total = (await read(rig, "/admin/usage"))["total"]
    assert (row["upstream"], row["served_model"], row["key"], row["pro_searches"]) == ("session", "gpt", None, 1)
    assert (row["cost"], row["cost_source"], row["estimated"]) == (None, "unknown", True)
    assert row["input_tokens"] > 0
    assert (total["cost"], total["unknown_costs"], total["pro_searches"]) == (0, 0, 1)


async def test_a_hundred_costs_add_up_to_the_last_digit(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        costs = [Decimal("0.00001") * number + Decimal("0.000003") for number in range(100)]
        for cost in costs:
            usage = {**USAGE, "cost": {"currency": "USD", "total_cost": float(cost)}}
            await rig.script(AGENT, agent_steps(agent_events(*DELTAS, usage=usage)))
        for _ in costs:
            await rig.post(ask())
        report = await read(rig, "/admin/usage", group_by="model,key,caller")
    assert report["total"]["cost"] == sum(costs)
    assert sum(map(float, costs)) != float(sum(costs))
    (row,) = report["rows"]
    assert row["by"] == {"model": "sonar", "key": "default", "caller": "owner"}
    assert (row["sums"]["requests"], row["sums"]["cost_given"]) == (100, sum(costs))


async def test_a_cost_that_the_api_leaves_out_is_computed(tmp_path: Path) -> None:
    usage = {name: value for name, value in USAGE.items() if name != "cost"}
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps(agent_events(*DELTAS, usage=usage)))
        await rig.chat(ask())
        (row,) = await requests(rig)
        total = (await read(rig, "/admin/usage"))["total"]
    assert (row["cost"], row["cost_source"]) == (Decimal("0.0025275"), "computed")
    assert (total["cost_computed"], total["cost_given"]) == (Decimal("0.0025275"), 0)


async def test_tools_whose_cost_nobody_tells_leave_the_whole_unknown(tmp_path: Path) -> None:
    bare = {name: value for name, value in USAGE.items() if name != "cost"}
    tools = {"search_web": {"invocation": 1, "cost_usd": 0.0025}, "fetch_url": {"invocation": 2}}
    priced = {**tools, "fetch_url": {"invocation": 2, "cost_usd": 0.00359}}
    async with running(tmp_path, order=("api",)) as rig:
        for details in (tools, priced):
            usage = {**bare, "tool_calls_details": details}
            await rig.script(AGENT, agent_steps(agent_events(*DELTAS, usage=usage)))
            await rig.chat(ask())
        told = [(row["cost"], row["cost_source"]) for row in reversed(await requests(rig))]
    assert told == [(None, "unknown"), (Decimal("0.0061175"), "computed")]


async def test_failures_stand_there_with_their_codes(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.chat(ask("nobody-has-this"))
        await rig.chat({"model": "gpt", "messages": "none"})
        await rig.chat(ask("session/gpt", temperature=0.3))
        await rig.chat(ask("api/sonar", messages=[{"role": "user", "content": "fault:upstream_402 why"}]))
        await rig.chat(ask("gpt"))
        every = await requests(rig)
        failed = await requests(rig, error="1")
        one = await requests(rig, error="model_not_found")
        total = (await read(rig, "/admin/usage", group_by="none"))["total"]
    told = [(row["status"], row["error"]) for row in reversed(every)]
    assert told == [
        (404, "model_not_found"),
        (400, "invalid_request"),
        (400, "unsupported_parameter"),
        (402, "insufficient_quota"),
        (200, None),
    ]
    assert [row["id"] for row in failed] == [row["id"] for row in every[1:]]
    assert [row["status"] for row in one] == [404]
    assert (total["requests"], total["errors"]) == (5, 4)


async def test_a_stream_that_breaks_off_is_a_failure(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        stream = await rig.stream(ask("gpt", messages=[{"role": "user", "content": "fault:midstream_error why"}]))
        assert stream.error
        (row,) = await requests(rig)
    assert (row["status"], row["error"]) == (200, stream.error["code"])


async def test_a_caller_who_leaves_is_told_apart(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, [*agent_steps()[:7], {"sleep": 600}])
        async with rig.open_stream(ask()) as reply:
            lines = reply.aiter_lines()
            while "Leie" not in await anext(lines):
                continue

        async def row() -> dict[str, Any] | None:
            return next(iter(await requests(rig)), None)

        found = await until(row)
    assert (found["error"], found["upstream"], found["cost"]) == ("caller_left", "api", None)


async def test_who_is_not_let_in_is_not_in_the_ledger(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        assert (await rig.post(ask(), key="wrong")).status == 401
        await rig.get("/health")
        await rig.get("/admin/usage")
        assert await requests(rig) == []


async def test_a_response_in_the_background_is_one_row_once_it_is_over(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps())
        body = {"model": "api/sonar", "input": QUESTION, "background": True}
        reply = await rig.post(body, path="/v1/responses")
        assert reply.status == 200

        async def over() -> list[dict[str, Any]] | None:
            rows = [row for row in await requests(rig) if row["id"] == reply.headers["x-request-id"]]
            return rows or None

        rows = await until(over)
    (row,) = rows
    assert (row["operation"], row["cost"], row["cost_source"]) == ("responses", Decimal("0.00503"), "given")


async def test_usage_is_told_by_hour_and_within_a_span(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.chat(ask())
        now = datetime.now(UTC)
        by_hour = await read(rig, "/admin/usage", group_by="hour,operation")
        today = now.strftime("%Y-%m-%d")
        inside = await read(rig, "/admin/usage", **{"from": today, "to": today})
        before = await read(rig, "/admin/usage", **{"from": "2026-01-01", "to": "2026-01-31T12:00:00+02:00"})
        seconds = str(int(now.timestamp()) - 3600)
        since = await read(rig, "/admin/usage", **{"from": seconds, "model": "sonar", "upstream": "api"})
        others = await read(rig, "/admin/usage", caller="key_none")
    (row,) = by_hour["rows"]
    assert row["by"]["operation"] == "chat/completions"
    assert row["by"]["hour"].endswith(":00:00Z")
    assert (inside["total"]["requests"], before["total"]["requests"], since["total"]["requests"]) == (1, 0, 1)
    assert (before["to"], others["total"]["requests"], others["rows"]) == ("2026-01-31T10:00:00.000Z", 0, [])


@pytest.mark.parametrize(
    ("path", "query", "param"),
    [
        ("/admin/usage", "group_by=week", "group_by"),
        ("/admin/usage", "from=yesterday", "from"),
        ("/admin/usage", "to=99999999999999999999", "to"),
        ("/admin/usage", "from=2026-02-01&to=2026-01-01", "from"),
        ("/admin/usage", "form=2026-02-01", "form"),
        ("/admin/usage", f"model={'x' * 300}", "model"),
        ("/admin/requests", "limit=0", "limit"),
        ("/admin/requests", "limit=501", "limit"),
        ("/admin/requests", "before=x", "before"),
        ("/admin/requests", "group_by=day", "group_by"),
        ("/v1/usage", "group_by=key", "group_by"),
        ("/v1/usage", "caller=key_1", "caller"),
    ],
)
async def test_a_wrong_parameter_is_refused_by_name(tmp_path: Path, path: str, query: str, param: str) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.get(f"{path}?{query}")
    assert (reply.status, reply.error["param"]) == (400, param)


async def test_requests_come_in_pages(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        for _ in range(5):
            await rig.post(ask())
        first = await read(rig, "/admin/requests", limit="2")
        second = await read(rig, "/admin/requests", limit="2", before=str(first["next"]))
        last = await read(rig, "/admin/requests", limit="2", before=str(second["next"]))
    ids = [row["id"] for page in (first, second, last) for row in page["data"]]
    assert len(set(ids)) == 5
    assert (first["has_more"], second["has_more"], last["has_more"], last["next"]) == (True, True, False, None)


async def test_the_owner_reads_its_own_usage_like_everybody(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps())
        await rig.chat(ask())
        own = await read(rig, "/v1/usage", group_by="model")
    assert own["total"]["cost"] == Decimal("0.00503")
    assert own["rows"][0]["by"] == {"model": "sonar"}
    assert own["budget"] == {
        "spent_today": Decimal("0.00503"),
        "spent_this_month": Decimal("0.00503"),
        "cost_per_day": None,
        "cost_per_month": None,
    }


async def test_nothing_that_was_said_and_no_secret_is_in_the_ledger(tmp_path: Path) -> None:
    async with running(tmp_path, store_days=0) as rig:
        await rig.chat(ask())
        await rig.chat(ask("gpt"))
        await rig.chat(ask("gpt", messages=[{"role": "user", "content": "fault:upstream_500 secret words"}]))
        assert len(await requests(rig)) == 3
    written = store(tmp_path)
    assert b"chat/completions" in written
    for words in (QUESTION, "secret words", API_KEY, KEY):
        assert words.encode() not in written


def store(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("gateway.sqlite*"))


async def test_the_ledger_outlives_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.script(AGENT, agent_steps())
        await rig.chat(ask())
    async with running(tmp_path, order=("api",)) as rig:
        (row,) = await requests(rig)
        assert row["cost"] == Decimal("0.00503")


async def test_without_days_only_what_was_spent_is_kept(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), ledger_days=0) as rig:
        await rig.script(AGENT, agent_steps())
        await rig.chat(ask())
        assert await requests(rig) == []
        assert (await read(rig, "/v1/usage"))["budget"]["spent_today"] == Decimal("0.00503")


async def test_a_store_that_is_locked_makes_no_request_wait(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), store_days=0) as rig:
        database = await Database.open(tmp_path / "gateway.sqlite")
        await database.fetch("begin immediate")
        async with asyncio.timeout(4):  # SQLite itself would wait for 5
            for _ in range(3):
                assert (await rig.chat(ask())).status == 200
        await database.fetch("rollback")
        await database.close()
        assert len(await requests(rig)) == 3


async def test_both_workers_write_one_ledger(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as one, running(tmp_path, order=("api",)) as other:
        for rig in (one, other):
            await rig.script(AGENT, agent_steps())
            await rig.chat(ask())

        async def both(rig: Rig) -> bool:
            return bool((await read(rig, "/admin/usage"))["total"]["cost"] == Decimal("0.01006"))

        await until(lambda: both(one))
        await until(lambda: both(other))


async def test_a_session_that_is_spent_and_the_api_that_answers_is_one_row(tmp_path: Path) -> None:
    async with running(tmp_path, allow_spending=True) as rig:
        await rig.script(ASK_PATH, {"status": 429, "headers": SSE_HEADERS, "steps": [{"bytes": quota_gone()}]})
        await rig.script(AGENT, agent_steps())
        reply = await rig.chat(ask("sonar"))
        (row,) = await requests(rig)
    assert (reply.status, reply.headers["x-pplx-upstream"]) == (200, "api")
    assert (row["upstream"], row["key"], row["cost"], row["error"]) == ("api", "default", Decimal("0.00503"), None)


def quota_gone() -> str:
    return json.dumps({"error_code": "QUOTA_EXCEEDED", "message": "You have reached your limit of Pro searches."})


async def test_listing_models_is_a_request_too(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        await rig.client.get(f"{rig.url}/v1/models", headers=bearer(KEY))
        (row,) = await requests(rig)
    assert (row["protocol"], row["operation"], row["upstream"], row["cost"]) == ("openai", "models", None, None)
