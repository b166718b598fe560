"""Files, batches, skills, browser sessions and files of runs: things that have an id and belong to a key."""

import json

import pytest

from pplx_gateway.errors import Conflict, InvalidRequest, NotFound, RateLimited, UpstreamAuth, UpstreamError
from pplx_gateway.operations import BatchOrder, Native, Owned, Slice
from tests.emulator_api.making import jsonl, line, skill
from tests.operations.rig import Json, Rig, running

NOWHERE = Owned("file-none", "key-1")


def told(native: Native) -> Json:
    return dict(json.loads(native.body))


async def content(rig: Rig, file: Owned) -> bytes:
    async with rig.does.files.content(file) as stream:
        return b"".join([data async for data in stream])


async def test_a_file_is_kept_listed_read_and_deleted(rig: Rig) -> None:
    files = rig.does.files
    data = b"\xff\x00--edge\r\n" + jsonl(line("a"))
    made = await files.upload(data, 'odd "name".jsonl')
    assert made.id == told(made)["id"]
    assert told(made)["bytes"] == len(data)
    assert told(await files.file(made.owned))["purpose"] == "batch"
    assert await content(rig, made.owned) == data
    for _ in range(2):
        await files.upload(b"x", "more.jsonl")
    page = told(await files.files(Slice(limit=2, order="asc", purpose="batch"), "key-1"))
    assert (page["data"][0]["id"], page["has_more"]) == (made.id, True)
    rest = told(await files.files(Slice(cursor=page["last_id"], order="asc"), "key-1"))
    assert len(rest["data"]) == 1
    assert told(await files.delete_file(made.owned))["deleted"]
    with pytest.raises(NotFound):
        await files.file(made.owned)


async def test_what_is_nowhere_is_not_found(rig: Rig) -> None:
    does = rig.does
    with pytest.raises(NotFound):
        await does.files.delete_file(NOWHERE)
    with pytest.raises(NotFound):
        await content(rig, NOWHERE)
    with pytest.raises(NotFound):
        await does.batches.batch(Owned("../files", "key-1"))
    with pytest.raises(NotFound):
        await does.files.file(Owned("..", "key-1"))
    with pytest.raises(NotFound):
        await does.browser.end(NOWHERE)
    with pytest.raises(NotFound):
        await does.run_files.files_of(Owned("resp_" + "0" * 8 + "-0000-0000-0000-" + "0" * 12, "key-1"))
    with pytest.raises(InvalidRequest):
        await does.files.upload(b"", "empty.jsonl")


async def test_things_go_out_with_the_key_that_made_them() -> None:
    async with running("pplx-one", "pplx-two") as rig:
        made = [await rig.does.files.upload(b"x", "a.jsonl") for _ in range(4)]
        assert {each.receipt.key_name for each in made} == {"key-1", "key-2"}
        for each in made:
            assert told(await rig.does.files.file(each.owned))["id"] == each.id
        with pytest.raises(UpstreamAuth):
            await rig.does.files.file(Owned(made[0].id, "key-3"))


async def test_a_batch_runs_and_can_be_read(rig: Rig) -> None:
    batches = rig.does.batches
    file = await rig.does.files.upload(jsonl(line("a"), line("b", verbosity=1)), "in.jsonl")
    order = BatchOrder(file=file.owned, metadata={"for": "test"}, once="word")
    batch = await batches.start(order)
    assert (await batches.start(order)).id == batch.id
    await rig.wait_for_batch(batch.id, "completed")
    done = told(await batches.batch(batch.owned))
    assert done["request_counts"] == {"total": 2, "completed": 1, "failed": 1}
    assert json.loads(await content(rig, Owned(done["output_file_id"], "key-1")))["custom_id"] == "a"
    assert [each["id"] for each in told(await batches.batches(Slice(limit=5), "key-1"))["data"]] == [batch.id]
    with pytest.raises(InvalidRequest, match="cannot be cancelled"):
        await batches.cancel_batch(batch.owned)
    sent = (await rig.requests("/v1/batches"))[0]
    assert sent["headers"]["idempotency-key"] == "word"
    assert sent["json"]["endpoint"] == "/v1/responses"


