"""Images and files in questions, on the running program."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import httpx2
import pytest

from pplx_gateway.settings import Secret
from tests.clients.sdk import async_client
from tests.files.calling import AFAR, Caller, calling
from tests.files.samples import PDF, PNG, by_id, chat, document, image, url, user
from tests.rig import AGENT, ASK_PATH, KEY, Rig, Stream, bearer, running

BATCH = "/rest/uploads/batch_create_upload_urls"
SINGLE = "/rest/uploads/create_upload_url"
STORAGE = "/emulator-storage/"
SUBSCRIBE = "/rest/sse/attachment_processing/subscribe"

SESSION, API = ("session",), ("api",)


# What the gateway asks by itself, beside all questions.
_OWN = ("/api/auth/session", "/rest/rate-limit/", "/rest/models/", "/rest/user/")


async def paths(rig: Rig) -> list[str]:
    """Everything that was asked upstream for questions."""
    return [request["path"] for request in await rig.requests() if not request["path"].startswith(_OWN)]


async def attachments(rig: Rig) -> list[list[str]]:
    """Of every question that was asked."""
    return [request["json"]["params"]["attachments"] for request in await rig.requests(ASK_PATH)]


async def forms(rig: Rig) -> list[bytes]:
    """The forms that storage got."""
    return [base64.b64decode(request["base64"]) for request in await rig.requests(STORAGE)]


def said(answer: Any) -> dict[str, str]:
    return {"role": "assistant", "content": answer.content}


# both ways in


@pytest.mark.parametrize("streamed", [False, True])
async def test_the_sdk_uploads_a_png_and_asks_about_it(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        sdk = async_client(rig.url)
        file = await sdk.files.create(file=("cat.png", PNG), purpose="vision")
        messages: Any = [user("What is this?", by_id(file.id))]
        if streamed:
            stream = await sdk.chat.completions.create(model="gpt", messages=messages, stream=True)
            text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices])
        else:
            whole = await sdk.chat.completions.create(model="gpt", messages=messages)
            text = whole.choices[0].message.content or ""
        assert f"I looked at the file **cat.png** (image/png, {len(PNG)} bytes)" in text
        assert await paths(rig) == [BATCH, STORAGE, ASK_PATH]
        (form,) = await forms(rig)
        assert PNG in form
        await sdk.close()
        await rig.check()


async def test_an_image_as_data_goes_to_either_upstream(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        answer = await rig.chat(chat(user("What is this?", image())))
        assert f"I looked at the file **image-1.png** (image/png, {len(PNG)} bytes)" in answer.content
    async with running(tmp_path, order=API) as rig:
        await rig.chat(chat(user("What is this?", image()), model="sonar"))
        (sent,) = await rig.requests(AGENT)
        assert sent["json"]["input"][0]["content"][1] == {"type": "input_image", "image_url": url("image/png", PNG)}


async def test_a_document_is_read_before_it_is_asked_about_and_both_forms_are_one(tmp_path: Path) -> None:
    bare = {"type": "file", "file": {"filename": "a.pdf", "file_data": base64.b64encode(PDF).decode()}}
    async with running(tmp_path, order=SESSION) as rig:
        for part in (document("a.pdf"), bare):
            answer = await rig.chat(chat(user("Sum it up", part)))
            assert f"I read the file **a.pdf** (application/pdf, {len(PDF)} bytes)" in answer.content
        assert await paths(rig) == [BATCH, STORAGE, SUBSCRIBE, ASK_PATH] * 2
        one, other = [next(iter(r["json"]["files"].values())) for r in await rig.requests(BATCH)]
        assert one == other
    async with running(tmp_path, order=API) as rig:
        for part in (document("a.pdf"), bare):
            await rig.chat(chat(user("Sum it up", part), model="sonar"))
        one, other = [request["json"]["input"] for request in await rig.requests(AGENT)]
        assert one == other
        told = {"type": "input_file", "file_data": url("application/pdf", PDF), "filename": "a.pdf"}
        assert one[0]["content"][1] == told


async def test_uploaded_files_reach_the_api_as_parts(tmp_path: Path) -> None:
    async with calling(tmp_path, order=API) as (rig, caller):
        png, pdf = [
            (await caller.upload(PNG)).json()["id"],
            (await caller.upload(PDF, "a.pdf", "application/pdf")).json()["id"],
        ]
        await rig.chat(chat(user("Compare", by_id(png), by_id(pdf)), model="sonar"))
        (sent,) = await rig.requests(AGENT)
    assert sent["json"]["input"][0]["content"][1:] == [
        {"type": "input_image", "image_url": url("image/png", PNG)},
        {"type": "input_file", "file_data": url("application/pdf", PDF), "filename": "a.pdf"},
    ]


# what is refused


async def test_an_address_is_never_fetched(tmp_path: Path) -> None:
    inner = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/x"}}
    outer = {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}}
    pdf = {"type": "file_url", "file_url": "https://a.example/a.pdf"}
    at = "messages[0].content[1]"
    async with running(tmp_path) as rig:
        for part, param, word in (
            (inner, f"{at}.image_url.url", "https"),
            (outer, f"{at}.image_url.url", "data URL"),
            (pdf, at, "data URL"),
        ):
            refused = await rig.chat(chat(user("What is this?", part)))
            assert (refused.status, refused.error["param"]) == (400, param)
            assert word in refused.error["message"]
        assert (await rig.chat(chat(user("What is this?", inner), model="api/sonar"))).status == 400
        assert await paths(rig) == []
        assert (await rig.chat(chat(user("What is this?", outer), model="api/sonar"))).status == 200
        assert await paths(rig) == [AGENT]


async def test_forty_megabytes_are_a_413(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        reply = await rig.post(chat(user("What is this?", image(PNG + bytes(40_000_000)))))
        assert reply.status == 413
        assert await paths(rig) == []


async def test_an_image_that_is_none_is_refused_before_anything_is_sent(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        for part, code in (
            (image(b""), "invalid_base64_image"),
            (image(PNG, "image/jpeg"), "invalid_base64_image"),
            (image(b"<svg/>", "image/svg+xml"), "unsupported_image_media_type"),
            (document("a.pdf", PNG), "unsupported_file"),
        ):
            refused = await rig.chat(chat(user("Look", image(), part)))
            assert (refused.status, refused.error["code"]) == (400, code)
        assert await paths(rig) == []


async def test_files_that_are_not_the_callers_are_a_404_by_their_place(tmp_path: Path) -> None:
    at = "messages[0].content[1].file.file_id"
    async with calling(tmp_path, order=SESSION) as (_, caller):
        kept, gone = [(await caller.upload(PNG)).json()["id"] for _ in range(2)]
        await caller.delete(gone)
    async with calling(tmp_path, order=SESSION, api_key=None, allow_open=True) as (rig, _):
        errors = []
        for name in (kept, gone, "file-0", "../../etc/passwd"):
            reply = await rig.post(chat(user("Look", by_id(name))), key=None, headers=AFAR)
            assert (reply.status, reply.error["code"], reply.error["param"]) == (404, "file_not_found", at)
            errors.append(reply.error)
        assert errors.count(errors[0]) == len(errors)
        assert await paths(rig) == []


async def test_an_uploaded_file_of_a_kind_that_nobody_reads_is_refused_when_it_is_named(tmp_path: Path) -> None:
    async with calling(tmp_path, order=SESSION) as (rig, caller):
        file_id = (await caller.upload(b"PK\x03\x04", "a.zip", "application/zip")).json()["id"]
        refused = await rig.chat(chat(user("Look", by_id(file_id))))
        assert (refused.status, refused.error["code"]) == (400, "unsupported_file")
        assert "pdf" in refused.error["message"]


async def test_an_attachment_without_words_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        refused = await rig.chat(chat({"role": "user", "content": [image()]}))
        assert (refused.status, refused.error["param"]) == (400, "messages")
        assert await paths(rig) == []


async def test_thirty_attachments_pass_and_one_more_does_not(tmp_path: Path) -> None:
    parts = [image(PNG + bytes([number])) for number in range(31)]
    async with running(tmp_path, order=SESSION) as rig:
        refused = await rig.chat(chat(user("Look", *parts)))
        assert (refused.status, refused.error["param"]) == (400, "messages")
        assert "31" in refused.error["message"]
        assert await paths(rig) == []
        answer = await rig.chat(chat(user("Look", *parts[:30])))
        assert answer.content.count("I looked at the file") == 30
        assert len(await rig.requests(BATCH)) == 1
        (asked,) = await attachments(rig)
        assert [address.rpartition("/")[2] for address in asked] == [f"image-{n}.png" for n in range(1, 31)]


# follow-ups


async def test_a_follow_up_still_knows_the_attachment(tmp_path: Path) -> None:
    first = user("Sum it up", document("a.pdf"))
    async with running(tmp_path, order=SESSION) as rig:
        answer = await rig.chat(chat(first))
        then = await rig.chat(chat(first, said(answer), user("And what follows?")))
        assert "I read the file **a.pdf**" in then.content
        one, other = await attachments(rig)
        assert one == other
        assert len(await rig.requests(BATCH)) == 1
        assert (await rig.requests(ASK_PATH))[1]["json"]["params"]["last_backend_uuid"]
        later = user("And this?", image())
        third = await rig.chat(chat(first, said(answer), user("And what follows?"), said(then), later))
        assert "**a.pdf**" in third.content
        assert "**image-1.png**" in third.content
        assert (await attachments(rig))[2][:1] == one
        assert len((await attachments(rig))[2]) == 2
        assert len(await rig.requests(STORAGE)) == 2


async def test_a_new_thread_sends_again_what_its_turns_hold(tmp_path: Path) -> None:
    """Instructions make every turn a new thread."""
    system = {"role": "system", "content": "Answer in German."}
    first = user("What is this?", image())
    async with running(tmp_path, order=SESSION) as rig:
        answer = await rig.chat(chat(system, first))
        then = await rig.chat(chat(system, first, said(answer), user("And what follows?")))
        assert "I looked at the file **image-1.png**" in then.content
        one, other = await attachments(rig)
        assert len(one) == len(other) == 1
        assert one != other
        assert len(await rig.requests(STORAGE)) == 2


async def test_a_thread_that_is_gone_is_begun_anew_with_all_attachments_each_sent_once(tmp_path: Path) -> None:
    first, later = user("Sum it up", document("a.pdf")), user("And this?", image())
    async with running(tmp_path, order=SESSION) as rig:
        answer = await rig.chat(chat(first))
        failed = {"status": "FAILED", "error_code": "GENERIC_FAILED_RESPONSE", "text": "", "final_sse_message": True}
        await rig.script(ASK_PATH, [{"bytes": f"event: message\r\ndata: {json.dumps(failed)}\r\n\r\n"}, {"end": True}])
        then = await rig.chat(chat(first, said(answer), later))
        assert "**a.pdf**" in then.content
        assert "**image-1.png**" in then.content
        before, stale, anew = await attachments(rig)
        assert stale[:1] == before
        assert stale[1] in anew
        assert len(await rig.requests(STORAGE)) == 3


async def test_an_image_that_stands_twice_is_sent_once(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        await rig.chat(chat(user("Are they alike?", image(), image())))
        (asked,) = await attachments(rig)
        assert len(asked) == 1


# what can go wrong on the way


async def failing(folder: Path, part: dict[str, Any], *words: str, **settings: Any) -> tuple[int, dict[str, Any]]:
    """The status and the error of a question that was never asked, the same streamed and not."""
    cookie = Secret("-".join(("emulator-max", *words, "SECRET-COOKIE")))
    async with running(folder, order=SESSION, cookie=cookie, **settings) as rig:
        body = chat(user("Sum it up", part))
        whole, streamed = await rig.chat(body), await rig.stream(body)
        assert await rig.requests(ASK_PATH) == []
    assert (whole.status, whole.error) == (streamed.status, streamed.error)
    return whole.status, whole.error


@pytest.mark.parametrize(
    ("filename", "words"),
    [("unreadable.pdf", "could not read"), ("toolong.pdf", "too long"), ("refused.pdf", "File type is not supported")],
)
async def test_a_document_that_cannot_be_used_is_a_502_and_nothing_is_asked(
    tmp_path: Path, filename: str, words: str
) -> None:
    status, error = await failing(tmp_path, document(filename))
    assert (status, error["code"]) == (502, "upstream_error")
    assert words in error["message"]
    assert filename in error["message"]


async def test_documents_behind_a_challenge_are_a_502_and_images_still_pass(tmp_path: Path) -> None:
    status, error = await failing(tmp_path, document("a.pdf"), "nodocs")
    assert (status, error["code"]) == (502, "upstream_error")
    assert "challenge" in error["message"]
    async with running(tmp_path, order=SESSION, cookie=Secret("emulator-max-nodocs-SECRET-COOKIE")) as rig:
        assert "**image-1.png**" in (await rig.chat(chat(user("What is this?", image())))).content


async def test_a_spent_upload_quota_is_a_429_that_says_what_is_spent(tmp_path: Path) -> None:
    for part in (image(), document("a.pdf")):
        status, error = await failing(tmp_path, part, "noupload")
        assert (status, error["code"], error["type"]) == (429, "quota_exhausted", "insufficient_quota")
        assert "upload quota" in error["message"]


async def test_images_may_take_the_older_way(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION, cookie=Secret("emulator-max-cloudinary-SECRET-COOKIE")) as rig:
        answer = await rig.chat(chat(user("What is this?", image())))
        assert "I looked at the file **image-1.png**" in answer.content
        (asked,) = await attachments(rig)
        assert asked[0].endswith("?secure")


@pytest.mark.parametrize("status", [400, 404, 405])
async def test_a_site_that_knows_no_batches_is_asked_one_by_one(tmp_path: Path, status: int) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        await rig.script(BATCH, {"status": status, "steps": [{"bytes": "{}"}]})
        answer = await rig.chat(chat(user("Compare", image(), document("a.pdf"))))
        assert "**image-1.png**" in answer.content
        assert "**a.pdf**" in answer.content
        assert len(await rig.requests(SINGLE)) == 2


@pytest.mark.parametrize("path", [SUBSCRIBE, BATCH, STORAGE])
async def test_a_silence_ends_in_an_error_and_nothing_is_asked(tmp_path: Path, path: str) -> None:
    async with running(tmp_path, order=SESSION, factor=200) as rig:
        await rig.script(path, {"delay": 4000, "steps": [{"end": True}]})
        reply = await rig.chat(chat(user("Sum it up", document("a.pdf"))))
        assert reply.status == (502 if path == SUBSCRIBE else 504)
        if path == SUBSCRIBE:
            assert "'a.pdf' within 45 seconds" in reply.error["message"]
        await rig.wait(path, closed=True)
        assert await rig.requests(ASK_PATH) == []


async def test_a_stream_of_pings_does_not_count_as_reading(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION, factor=200) as rig:
        pings = [step for _ in range(100) for step in ({"bytes": ": ping\n\n"}, {"sleep": 5})]
        await rig.script(SUBSCRIBE, pings)
        reply = await rig.chat(chat(user("Sum it up", document("a.pdf"))))
        assert (reply.status, reply.error["code"]) == (502, "upstream_error")
        assert "45 seconds" in reply.error["message"]


@pytest.mark.parametrize(
    ("status", "code"), [(403, "upstream_error"), (500, "upstream_error"), (429, "rate_limit_exceeded")]
)
async def test_a_refusal_to_read_is_an_error_of_its_own_kind(tmp_path: Path, status: int, code: str) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        await rig.script(SUBSCRIBE, {"status": status, "steps": [{"bytes": "{}"}]})
        reply = await rig.chat(chat(user("Sum it up", document("a.pdf"))))
        assert (reply.status, reply.error["code"]) == (502 if status != 429 else 429, code)
        if status != 429:
            assert f"'a.pdf' (HTTP {status}), so nothing was asked" in reply.error["message"]
        assert await rig.requests(ASK_PATH) == []


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 403, "steps": [{"bytes": "<Error><Code>AccessDenied</Code></Error>"}]},
        {"status": 302, "headers": {"location": "/rest/secret"}, "steps": [{"end": True}]},
        {"status": 500, "steps": [{"abort": True}]},
    ],
)
async def test_storage_that_fails_is_a_502_and_leads_nowhere_else(tmp_path: Path, answer: dict[str, Any]) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        await rig.script(STORAGE, answer)
        reply = await rig.chat(chat(user("What is this?", image())))
        assert (reply.status, reply.error["code"][:8]) == (502, "upstream")
        assert await paths(rig) == [BATCH, STORAGE]


async def test_an_unknown_storage_host_is_sent_nothing(tmp_path: Path) -> None:
    slot = {"s3_bucket_url": "http://127.0.0.2:9/", "s3_object_url": "http://127.0.0.2:9/x", "fields": {"key": "a/b/c"}}
    async with running(tmp_path, order=SESSION) as rig:
        for path in (BATCH, SINGLE):
            await rig.script(
                path, {"status": 404, "steps": []} if path == BATCH else {"steps": [{"bytes": json.dumps(slot)}]}
            )
        reply = await rig.chat(chat(user("What is this?", image())))
        assert (reply.status, reply.error["code"]) == (502, "upstream_error")
        assert "unknown host" in reply.error["message"]
        assert await paths(rig) == [BATCH, SINGLE]


async def test_a_challenge_before_the_upload_is_the_sessions(tmp_path: Path) -> None:
    page = {
        "status": 403,
        "headers": {"cf-mitigated": "challenge", "content-type": "text/html"},
        "steps": [{"bytes": "<html>"}],
    }
    async with running(tmp_path, order=SESSION) as rig:
        await rig.script(BATCH, page)
        reply = await rig.chat(chat(user("What is this?", image())))
        assert (reply.status, reply.error["code"]) == (503, "session_blocked")
        assert await paths(rig) == [BATCH]


async def test_an_upload_that_is_refused_as_a_strangers_is_the_sessions_too(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        for number in range(1, 3):
            await rig.script(BATCH, {"status": 401, "steps": [{"bytes": "{}"}]})
            reply = await rig.chat(chat(user("What is this?", image())))
            assert (reply.status, reply.error["code"]) == (503, "session_expired")
            assert await paths(rig) == [BATCH] * number
        assert (await rig.chat(chat(user("What is this?", image())))).status == 200


async def test_nothing_of_the_session_reaches_storage(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION) as rig:
        await rig.chat(chat(user("What is this?", image())))
        (request,) = await rig.requests(STORAGE)
        names = [name for name, _ in request["raw_headers"]]
        assert not [name for name in names if name.startswith(("x-", "cookie", "authorization", "referer", "origin"))]
        assert "SECRET" not in json.dumps(request["raw_headers"])


@pytest.mark.parametrize("streamed", [False, True])
async def test_uploads_run_side_by_side_and_end_when_the_caller_leaves(tmp_path: Path, streamed: bool) -> None:
    parts = [image(PNG + bytes([number])) for number in range(8)]
    async with (
        running(tmp_path, order=SESSION) as rig,
        httpx2.AsyncClient(timeout=60, trust_env=False, verify=False) as client,
    ):
        await rig.script(STORAGE, *[{"delay": 600, "steps": [{"end": True}]}] * 8)
        body = chat(user("Look", *parts), stream=streamed)
        address = f"{rig.url}/v1/chat/completions"
        asking = asyncio.create_task(client.post(address, json=body, headers=bearer(KEY)))
        await rig.wait(STORAGE, count=6)
        asking.cancel()
        await asyncio.wait([asking])
        await rig.wait(STORAGE, closed=True, count=6)
        assert len(await rig.requests(STORAGE)) == 6
        assert await rig.requests(ASK_PATH) == []


async def test_one_failure_ends_the_other_uploads(tmp_path: Path) -> None:
    parts = [image(PNG + bytes([number])) for number in range(3)]
    async with running(tmp_path, order=SESSION) as rig:
        slow = {"delay": 600, "steps": [{"end": True}]}
        await rig.script(STORAGE, slow, slow, {"status": 403, "steps": []})
        reply = await rig.chat(chat(user("Look", *parts)))
        assert reply.status == 502
        await rig.wait(STORAGE, closed=True, count=2)


async def test_a_stream_stays_alive_while_files_are_on_their_way(tmp_path: Path) -> None:
    async with running(tmp_path, order=SESSION, factor=100) as rig:
        await rig.script(SUBSCRIBE, {"delay": 40, "headers": {"content-type": "text/event-stream"}, "steps": []})
        stream: Stream = await rig.stream(chat(user("Sum it up", document("a.pdf"))))
        assert stream.comments >= 2
        assert stream.error is not None
        assert "nothing was asked" in stream.error["message"]


async def test_models_tell_that_they_take_images_and_files(tmp_path: Path) -> None:
    async with calling(tmp_path, order=SESSION) as (rig, _):
        for model in (await rig.get("/v1/models")).json["data"]:
            assert model["capabilities"]["images"]
            assert model["capabilities"]["files"]


async def test_a_file_is_read_for_the_question_alone(tmp_path: Path) -> None:
    """A file deleted after the question is no loss to its follow-up on the same thread, but must be named no more."""
    async with calling(tmp_path, order=SESSION) as (rig, caller):
        file_id = (await caller.upload(PNG)).json()["id"]
        first = user("What is this?", by_id(file_id))
        answer = await rig.chat(chat(first))
        await caller.delete(file_id)
        assert (await rig.chat(chat(first, said(answer), user("And?")))).status == 404


async def test_no_name_and_no_byte_of_a_file_is_logged(tmp_path: Path) -> None:
    async with calling(tmp_path, order=SESSION) as (rig, caller):
        file_id = (await caller.upload(b"SECRET WORDS", "secret-name.txt", "text/plain")).json()["id"]
        await rig.chat(chat(user("Sum it up", by_id(file_id))))
        await rig.chat(chat(user("Sum it up", document("secret-unreadable.pdf"))))
        await rig.check()
        log = rig.log.getvalue()
    assert "attachments sent" in log
    for word in ("SECRET WORDS", "secret-", base64.b64encode(b"SECRET WORDS").decode()):
        assert word not in log


async def test_a_stranger_cannot_name_files(tmp_path: Path) -> None:
    async with calling(tmp_path, order=SESSION) as (rig, caller), Caller(rig.url, "wrong") as stranger:
        file_id = (await caller.upload(PNG)).json()["id"]
        assert (await stranger.get(f"/{file_id}")).status_code == 401
        assert (await rig.post(chat(user("Look", by_id(file_id))), key="wrong")).status == 401
