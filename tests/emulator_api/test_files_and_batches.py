"""`/v1/files` and `/v1/batches`: uploads, pages of lists, batches that run by themselves, and their ends."""

import json
from collections.abc import Iterator

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import Caller, Json, text_of
from tests.emulator_api.making import form, jsonl, line

ENDLESS = "slow: Which pages tell of bridges?"


@pytest.fixture(scope="module")
def slow() -> Iterator[Caller]:
    """Here a slow answer takes longer than any test."""
    with serving(Clock(50), pace_seconds=0.0, background_seconds=0.0, cancel_seconds=0.0, slow_seconds=1e9) as url:
        yield Caller(url)


def upload(caller: Caller, content: bytes, filename: str = "in.jsonl") -> Json:
    body, headers = form(content, filename, purpose="batch")
    reply = caller.send("POST", "/v1/files", body, headers=headers)
    assert reply.status == 200, reply.body
    return dict(reply.json)


def start(caller: Caller, *lines: Json, content: bytes | None = None, **fields: object) -> Json:
    file = upload(caller, jsonl(*lines) if content is None else content)
    body = {"input_file_id": file["id"], "endpoint": "/v1/responses", "completion_window": "24h", **fields}
    reply = caller.send("POST", "/v1/batches", body)
    assert reply.status == 200, reply.body
    return dict(reply.json)


def until(caller: Caller, batch: Json, status: str) -> Json:
    reply = caller.send("GET", f"/_emulator/batches?id={batch['id']}&status={status}&timeout=10")
    assert reply.status == 200, caller.send("GET", f"/v1/batches/{batch['id']}").body
    return dict(caller.send("GET", f"/v1/batches/{batch['id']}").json)


def contents(caller: Caller, file_id: str) -> list[Json]:
    reply = caller.send("GET", f"/v1/files/{file_id}/content")
    assert reply.headers["content-type"] == "application/octet-stream"
    return [json.loads(text) for text in reply.body.splitlines()]


def test_a_file_is_kept_as_it_came(caller: Caller) -> None:
    file = upload(caller, b"\xff\x00\r\n--seam", "bytes.jsonl")
    assert file.items() >= {"object": "file", "bytes": 10, "filename": "bytes.jsonl", "purpose": "batch"}.items()
    assert file["expires_at"] - file["created_at"] == 30 * 86_400
    assert caller.send("GET", f"/v1/files/{file['id']}").json == file
    assert caller.send("GET", f"/v1/files/{file['id']}/content").body == b"\xff\x00\r\n--seam"
    deleted = caller.send("DELETE", f"/v1/files/{file['id']}").json
    assert deleted == {"id": file["id"], "object": "file", "deleted": True}
    assert caller.send("GET", f"/v1/files/{file['id']}").error["type"] == "not_found"


def test_a_file_is_its_keys_alone(caller: Caller) -> None:
    file, other = upload(caller, b"x"), caller.with_key("pplx-other")
    for method, tail in (("GET", ""), ("GET", "/content"), ("DELETE", "")):
        assert other.send(method, f"/v1/files/{file['id']}{tail}").status == 404
    assert other.send("GET", "/v1/files").json["data"] == []
    assert caller.with_key(None).send("GET", f"/v1/files/{file['id']}").status == 401


def test_lists_come_in_pages(caller: Caller) -> None:
    mine = caller.with_key("pplx-pages")
    ids = [upload(mine, b"x")["id"] for _ in range(3)]
    first = mine.send("GET", "/v1/files?limit=2&order=asc").json
    assert [file["id"] for file in first["data"]] == ids[:2]
    assert (first["first_id"], first["last_id"], first["has_more"]) == (ids[0], ids[1], True)
    last = mine.send("GET", f"/v1/files?limit=2&order=asc&after={ids[1]}").json
    assert ([file["id"] for file in last["data"]], last["has_more"]) == (ids[2:], False)
    assert [file["id"] for file in mine.send("GET", "/v1/files").json["data"]] == ids[::-1]
    assert mine.send("GET", "/v1/files?purpose=batch_output").json["data"] == []
    for query in ("limit=0", "limit=x", "limit=101", "order=up", "purpose=vision", "after=nothing"):
        assert mine.send("GET", f"/v1/files?{query}").status == 400


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (form(b"x"), "purpose"),
        (form(b"x", purpose="assistants"), "purpose"),
        (form(b"x", purpose="batch", expires_after="1"), "expires_after"),
        (form(b"", purpose="batch"), "file"),
        ((b"--edge--", {"content-type": "multipart/form-data; boundary=edge"}), "file"),
        ((b"{}", {}), None),
    ],
)
def test_uploads_are_strict(caller: Caller, body: tuple[bytes, dict[str, str]], param: str | None) -> None:
    error = caller.send("POST", "/v1/files", body[0], headers=body[1]).error
    assert (error["code"], error.get("param")) == (400, param)


def test_a_batch_runs_by_itself(caller: Caller) -> None:
    batch = start(caller, line("a"), line("b", effort="low"), metadata={"for": "test"})
    assert (batch["object"], batch["status"], batch["output_file_id"]) == ("batch", "validating", None)
    done = until(caller, batch, "completed")
    assert done["request_counts"] == {"total": 2, "completed": 2, "failed": 0}
    assert done["metadata"] == {"for": "test"}
    assert done["error_file_id"] is None
    assert done["created_at"] <= done["in_progress_at"] <= done["finalizing_at"] <= done["completed_at"]
    results = contents(caller, done["output_file_id"])
    assert [result["custom_id"] for result in results] == ["a", "b"]
    assert all(result["error"] is None and result["response"]["status_code"] == 200 for result in results)
    bodies = [result["response"]["body"] for result in results]
    assert all("Leie" in text_of(body) for body in bodies)
    assert [result["response"]["request_id"] for result in results] == [body["id"][5:] for body in bodies]
    assert done["usage"]["input_tokens"] == sum(body["usage"]["input_tokens"] for body in bodies)
    assert done["usage"]["total_tokens"] == sum(body["usage"]["total_tokens"] for body in bodies)
    assert caller.send("GET", f"/v1/files/{done['output_file_id']}").json["purpose"] == "batch_output"


