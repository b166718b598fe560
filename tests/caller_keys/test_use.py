"""Keys in use: who gets in, what they may ask, and what is refused before anything is spent."""

import asyncio
import time
from decimal import Decimal
from pathlib import Path

import pytest

from pplx_gateway.caller_keys import new_secret
from pplx_gateway.store import Database
from tests.caller_keys.calling import ask, asked_upstream, change, make, paid, revoke
from tests.ledger.asking import read, requests
from tests.life.waiting import until
from tests.rig import ASK_PATH, running


async def test_a_caller_is_told_apart_in_the_ledger(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        one, secret = await make(rig, "phone")
        _, other = await make(rig, "desk")
        await paid(rig, secret)
        await paid(rig, secret)
        await paid(rig, other)
        rows = await requests(rig, caller=one)
        report = await read(rig, "/admin/usage", group_by="caller")
        own = await read(rig, "/v1/usage", key=secret)
    assert {(row["caller"], row["caller_name"]) for row in rows} == {(one, "phone")}
    assert own["total"]["requests"] == 2
    assert (own["total"]["cost"], own["budget"]["spent_today"]) == (Decimal("0.01006"), Decimal("0.01006"))
    sums = {row["by"]["caller"]: row["sums"]["cost"] for row in report["rows"]}
    assert sums[one] == Decimal("0.01006")
    assert len(sums) == 2
    assert {row["caller_name"] for row in report["rows"]} == {"phone", "desk"}


@pytest.mark.parametrize("header", ["authorization", "x-api-key"])
async def test_a_key_opens_in_every_header_that_the_owners_does(tmp_path: Path, header: str) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig)
        value = f"Bearer {secret}" if header == "authorization" else secret
        reply = await rig.client.get(f"{rig.url}/v1/models", headers={header: value})
    assert reply.status_code == 200


