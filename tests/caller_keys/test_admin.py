"""Keys made, shown, changed and revoked by the owner."""

import json
import time
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tests.caller_keys.calling import PATH, ask, change, make, revoke
from tests.life.waiting import until
from tests.rig import KEY, Rig, running


async def listed(rig: Rig) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await rig.get(PATH)).json["keys"]
    return found


async def test_a_key_is_made_and_its_secret_shown_once(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.post({"name": "phone"}, path=PATH)
        assert (reply.status, reply.json["status"], reply.headers["cache-control"]) == (201, "ok", "no-store")
        made, secret = reply.json["key"], reply.json["secret"]
        assert (await rig.post(ask(), key=secret)).status == 200
        one = (await rig.get(f"{PATH}/{made['id']}")).json
        text = json.dumps([await listed(rig), one])
        log = rig.log.getvalue()
    assert secret.startswith("pplxgw-")
    assert (made["name"], made["status"], made["hint"]) == ("phone", "active", secret[-4:])
    assert (made["models"], made["upstreams"], made["origins"], made["cost_per_day"]) == ([], [], [], None)
    assert secret not in text
    assert secret not in log
    assert secret.encode() not in store(tmp_path)


def store(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.glob("gateway.sqlite*"))


async def test_limits_come_back_as_they_were_given(tmp_path: Path) -> None:
    limits: dict[str, Any] = {
        "requests_per_minute": 60,
        "requests_per_day": 1000,
        "cost_per_day": 0.1,
        "cost_per_month": 2.5,
        "models": ["sonar*", "gpt"],
        "upstreams": ["api"],
        "origins": ["https://app.example"],
        "unsupported": "drop",
        "expires_at": "2099-01-31T12:00:00Z",
    }
    async with running(tmp_path, order=("api",)) as rig:
        key_id, _ = await make(rig, **limits)
        reply = await rig.client.get(f"{rig.url}{PATH}/{key_id}", headers={"authorization": f"Bearer {KEY}"})
    shown = json.loads(reply.text, parse_float=Decimal)["key"]
    at = int(datetime(2099, 1, 31, 12, tzinfo=UTC).timestamp())
    wanted = {**limits, "expires_at": at, "cost_per_day": Decimal("0.1"), "cost_per_month": Decimal("2.5")}
    assert {name: shown[name] for name in limits} == wanted


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "name"),
        ({"name": ""}, "name"),
        ({"name": " phone"}, "name"),
        ({"name": "x" * 65}, "name"),
        ({"name": "a", "requests_per_minute": 0}, "requests_per_minute"),
        ({"name": "a", "requests_per_day": 1.5}, "requests_per_day"),
        ({"name": "a", "cost_per_day": -1}, "cost_per_day"),
        ({"name": "a", "cost_per_month": "NaN"}, "cost_per_month"),
        ({"name": "a", "cost_per_month": 1e300}, "cost_per_month"),
        ({"name": "a", "models": "sonar"}, "models"),
        ({"name": "a", "models": [""]}, "models[0]"),
        ({"name": "a", "upstreams": ["web"]}, "upstreams[0]"),
        ({"name": "a", "origins": ["app.example"]}, "origins[0]"),
        ({"name": "a", "origins": ["https://app.example/page"]}, "origins[0]"),
        ({"name": "a", "unsupported": "ignore"}, "unsupported"),
        ({"name": "a", "use": "path"}, "use"),
        ({"name": "a", "use": None}, "use"),
        ({"name": "a", "expires_at": "soon"}, "expires_at"),
        ({"name": "a", "expires_at": 1_000_000}, "expires_at"),
        ({"name": "a", "expires_at": 1e300}, "expires_at"),
        ({"name": "a", "secret": "mine"}, "secret"),
        ({"name": "Owner"}, "name"),
        ({"name": "open"}, "name"),
    ],
)
async def test_a_wrong_field_is_refused_by_name(tmp_path: Path, body: dict[str, Any], param: str | None) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.post(body, path=PATH)
        assert (reply.status, reply.error["param"]) == (400, param), reply.json
        assert await listed(rig) == []


