"""What is created, found again, built upon, listed and deleted."""

import asyncio
import contextlib
import json
import sqlite3
from pathlib import Path

import pytest

from tests.responses.calling import ASK, RESPONSES, calling, error, script_run, told
from tests.responses.conftest import Both
from tests.rig import AGENT, ASK_PATH, bearer

MODELS = ["api/sonar", "session/sonar"]


@pytest.mark.parametrize("model", MODELS)
async def test_a_response_is_found_again_as_it_was_sent(both: Both, model: str) -> None:
    _, caller = both
    reply = await caller.post({**ASK, "model": model})
    assert reply.json()["status"] == "completed"
    assert reply.headers["x-pplx-upstream"] == model.split("/", maxsplit=1)[0]
    again = await caller.get(reply.json()["id"], **{"include[]": "message.output_text.logprobs"})
    assert again.content == reply.content


@pytest.mark.parametrize("model", MODELS)
async def test_a_stream_ends_with_the_response_that_is_kept(both: Both, model: str) -> None:
    _, caller = both
    stream = await caller.stream(model=model)
    assert stream.types[:2] == ["response.created", "response.in_progress"]
    assert stream.response["status"] == "completed"
    assert (await caller.get(stream.response["id"])).json() == stream.response
    assert stream.response["output"][-1]["content"][0]["text"] == stream.text


async def test_a_chain_brings_everything_that_was_said(both: Both) -> None:
    rig, caller = both
    first = await caller.create(instructions="Answer briefly.")
    second = await caller.create(input="And which of them is longer?", previous_response_id=first["id"])
    third = await caller.create(input="Why?", previous_response_id=second["id"])
    assert third["previous_response_id"] == second["id"]
    sent = (await rig.requests(AGENT))[-1]["json"]["input"]
    texts = [json.dumps(item["content"], ensure_ascii=False) for item in sent]
    said = [ASK["input"], text_of(first), "And which of them is longer?", text_of(second), "Why?"]
    assert len(texts) == len(said)
    assert all(json.dumps(one, ensure_ascii=False)[1:-1] in text for one, text in zip(said, texts, strict=True))
    assert "Answer briefly." not in str((await rig.requests(AGENT))[-1]["json"])


async def test_what_cannot_be_built_upon_is_one_clear_error(both: Both) -> None:
    rig, caller = both
    kept = await caller.create()
    gone = await caller.create()
    await caller.delete(gone["id"])
    child = await caller.create(input="More", previous_response_id=kept["id"])
    await caller.delete(kept["id"])
    await script_run(rig, shown=6)
    running = await caller.create(background=True)
    messages = set()
    unknown = ["resp_unknown", "../x", "x" * 10_000, "' or 1=1 --", gone["id"], kept["id"], child["id"], running["id"]]
    for parent in unknown:
        reply = await caller.post({**ASK, "previous_response_id": parent})
        assert reply.status_code == 400
        assert error(reply)["code"] == "previous_response_not_found"
        assert error(reply)["param"] == "previous_response_id"
        messages.add(error(reply)["message"].replace(parent[:80], "ID"))
    assert len(messages) == 3, "never there and not any more are the same; a gap and one under way are told"
    await caller.cancel(running["id"])
    reply = await caller.post({**ASK, "previous_response_id": running["id"]})
    assert "cancelled" in error(reply)["message"]


