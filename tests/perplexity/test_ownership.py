"""Whose is what is kept upstream: two callers share one key of the owner's, and neither meets the other's things."""

import sqlite3
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.store import Database, Ownership
from pplx_gateway.store.ownership import Thing
from tests.emulator_api.making import jsonl, line, skill
from tests.keys.files import write
from tests.perplexity.calling import Caller, native_error, openai_error, running_caller
from tests.rig import KEY

FILES = "/perplexity/v1/files"
BATCHES = "/perplexity/v1/batches"
LINES = jsonl(line("a"))


@pytest.fixture
async def ownership(tmp_path: Path) -> AsyncGenerator[Ownership, None]:
    database = await Database.open(tmp_path / "s.sqlite")
    yield Ownership(database, Clock())
    await database.close()


def thing(name: str, caller: str = "anna", purpose: str = "") -> Thing:
    return Thing("file", name, f"up-{name}", "key", caller, purpose)


async def test_a_thing_is_found_by_whoever_made_it(ownership: Ownership) -> None:
    await ownership.add([thing("a")])
    assert await ownership.find("file", "a", "anna") == thing("a")
    assert await ownership.find("file", "a", "bert") is None
    assert await ownership.find("batch", "a", "anna") is None


async def test_what_is_known_stays_whose_it_is(ownership: Ownership) -> None:
    assert await ownership.add([thing("a")]) == [thing("a")]
    assert await ownership.add([thing("a", "bert"), thing("b", "bert")]) == [thing("b", "bert")]
    assert await ownership.add([]) == []
    assert await ownership.find("file", "a", "bert") is None
    assert await ownership.find("file", "a", "anna") == thing("a")
    assert await ownership.find("file", "b", "bert") == thing("b", "bert")


@pytest.mark.parametrize(("order", "first", "second"), [("desc", "ed", "cb"), ("asc", "ab", "cd")])
async def test_pages_hold_a_callers_own_in_order(ownership: Ownership, order: Any, first: str, second: str) -> None:
    await ownership.add([thing(name) for name in "abcde"])
    await ownership.add([thing("x", "bert")])
    page = await ownership.page("file", "anna", limit=2, order=order)
    assert page is not None
    assert ["".join(each.id for each in page.things), page.has_more] == [first, True]
    page = await ownership.page("file", "anna", limit=2, order=order, after=first[-1])
    assert page is not None
    assert ["".join(each.id for each in page.things), page.has_more] == [second, True]
    page = await ownership.page("file", "anna", limit=2, order=order, after=second[-1])
    assert page is not None
    assert [len(page.things), page.has_more] == [1, False]


async def test_a_page_after_what_is_not_there_is_none(ownership: Ownership) -> None:
    await ownership.add([thing("a"), thing("b", "bert")])
    assert await ownership.page("file", "anna", limit=2, after="b") is None
    assert await ownership.page("file", "anna", limit=2, after="none") is None


async def test_pages_by_purpose_and_what_was_forgotten(ownership: Ownership) -> None:
    await ownership.add([thing("a", purpose="batch"), thing("b", purpose="batch_output")])
    page = await ownership.page("file", "anna", limit=2, purpose="batch")
    assert page is not None
    assert [each.id for each in page.things] == ["a"]
    await ownership.forget([thing("a")])
    assert await ownership.find("file", "a", "anna") is None
    assert await ownership.find("file", "b", "anna") is not None


async def upload(caller: Caller, key: str) -> str:
    reply = await caller.upload(FILES, LINES, key=key)
    assert reply.status_code == 200, reply.text
    file_id: str = reply.json()["id"]
    return file_id


async def ids(caller: Caller, path: str, key: str, name: str = "id") -> list[str]:
    reply = await caller.get(path, key=key)
    assert reply.status_code == 200, reply.text
    body = reply.json()
    return [each[name] for each in body.get("data", body.get("skills"))]


async def test_files_and_batches_are_their_callers_alone(caller: Caller) -> None:
    other = await caller.new_key("other")
    mine, others = await upload(caller, KEY), await upload(caller, other)
    assert await ids(caller, FILES, KEY) == [mine]
    assert await ids(caller, FILES, other) == [others]
    for method, path in (("GET", mine), ("GET", f"{mine}/content"), ("DELETE", mine)):
        native_error(await caller.send(method, f"{FILES}/{path}", key=other), 404)
        openai_error(await caller.send(method, f"/v1/files/{path}", key=other), 404)
    asked = {"endpoint": "/v1/responses", "input_file_id": mine}
    assert native_error(await caller.post(BATCHES, asked, key=other), 400)["param"] == "input_file_id"
    batch = (await caller.post(BATCHES, asked)).json()["id"]
    assert await ids(caller, BATCHES, other) == []
    assert await ids(caller, "/v1/batches", other) == []
    native_error(await caller.get(f"{BATCHES}/{batch}", key=other), 404)
    native_error(await caller.send("POST", f"{BATCHES}/{batch}/cancel", key=other), 404)
    await caller.emulated(f"/_emulator/batches?id={batch}&status=completed&timeout=10")
    output = (await caller.get(f"{BATCHES}/{batch}")).json()["output_file_id"]
    native_error(await caller.get(f"{FILES}/{output}/content", key=other), 404)
    assert (await caller.get(f"{FILES}/{output}/content")).content