async def test_where_a_key_is_presented_is_settled_when_it_is_made(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        first, _ = await make(rig, "phone")
        second, _ = await make(rig, "editor", use="mcp-path")
        changed = await change(rig, second, use="header")
        assert (changed.status_code, changed.json()["error"]["param"]) == (400, "use")
        assert [(key["id"], key["use"]) for key in await listed(rig)] == [(first, "header"), (second, "mcp-path")]
        assert (await change(rig, second, requests_per_day=3)).json()["key"]["use"] == "mcp-path"
    async with running(tmp_path, order=("api",)) as rig:
        assert [key["use"] for key in await listed(rig)] == ["header", "mcp-path"], "over a restart too"


async def test_names_differ_until_one_is_revoked(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        first, _ = await make(rig, "phone")
        reply = await rig.post({"name": "phone"}, path=PATH)
        assert (reply.status, reply.error["param"]) == (400, "name")
        other, _ = await make(rig, "desk")
        assert (await change(rig, other, name="phone")).status_code == 400
        assert (await change(rig, other, name="owner")).json()["error"]["param"] == "name"
        assert (await revoke(rig, first)).json()["key"]["status"] == "revoked"
        again, _ = await make(rig, "phone")
        assert [(key["id"], key["status"]) for key in await listed(rig)] == [
            (first, "revoked"),
            (other, "active"),
            (again, "active"),
        ]


async def test_a_change_leaves_the_rest_and_null_takes_a_limit_away(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, secret = await make(
            rig, requests_per_day=5, models=["gpt"], cost_per_day=1, expires_at=time.time() + 60
        )
        assert (await rig.post(ask(), key=secret)).status == 403
        changed = await change(rig, key_id, models=None, cost_per_day=None, name="tablet", expires_at=None)
        assert changed.status_code == 200
        key = changed.json()["key"]
        assert (key["name"], key["models"], key["cost_per_day"], key["requests_per_day"], key["expires_at"]) == (
            "tablet",
            [],
            None,
            5,
            None,
        )
        assert (await rig.post(ask(), key=secret)).status == 200


@pytest.mark.parametrize(
    ("changes", "status"), [({}, 400), ({"models": "x"}, 400), ({"hint": "x"}, 400), ({"name": None}, 400)]
)
async def test_a_change_that_is_none_is_refused(tmp_path: Path, changes: dict[str, Any], status: int) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, _ = await make(rig)
        assert (await change(rig, key_id, **changes)).status_code == status


async def test_what_is_not_there_cannot_be_changed(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        key_id, _ = await make(rig)
        await revoke(rig, key_id)
        assert (await change(rig, "key_none", name="x")).status_code == 404
        assert (await change(rig, key_id, name="x")).status_code == 404
        assert (await revoke(rig, "key_none")).status_code == 404
        assert (await revoke(rig, key_id)).status_code == 200
        assert (await rig.get(f"{PATH}/key_none")).status == 404


async def test_only_the_owner_rules(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig)
        for path in (PATH, "/admin/usage", "/admin/requests", "/admin/keys", "/admin/files"):
            reply = await rig.get(path, key=secret)
            assert (reply.status, reply.error["code"]) == (403, "forbidden"), path
        assert (await rig.post({"name": "x"}, path=PATH, key=secret)).status == 403
        assert set((await rig.get("/health", key=secret)).json) == {"status", "service", "version"}


async def test_keys_outlive_a_restart_and_are_shown_when_last_used(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        _, secret = await make(rig)
    async with running(tmp_path, order=("api",), factor=100.0) as rig:
        assert (await rig.get("/v1/models", key=secret)).status == 200

        async def used() -> bool:
            return (await listed(rig))[0]["last_used_at"] is not None

        await until(used)
        (key,) = await listed(rig)
        assert abs(key["last_used_at"] - time.time()) < 60


async def test_what_is_told_fits_the_description(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        described = (await rig.get("/openapi.json")).json
        made = (await rig.post({"name": "phone", "cost_per_day": 0.1}, path=PATH)).json
        await rig.post(ask(), key=made["secret"])
        told = {
            "MadeCallerKey": made,
            "ShownCallerKeys": (await rig.get(PATH)).json,
            "UsageReport": (await rig.get("/admin/usage?group_by=day,caller")).json,
            "RequestList": (await rig.get("/admin/requests")).json,
            "OwnUsage": (await rig.get("/v1/usage", key=made["secret"])).json,
        }
    for name, document in told.items():
        schema = {**described, **described["components"]["schemas"][name]}
        jsonschema_rs.Draft202012Validator(schema).validate(document)