async def test_bad_metadata_is_refused_here(rig: Rig) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.batches.start(BatchOrder(file=NOWHERE, metadata={"a": "x" * 513}))
    assert refused.value.param == "metadata"


async def test_a_start_that_may_have_worked_is_not_repeated(rig: Rig) -> None:
    await rig.script("/v1/batches", {"steps": [{"abort": True}], "repeat": 3})
    file = await rig.does.files.upload(jsonl(line("a")), "in.jsonl")
    with pytest.raises(UpstreamError):
        await rig.does.batches.start(BatchOrder(file=file.owned))
    assert len(await rig.requests("/v1/batches")) == 1


async def test_reading_is_repeated_whatever_broke_it(rig: Rig) -> None:
    made = await rig.does.files.upload(b"x", "a.jsonl")
    path = f"/v1/files/{made.id}"
    await rig.script(path, {"status": 502, "steps": [{"bytes": "<html>"}]}, {"steps": [{"bytes": "{"}, {"cut": True}]})
    assert told(await rig.does.files.file(made.owned))["id"] == made.id
    assert len(await rig.requests(path)) == 3
    await rig.script(path, {"status": 503, "steps": [], "repeat": 3})
    with pytest.raises(UpstreamError):
        await rig.does.files.file(made.owned)
    assert len(await rig.requests(path)) == 6


async def test_a_throttled_reader_gets_a_hint(rig: Rig) -> None:
    made = await rig.does.files.upload(b"x", "a.jsonl")
    await rig.script(f"/v1/files/{made.id}", {"status": 429, "steps": [], "repeat": 3})
    with pytest.raises(RateLimited) as throttled:
        await rig.does.files.file(made.owned)
    assert throttled.value.retry_after


async def test_skills_are_added_revised_and_removed(rig: Rig) -> None:
    skills = rig.does.skills
    made = await skills.add(skill(), "skill.zip")
    first = told(made)["revision"]
    newer = told(await skills.revise(made.owned, skill("tides"), "skill.zip", first))["revision"]
    with pytest.raises(Conflict):
        await skills.revise(made.owned, skill("again"), "skill.zip", first)
    with pytest.raises(Conflict):
        await skills.remove(made.owned, first)
    assert told(await skills.skill(made.owned))["name"] == "tides"
    assert told(await skills.skill(made.owned, first))["name"] == "tide-tables"
    listed = told(await skills.revisions(made.owned, Slice(limit=1)))
    assert [each["revision"] for each in listed["revisions"]] == [newer]
    older = told(await skills.revisions(made.owned, Slice(limit=1, cursor=listed["next_page_token"])))
    assert [each["revision"] for each in older["revisions"]] == [first]
    at = told(await skills.download(made.owned, first))["download_url"]
    assert await rig.fetch(at) == skill()
    await skills.remove(made.owned, newer)
    assert told(await skills.skills(Slice(), "key-1"))["skills"] == []
    with pytest.raises(NotFound):
        await skills.skill(made.owned)
    with pytest.raises(InvalidRequest, match="SKILL"):
        await skills.add(b"PK\x05\x06" + bytes(18), "empty.zip")


async def test_browser_sessions_are_opened_and_ended(rig: Rig) -> None:
    session = await rig.does.browser.open()
    assert told(session)["status"] == "running"
    await rig.does.browser.end(session.owned)
    with pytest.raises(NotFound):
        await rig.does.browser.end(session.owned)


async def test_files_of_a_run_are_listed_and_read(rig: Rig) -> None:
    body = {"model": "perplexity/sonar", "tools": [{"type": "sandbox"}], "input": "Save the tides as a csv file"}
    run = json.loads(await rig.post("/v1/agent", body, key="pplx-test"))
    (shared,) = told(await rig.does.run_files.files_of(Owned(run["id"], "key-1")))["data"]
    async with rig.does.run_files.content_of(Owned(run["id"], "key-1"), shared["id"]) as stream:
        data = b"".join([part async for part in stream])
    assert len(data) == shared["bytes"]


async def test_no_secret_stands_in_an_error(rig: Rig) -> None:
    await rig.script("/v1/browser/sessions", {"status": 400, "steps": [{"bytes": '{"error":"bad key pplx-test"}'}]})
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.browser.open()
    assert "pplx-test" not in refused.value.message