async def test_nothing_of_an_unkept_response_is_found_or_lies_on_the_disk(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        parent = await caller.create()
        secret = "a question about the river Zwalm and its seven mills"
        for body in ({"stream": True}, {}):
            if body:
                response = (await caller.stream(store=False, input=secret, previous_response_id=parent["id"])).response
            else:
                response = await caller.create(store=False, input=secret, previous_response_id=parent["id"])
            assert response["store"] is False
            for path in (response["id"], f"{response['id']}/input_items"):
                assert (await caller.get(path)).status_code == 404
            assert (await caller.delete(response["id"])).status_code == 404
            assert (await caller.post({**ASK, "previous_response_id": response["id"]})).status_code == 400
        assert not lies_in(tmp_path, secret)
        await caller.create(input=secret)
        assert lies_in(tmp_path, secret), "the look itself must be able to find something"


async def test_what_is_deleted_is_gone_from_the_disk_too(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        secret = "a question about the river Zwalm and its seven mills"
        response = await caller.create(input=secret)
        reply = await caller.delete(response["id"])
        assert reply.json() == {"id": response["id"], "object": "response", "deleted": True}
        assert not lies_in(tmp_path, secret)
        assert not lies_in(tmp_path, response["id"])
        assert (await caller.delete(response["id"])).status_code == 404
        assert (await caller.get(f"{response['id']}/input_items")).status_code == 404


def rows(folder: Path, table: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(folder / "gateway.sqlite")) as store:
        return store.execute(f"select * from {table}").fetchall()  # noqa: S608 - a table of ours


def lies_in(folder: Path, text: str) -> bool:
    return any(text.encode() in file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_input_items_are_paged_in_either_order(both: Both) -> None:
    _, caller = both
    said = [{"role": "user", "content": f"Part {n} of the question"} for n in range(5)]
    response = await caller.create(input=said)
    whole = (await caller.get(f"{response['id']}/input_items")).json()
    assert [item["content"][0]["text"] for item in whole["data"]] == [s["content"] for s in reversed(said)]
    assert (whole["object"], whole["has_more"]) == ("list", False)
    assert (whole["first_id"], whole["last_id"]) == (whole["data"][0]["id"], whole["data"][-1]["id"])
    for order in ("asc", "desc"):
        seen: list[str] = []
        after: dict[str, str] = {}
        for _ in range(5):
            page = (await caller.get(f"{response['id']}/input_items", order=order, limit="2", **after)).json()
            seen += [item["id"] for item in page["data"]]
            after = {"after": page["last_id"]}
            if not page["has_more"]:
                break
        ids = [item["id"] for item in whole["data"]]
        assert seen == (ids if order == "desc" else ids[::-1])


async def test_an_id_sent_twice_does_not_lead_a_pager_in_circles(both: Both) -> None:
    _, caller = both
    said = [{"role": "user", "id": "msg_same", "content": f"Part {n} of the question"} for n in range(4)]
    response = await caller.create(input=said)
    for order in ("asc", "desc"):
        after: dict[str, str] = {}
        for _ in range(6):
            page = (await caller.get(f"{response['id']}/input_items", order=order, limit="1", **after)).json()
            if not page["has_more"]:
                break
            after = {"after": page["last_id"]}
        assert not page["has_more"]


@pytest.mark.parametrize(
    ("path", "params", "param"),
    [
        ("", {"include": "everything"}, "include"),
        ("", {"include[]": "everything"}, "include"),
        ("", {"stream": "maybe"}, "stream"),
        ("", {"stream": "true"}, "stream"),
        ("", {"starting_after": "1"}, "starting_after"),
        ("/input_items", {"limit": "0"}, "limit"),
        ("/input_items", {"limit": "101"}, "limit"),
        ("/input_items", {"limit": "\u0662"}, "limit"),
        ("/input_items", {"order": "up"}, "order"),
        ("/input_items", {"after": "msg_nowhere"}, "after"),
        ("/input_items", {"include": "everything"}, "include"),
    ],
)
async def test_wrong_parameters_are_named(both: Both, path: str, params: dict[str, str], param: str) -> None:
    _, caller = both
    response = await caller.create()
    reply = await caller.get(f"{response['id']}{path}", **params)
    assert reply.status_code == 400
    assert error(reply)["param"] == param


async def test_an_item_of_an_earlier_response_can_be_referred_to(both: Both) -> None:
    rig, caller = both
    first = await caller.create(input="What is the river Zwalm?")
    (item,) = (await caller.get(f"{first['id']}/input_items")).json()["data"]
    asked = [{"type": "item_reference", "id": item["id"]}, {"role": "user", "content": "Say more."}]
    await caller.create(input=asked)
    assert "the river Zwalm" in str((await rig.requests(AGENT))[-1]["json"]["input"])
    reply = await caller.post({**ASK, "input": [{"type": "item_reference", "id": "msg_nowhere"}]})
    assert reply.status_code == 400
    assert error(reply)["param"].startswith("input")


async def test_an_error_before_anything_was_said_is_an_http_answer_and_leaves_nothing(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        for stream in (False, True):
            reply = await caller.post({**ASK, "input": "fault:upstream_402 Why the river Zwalm?", "stream": stream})
            assert reply.status_code == 402
            assert reply.headers["content-type"] == "application/json"
        assert rows(tmp_path, "responses") == rows(tmp_path, "response_items") == []


@pytest.mark.parametrize("keyed", [False, True])
async def test_a_stream_that_breaks_ends_as_failed_and_is_kept_so(both: Both, keyed: bool) -> None:
    _, caller = both
    stream = await caller.stream(
        {"idempotency-key": "k"} if keyed else None, input="fault:midstream_error Which rivers?"
    )
    assert stream.types[-1] == "response.failed"
    assert stream.response["error"]["code"] == "server_error"
    assert (await caller.get(stream.response["id"])).json() == stream.response


async def test_other_keys_and_no_key_get_nothing(both: Both) -> None:
    rig, caller = both
    response = await caller.create()
    reply = await rig.client.get(f"{rig.url}{RESPONSES}/{response['id']}", headers=bearer("another-key"))
    assert reply.status_code == 401


async def test_an_answer_that_cannot_be_kept_in_the_end_does_not_look_like_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pplx_gateway.store.database.BUSY_TIMEOUT_SECONDS", 0.05)
    async with calling(tmp_path) as (_, caller):
        async with caller.open(input="slow: Which two rivers meet in Ghent?") as events:
            created = await anext(events)
            with contextlib.closing(sqlite3.connect(tmp_path / "gateway.sqlite", isolation_level=None)) as other:
                other.execute("begin immediate")
                rest = [event async for event in events]
        assert created
        last = told([created, *rest]).events[-1]
        assert (last["type"], last["code"]) == ("error", "store_unavailable")
        whole = await caller.ended(created["response"]["id"])
        assert whole["status"] == "failed"


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_caller_who_leaves_ends_the_run_and_the_response_is_cancelled(both: Both, streamed: bool) -> None:
    rig, caller = both
    await script_run(rig, shown=7)
    if streamed:
        async with caller.open() as events:
            created = await anext(events)
            assert created
            while (event := await anext(events)) and "delta" not in event:
                continue
        found = await caller.ended(created["response"]["id"])
        assert (found["status"], found["usage"]) == ("cancelled", None)
    else:
        asking = asyncio.create_task(caller.create())
        await rig.wait(AGENT)
        await asyncio.sleep(0.3)  # nothing can be seen from outside of what the gateway has read
        asking.cancel()
    await rig.wait(AGENT, closed=True)
    await rig.wait(f"{AGENT}/resp_t1/cancel", ended=True)


async def test_a_gateway_that_keeps_nothing_says_so(tmp_path: Path) -> None:
    async with calling(tmp_path, store_days=0) as (_, caller):
        reply = await caller.post({**ASK, "store": True})
        assert reply.json()["store"] is False
        assert "store" in reply.headers["x-pplx-dropped"]
        assert "PPLX_STORE_DAYS" in reply.headers["x-pplx-warnings"]
        assert (await caller.get(reply.json()["id"])).status_code == 404
        refused = await caller.post({**ASK, "background": True})
        assert (refused.status_code, error(refused)["param"]) == (400, "background")
        assert not lies_in(tmp_path, "rivers meet")


async def test_the_session_goes_on_with_its_thread(both: Both) -> None:
    rig, caller = both
    first = await caller.create(model="session/sonar", input="Which two rivers meet in Ghent?")
    await caller.create(model="session/sonar", input="Which is longer?", previous_response_id=first["id"])
    asked = [request["json"] for request in await rig.requests(ASK_PATH)]
    assert asked[1]["params"]["last_backend_uuid"]


def text_of(response: dict[str, object]) -> str:
    output = response["output"]
    assert isinstance(output, list)
    text: str = output[-1]["content"][0]["text"]
    return text