async def test_what_a_batch_wrote_is_listed_without_asking_for_the_batch(caller: Caller) -> None:
    mine = await upload(caller, KEY)
    started = await caller.post(BATCHES, {"endpoint": "/v1/responses", "input_file_id": mine})
    batch = started.json()["id"]
    await caller.emulated(f"/_emulator/batches?id={batch}&status=completed&timeout=10")
    (written,) = await ids(caller, f"{FILES}?purpose=batch_output", KEY)
    assert sorted(await ids(caller, FILES, KEY)) == sorted([mine, written])
    assert await ids(caller, f"{FILES}?purpose=batch", KEY) == [mine]


async def test_what_a_batch_has_used_stands_in_the_ledger_once(caller: Caller) -> None:
    key = await caller.new_key("other")
    file_id = await upload(caller, key)
    batch = (await caller.post(BATCHES, {"endpoint": "/v1/responses", "input_file_id": file_id}, key=key)).json()["id"]
    await caller.emulated(f"/_emulator/batches?id={batch}&status=completed&timeout=10")
    for path in (f"{BATCHES}/{batch}", BATCHES, "/v1/batches", FILES):
        used = (await caller.get(path, key=key)).json()
    used = (await caller.get(f"{BATCHES}/{batch}", key=key)).json()["usage"]
    rows = (await caller.get("/admin/requests")).json()["data"]
    (row,) = [row for row in rows if row["operation"] == "batches" and row["input_tokens"]]
    assert (row["input_tokens"], row["output_tokens"]) == (used["input_tokens"], used["output_tokens"])
    assert (row["cost"], row["cost_source"], row["key"]) == (None, "unknown", "default")
    assert row["caller"].startswith("key_")


async def test_skills_and_browser_sessions_are_their_callers_alone(caller: Caller) -> None:
    other = await caller.new_key("other")
    made = await caller.send("POST", "/perplexity/v1/skills", files={"file": ("s.zip", skill())})
    one = f"/perplexity/v1/skills/{made.json()['skill_id']}"
    assert await ids(caller, "/perplexity/v1/skills", other, "skill_id") == []
    revision = made.json()["revision"]
    for method, path in (("GET", one), ("GET", f"{one}/download"), ("GET", f"{one}/revisions")):
        native_error(await caller.send(method, path, key=other), 404)
    native_error(await caller.send("DELETE", f"{one}?expected_revision={revision}", key=other), 404)
    session = (await caller.post("/perplexity/v1/browser/sessions", {})).json()["session_id"]
    native_error(await caller.send("DELETE", f"/perplexity/v1/browser/sessions/{session}", key=other), 404)
    ended = await caller.send("DELETE", f"/perplexity/v1/browser/sessions/{session}")
    assert ended.status_code == 204


async def test_one_word_of_two_callers_starts_two_batches(caller: Caller) -> None:
    other = await caller.new_key("other")
    batches = set()
    for key in (KEY, other):
        asked = {"endpoint": "/v1/responses", "input_file_id": await upload(caller, key)}
        for _ in range(2):
            reply = await caller.post(BATCHES, asked, key=key, headers={"idempotency-key": "same"})
            assert reply.status_code == 200, reply.text
            batches.add(reply.json()["id"])
    assert len(batches) == 2
    sent = [request["headers"]["idempotency-key"] for request in await caller.rig.requests("/v1/batches")]
    assert (sent[0], len(set(sent))) == ("same", 2)


async def test_a_key_with_limits_needs_leave_for_batches(caller: Caller) -> None:
    narrow = await caller.new_key("narrow", models=["sonar"])
    native_error(await caller.upload(FILES, LINES, key=narrow), 403)
    bounded = await caller.new_key("bounded", cost_per_day=1)
    file_id = await upload(caller, bounded)
    error = native_error(
        await caller.post(BATCHES, {"endpoint": "/v1/responses", "input_file_id": file_id}, key=bounded), 403
    )
    assert "budget" in error["message"]
    some = await caller.new_key("some", models=["sonar", "files", "batches"])
    asked = {"endpoint": "/v1/responses", "input_file_id": await upload(caller, some)}
    assert "any model" in native_error(await caller.post(BATCHES, asked, key=some), 403)["message"]
    assert await caller.rig.requests("/v1/batches") == []