async def test_wrong_keys_are_told_why(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, secret = await make(rig)
        mistyped = await rig.post(ask(), key=f"{secret[:-1]}{'x' if secret[-1] != 'x' else 'y'}")
        strange = await rig.post(ask(), key=new_secret())
        await revoke(rig, key_id)
        revoked = await rig.post(ask(), key=secret)
        assert await asked_upstream(rig) == 0
    for reply, word in ((mistyped, "checksum"), (strange, "wrong"), (revoked, "revoked")):
        assert (reply.status, reply.error["code"]) == (401, "invalid_api_key")
        assert word in reply.error["message"]


async def test_a_key_ends_at_its_time(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, lasting = await make(rig, "lasting", expires_at=time.time() + 3600)
        _, secret = await make(rig, expires_at=time.time() + 1)

        async def ended() -> bool:
            return (await rig.get("/v1/models", key=secret)).status == 401

        await until(ended)
        assert "expired" in (await rig.get("/v1/models", key=secret)).error["message"]
        assert (await rig.get("/v1/models", key=lasting)).status == 200


async def test_requests_of_a_minute_are_counted_exactly(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig, requests_per_minute=3)
        replies = await asyncio.gather(*(rig.post(ask(), key=secret) for _ in range(8)))
        assert await asked_upstream(rig) == 3
        again = await rig.get("/v1/models", key=secret)
        rows = await requests(rig, error="rate_limit_exceeded")
    assert sorted(reply.status for reply in replies) == [200] * 3 + [429] * 5
    refused = next(reply for reply in replies if reply.status == 429)
    assert (refused.error["code"], refused.error["type"]) == ("rate_limit_exceeded", "rate_limit_error")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    assert again.status == 200, "reading is not asking"
    assert len(rows) == 5


async def test_requests_of_a_day_are_refused_without_a_short_wait(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig, requests_per_day=1)
        assert (await rig.post(ask(), key=secret)).status == 200
        refused = await rig.post(ask(), key=secret)
    assert (refused.status, refused.error["code"]) == (429, "rate_limit_exceeded")
    assert refused.headers["x-should-retry"] == "false"
    assert "a day" in refused.error["message"]


async def test_two_workers_count_together(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as one, running(tmp_path, order=("api",)) as other:
        _, secret = await make(one, requests_per_minute=4)
        replies = await asyncio.gather(*(rig.post(ask(), key=secret) for rig in (one, other) * 5))
    assert sorted(reply.status for reply in replies) == [200] * 4 + [429] * 6


async def test_a_new_key_opens_every_worker_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as one, running(tmp_path, order=("api",)) as other:
        for number in range(5):
            _, secret = await make(one, f"key {number}")
            assert (await other.get("/v1/models", key=secret)).status == 200


async def test_a_revoked_key_opens_no_worker_for_long(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as one, running(tmp_path, order=("api",)) as other:
        key_id, secret = await make(one)
        assert (await other.get("/v1/models", key=secret)).status == 200
        await revoke(one, key_id)
        assert (await one.get("/v1/models", key=secret)).status == 401

        async def shut() -> bool:
            return (await other.get("/v1/models", key=secret)).status == 401

        await until(shut, seconds=5)


@pytest.mark.parametrize(("limit", "period"), [("cost_per_day", "a day"), ("cost_per_month", "a month")])
async def test_a_spent_budget_refuses_before_anything_is_spent(tmp_path: Path, limit: str, period: str) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, secret = await make(rig, "phone", **{limit: 0.01})
        assert (await paid(rig, secret)).status == 200
        assert (await paid(rig, secret)).status == 200, "0.00503 of 0.01 dollars are spent"
        refused = await rig.post(ask(), key=secret)
        assert await asked_upstream(rig) == 2
        assert (await rig.get("/v1/models", key=secret)).status == 200
        assert (await rig.get("/v1/usage", key=secret)).json["budget"][limit] == 0.01
        await change(rig, key_id, **{limit: 0.0101})
        assert (await rig.post(ask(), key=secret)).status == 200
    assert (refused.status, refused.error["code"], refused.error["type"]) == (
        402,
        "insufficient_quota",
        "insufficient_quota",
    )
    assert refused.headers["x-should-retry"] == "false"
    assert period in refused.error["message"]


async def test_a_budget_is_exact_to_the_last_digit(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, secret = await make(rig, cost_per_day=0.015090000001)
        for _ in range(3):
            assert (await paid(rig, secret)).status == 200
        assert (await change(rig, key_id, cost_per_day=0.01509)).status_code == 200
        assert (await rig.post(ask(), key=secret)).status == 402


async def test_a_budget_is_spent_in_all_workers_and_after_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as one, running(tmp_path, order=("api",)) as other:
        _, secret = await make(one, cost_per_day=0.005)
        assert (await paid(one, secret)).status == 200

        async def refused() -> bool:
            return (await other.post(ask(), key=secret)).status == 402

        await until(refused, seconds=5)
    async with running(tmp_path, order=("api",)) as rig:
        assert (await rig.post(ask(), key=secret)).status == 402


async def test_a_budget_of_nothing_refuses_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig, cost_per_day=0)
        assert (await rig.post(ask(), key=secret)).status == 402
        assert await asked_upstream(rig) == 0


async def test_models_that_a_key_may_not_ask_are_refused_and_not_listed(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        _, secret = await make(rig, models=["gpt", "openai/*"])
        refused = await rig.post(ask("sonnet"), key=secret)
        assert (refused.status, refused.error["code"], refused.error["param"]) == (403, "model_not_allowed", "model")
        assert "gpt, openai/*" in refused.error["message"]
        assert (await rig.post({"model": "opus", "input": "Why?"}, path="/v1/responses", key=secret)).status == 403
        assert await asked_upstream(rig) == len(await rig.requests(ASK_PATH)) == 0
        assert (await rig.post(ask("gpt"), key=secret)).status == 200
        assert (await rig.post(ask("openai/gpt-6-luna"), key=secret)).status == 200
        listed = {model["id"] for model in (await rig.get("/v1/models", key=secret)).json["data"]}
    assert listed == {"gpt"}


async def test_a_request_without_a_model_counts_as_the_default_one(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        _, secret = await make(rig, models=["sonnet"])
        body = {"messages": [{"role": "user", "content": "Why?"}]}
        assert (await rig.post(body, key=secret)).status == 403


async def test_an_upstream_that_a_key_may_not_ask_is_never_reached(tmp_path: Path) -> None:
    async with running(tmp_path, allow_spending=True) as rig:
        _, secret = await make(rig, upstreams=["session"])
        assert (await rig.post(ask("api/sonar"), key=secret)).status == 403
        assert (await rig.post(ask("openai/gpt-6-luna"), key=secret)).status == 403
        assert (await rig.post(ask("sonar"), key=secret)).headers["x-pplx-upstream"] == "session"
        spent = [{"role": "user", "content": "fault:quota_gone why"}]
        assert (await rig.post(ask("sonar", messages=spent), key=secret)).status == 429, "no failover to the api"
        assert await asked_upstream(rig) == 0
        _, other = await make(rig, "desk", upstreams=["api"])
        assert (await rig.post(ask("sonar"), key=other)).headers["x-pplx-upstream"] == "api"


async def test_a_key_for_pages_is_for_pages_alone(tmp_path: Path) -> None:
    origins = ("https://app.example", "https://other.example")
    async with running(tmp_path, order=("api",), cors_origins=origins) as rig:
        _, secret = await make(rig, origins=["https://APP.example/"])

        async def status(**headers: str) -> int:
            return (await rig.post(ask(), key=secret, headers=headers)).status

        assert await status(origin="https://app.example") == 200
        assert await status(origin="https://other.example") == 403
        assert await status() == 403
        assert await asked_upstream(rig) == 1


async def test_a_key_drops_what_others_are_refused_for(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        _, strict = await make(rig, "strict")
        _, lenient = await make(rig, "lenient", unsupported="drop")
        assert (await rig.post(ask("gpt", temperature=0.3), key=strict)).status == 400
        reply = await rig.post(ask("gpt", temperature=0.3), key=lenient)
        assert (reply.status, reply.headers["x-pplx-dropped"]) == (200, "temperature")
        (row,) = await requests(rig, error="unsupported_parameter")
        assert row["caller_name"] == "strict"
        answered = next(row for row in await requests(rig) if row["status"] == 200)
        assert (answered["caller_name"], answered["dropped"]) == ("lenient", ["temperature"])


async def test_what_callers_keep_is_their_own(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, one = await make(rig, "one")
        _, other = await make(rig, "other")
        made = await rig.post({"model": "api/sonar", "input": "Why?"}, path="/v1/responses", key=one)
        path = f"/v1/responses/{made.json['id']}"
        assert (await rig.get(path, key=one)).status == 200
        assert (await rig.get(path, key=other)).status == 404
        assert (await rig.get(path)).status == 404


async def test_keys_work_where_the_owner_has_none(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), api_key=None) as rig:
        reply = await rig.post({"name": "phone"}, path="/admin/caller-keys", key=None)
        secret, key_id = reply.json["secret"], reply.json["key"]["id"]
        assert (await rig.post(ask(), key=secret)).status == 200
        assert (await rig.get("/admin/usage", key=secret)).status == 403
        rows = (await rig.get("/admin/requests", key=None)).json["data"]
        assert [row["caller"] for row in rows] == [key_id]
        assert (await rig.post(ask(), key=new_secret())).status == 401, "a wrong key is not the owner's"


async def test_a_store_that_fails_lets_nobody_over_a_limit(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, limited = await make(rig, "limited", requests_per_minute=5)
        _, free = await make(rig, "free")
        await broken(tmp_path)
        refused = await rig.post(ask(), key=limited)
        assert (refused.status, refused.error["code"]) == (503, "store_unavailable")
        assert (await rig.get("/v1/models", key=free)).status == 200
        assert await asked_upstream(rig) == 0


async def broken(folder: Path) -> None:
    database = await Database.open(folder / "gateway.sqlite")
    await database.write(("drop table caller_counts", ()))
    await database.close()