def test_bad_lines_go_into_the_file_of_errors(caller: Caller) -> None:
    lines = [line("fine"), line("unknown", verbosity="low"), line("empty", question=""), line("later", stream=True)]
    done = until(caller, start(caller, *lines, line("dead", "fault:upstream_500 hi")), "completed")
    assert done["request_counts"] == {"total": 5, "completed": 1, "failed": 4}
    errors = contents(caller, done["error_file_id"])
    statuses = {error["custom_id"]: error["response"]["status_code"] for error in errors}
    assert statuses == {"unknown": 400, "empty": 400, "later": 400, "dead": 500}
    assert errors[0]["response"]["body"]["error"]["param"] == "verbosity"


@pytest.mark.parametrize(
    ("content", "code", "number"),
    [
        (b"\n\n", "empty_file", None),
        (b"not json\n", "invalid_request", 1),
        (jsonl(line("a"), {**line("b"), "url": "/v1/chat/completions"}), "invalid_request", 2),
        (jsonl(line("a"), {**line("b"), "priority": 1}), "invalid_request", 2),
        (jsonl(line("a"), line("a")), "duplicate_custom_id", 2),
    ],
)
def test_a_bad_file_fails_the_batch(caller: Caller, content: bytes, code: str, number: int | None) -> None:
    failed = until(caller, start(caller, content=content), "failed")
    (error,) = failed["errors"]["data"]
    assert (error["code"], error["line"]) == (code, number)
    assert failed["failed_at"]
    assert failed["output_file_id"] is None


def test_a_cancelled_batch_keeps_what_was_answered(slow: Caller) -> None:
    batch = start(slow, line("fast"), line("endless", ENDLESS), line("never"))
    until_one_is_done = f"/_emulator/runs?status=in_progress&timeout=10&id={endless_run(slow)}"
    assert slow.send("GET", until_one_is_done).status == 200
    assert slow.send("POST", f"/v1/batches/{batch['id']}/cancel").json["status"] == "cancelling"
    done = until(slow, batch, "cancelled")
    assert done["request_counts"] == {"total": 3, "completed": 1, "failed": 2}
    assert [result["custom_id"] for result in contents(slow, done["output_file_id"])] == ["fast"]
    errors = contents(slow, done["error_file_id"])
    assert [error["custom_id"] for error in errors] == ["endless", "never"]
    assert {error["error"]["code"] for error in errors} == {"batch_cancelled"}
    again = slow.send("POST", f"/v1/batches/{batch['id']}/cancel")
    assert again.status == 400


def endless_run(caller: Caller) -> str:
    """The id of the run that answers the endless question, once it is under way."""
    found = caller.send("GET", "/_emulator/runs?status=in_progress&timeout=10").json["runs"]
    return next(str(run["id"]) for run in found if run["question"].startswith("slow:"))


def test_a_batch_that_outlives_its_window_expires() -> None:
    with serving(Clock(1e6), pace_seconds=0.0, background_seconds=3 * 86_500.0) as url:
        caller = Caller(url)
        done = until(caller, start(caller, line("a"), line("b")), "expired")
        assert done["request_counts"] == {"total": 2, "completed": 0, "failed": 2}
        assert {error["error"]["code"] for error in contents(caller, done["error_file_id"])} == {"batch_expired"}


def test_an_idempotency_key_makes_one_batch(caller: Caller) -> None:
    file = upload(caller, jsonl(line("a")))
    body = {"input_file_id": file["id"], "endpoint": "/v1/responses"}
    word = {"idempotency-key": "once"}
    first, second = (caller.send("POST", "/v1/batches", body, headers=word).json for _ in range(2))
    assert first["id"] == second["id"]
    assert caller.send("POST", "/v1/batches", {**body, "metadata": {"a": "b"}}, headers=word).status == 409
    assert caller.send("POST", "/v1/batches", body).json["id"] != first["id"]


@pytest.mark.parametrize(
    "fields",
    [
        {"input_file_id": "file-unknown"},
        {"endpoint": "/v1/chat/completions"},
        {"completion_window": "1h"},
        {"output_expires_after": {}},
        {"metadata": {"a": 1}},
        {"metadata": {f"k{n}": "v" for n in range(17)}},
    ],
)
def test_batches_are_strict(caller: Caller, fields: Json) -> None:
    file = upload(caller, jsonl(line("a")))
    body = {"input_file_id": file["id"], "endpoint": "/v1/responses", **fields}
    assert caller.send("POST", "/v1/batches", body).error["code"] == 400


def test_batches_are_listed_newest_first_and_for_their_key(caller: Caller) -> None:
    mine = caller.with_key("pplx-lister")
    ids = [start(mine, line("a"))["id"] for _ in range(3)]
    page = mine.send("GET", "/v1/batches?limit=2").json
    assert ([batch["id"] for batch in page["data"]], page["has_more"]) == (ids[:0:-1], True)
    assert [b["id"] for b in mine.send("GET", f"/v1/batches?after={ids[1]}").json["data"]] == ids[:1]
    assert caller.send("GET", f"/v1/batches/{ids[0]}").error["code"] == 404