async def test_lists_go_page_by_page_and_end(caller: Caller) -> None:
    made = [await upload(caller, KEY) for _ in range(5)]
    found, after = [], ""
    while True:
        page = (await caller.get(f"{FILES}?limit=2&order=asc{after}")).json()
        found += [each["id"] for each in page["data"]]
        assert (page["first_id"], page["last_id"]) == (page["data"][0]["id"], page["data"][-1]["id"])
        if not page["has_more"]:
            break
        after = f"&after={page['last_id']}"
    assert found == made


async def test_each_thing_is_looked_for_with_the_key_that_made_it(tmp_path: Path) -> None:
    write(tmp_path, {"name": "one", "value": "pplx-one-SECRET-KEY"}, {"name": "two", "value": "pplx-two-SECRET-KEY"})
    async with running_caller(tmp_path, perplexity_api_key=None) as caller:
        made = []
        for name in ("one", "two"):
            reply = await caller.upload(FILES, LINES, headers={"x-pplx-key-name": name})
            made.append(reply.json()["id"])
        assert await ids(caller, FILES, KEY) == made[::-1]
        for file_id in made:
            assert (await caller.get(f"{FILES}/{file_id}")).json()["id"] == file_id
        batch = await caller.post(BATCHES, {"endpoint": "/v1/responses", "input_file_id": made[1]})
        assert batch.status_code == 200
        (started,) = await caller.rig.requests("/v1/batches")
        assert started["headers"]["authorization"] == "Bearer pplx-two-SECRET-KEY"
        wrong = {"x-pplx-key-name": "two"}
        asked = {"endpoint": "/v1/responses", "input_file_id": made[0]}
        error = native_error(await caller.post(BATCHES, asked, headers=wrong), 400)
        assert error["param"] == "x-pplx-key-name"
        gone = await caller.send("DELETE", "/admin/keys/one")
        assert gone.status_code == 200, gone.text
        listed = await caller.get(FILES)
        assert [each["id"] for each in listed.json()["data"]] == [made[1]]
        assert "'one'" in listed.headers["x-pplx-warnings"]
        native_error(await caller.get(f"{FILES}/{made[0]}"), 502)


async def test_what_is_gone_upstream_is_forgotten(caller: Caller) -> None:
    kept, gone = await upload(caller, KEY), await upload(caller, KEY)
    direct = {"authorization": "Bearer pplx-SECRET-KEY"}
    removed = await caller.rig.client.delete(f"{caller.rig.emulator_url}/v1/files/{gone}", headers=direct)
    assert removed.status_code == 200
    assert await ids(caller, FILES, KEY) == [kept]
    native_error(await caller.get(f"{FILES}/{gone}"), 404)


async def test_what_was_made_elsewhere_with_the_key_is_nobodys(caller: Caller) -> None:
    direct = {"authorization": "Bearer pplx-SECRET-KEY"}
    made = await caller.rig.client.post(
        f"{caller.rig.emulator_url}/v1/files", headers=direct, files={"file": ("a", LINES)}, data={"purpose": "batch"}
    )
    native_error(await caller.get(f"{FILES}/{made.json()['id']}"), 404)
    assert await ids(caller, FILES, KEY) == []


@pytest.mark.parametrize(
    ("path", "undone"),
    [
        (FILES, "/v1/files/*"),
        ("/v1/files", "/v1/files/*"),
        ("/perplexity/v1/browser/sessions", "/v1/browser/sessions/*"),
    ],
)
async def test_what_cannot_be_noted_does_not_stay_upstream(tmp_path: Path, path: str, undone: str) -> None:
    async with running_caller(tmp_path) as caller:
        with sqlite3.connect(tmp_path / "gateway.sqlite") as broken:
            broken.execute("drop table owned")
        made = await (caller.post(path, {}) if "browser" in path else caller.upload(path, LINES))
        assert made.status_code == 503
        error = made.json()["error"]
        assert "store_unavailable" in (error["type"], error["code"])
        (removed,) = await caller.rig.requests(undone)
        assert (removed["method"], removed["status"]) == ("DELETE", 200 if "files" in path else 204)


async def test_a_batch_that_cannot_be_noted_is_stopped(tmp_path: Path) -> None:
    async with running_caller(tmp_path) as caller:
        file_id = await upload(caller, KEY)
        with sqlite3.connect(tmp_path / "gateway.sqlite") as broken:
            broken.execute("create trigger full before insert on owned begin select raise(abort, 'full'); end")
        native_error(await caller.post(BATCHES, {"endpoint": "/v1/responses", "input_file_id": file_id}), 503)
        (stopped,) = await caller.rig.requests("/v1/batches/*")
        assert stopped["path"].endswith("/cancel")


async def test_ownership_outlives_the_program(tmp_path: Path) -> None:
    async with running_caller(tmp_path) as caller:
        file_id = await upload(caller, KEY)
    database = await Database.open(tmp_path / "gateway.sqlite")
    found = await Ownership(database, Clock()).find("file", file_id, "owner")
    await database.close()
    assert found is not None
    assert (found.upstream_id, found.key_name, found.purpose) == (file_id, "default", "batch")
