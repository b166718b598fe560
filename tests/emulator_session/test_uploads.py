"""Slots, the form post, documents, and what an ask makes of them."""

import json
from typing import Any

import httpx2
import pytest

from tests.emulator_session.asking import QUESTION, Page
from tests.emulator_session.conftest import SkippingClock
from tests.emulator_session.reader import events

PNG = b"\x89PNG\r\n\x1a\n--not-a-boundary\r\n\x00\xff"


def wanted(filename: str, content_type: str, size: int) -> dict[str, Any]:
    return {
        "filename": filename,
        "content_type": content_type,
        "source": "default",
        "file_size": size,
        "force_image": False,
        "skip_parsing": False,
    }


async def slot_of(page: Page, filename: str, content_type: str, data: bytes) -> dict[str, Any]:
    body = {"files": {"mine": wanted(filename, content_type, len(data))}}
    reply = await page.post("/rest/uploads/batch_create_upload_urls", body)
    assert reply.status_code == 200, reply.text
    slot: dict[str, Any] = reply.json()["results"]["mine"]
    return slot


def form(fields: list[tuple[str, str]], data: bytes, content_type: str, filename: str = "cat.png") -> bytes:
    parts = [
        f'--XX\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in fields
    ]
    disposition = f'Content-Disposition: form-data; name="file"; filename="{filename}"'
    head = f"--XX\r\n{disposition}\r\nContent-Type: {content_type}\r\n\r\n"
    return b"".join(parts) + head.encode() + data + b"\r\n--XX--\r\n"


async def post_form(
    client: httpx2.AsyncClient, url: str, body: bytes, headers: dict[str, str] | None = None
) -> httpx2.Response:
    sent = {"content-type": "multipart/form-data; boundary=XX", **(headers or {})}
    return await client.post(url, content=body, headers=sent)


async def uploaded(page: Page, filename: str, content_type: str, data: bytes = PNG) -> dict[str, Any]:
    slot = await slot_of(page, filename, content_type, data)
    reply = await post_form(page.client, slot["s3_bucket_url"], form(list(slot["fields"].items()), data, content_type))
    assert reply.status_code == 204, reply.text
    return slot


async def processed(page: Page, file_uuid: str) -> dict[str, Any]:
    reply = await page.post("/rest/sse/attachment_processing/subscribe", {"file_uuids": [file_uuid]})
    assert reply.status_code == 200
    (name, data), end = events(reply.content)
    assert (name, end) == ("message", ("end_of_stream", "{}"))
    found: dict[str, Any] = json.loads(data)
    return found


async def test_an_image_reaches_the_model(page: Page) -> None:
    slot = await uploaded(page, "cat.png", "image/png")
    reader = await page.read("What is this?", attachments=[slot["s3_object_url"]])
    assert "cat.png" in reader.text
    assert f"{len(PNG)} bytes" in reader.text
    assert "ATTACHMENT" in {step["step_type"] for step in reader.steps.values()}


async def test_a_slot_has_the_shape_of_the_real_one(page: Page) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    assert set(slot) == {"s3_bucket_url", "s3_object_url", "fields", "file_uuid", "rate_limited", "error"}
    assert slot["s3_object_url"] == slot["s3_bucket_url"] + slot["fields"]["key"]
    assert slot["file_uuid"] in slot["fields"]["key"]
    assert slot["fields"]["key"].startswith("web/direct-files/attachments/")
    assert (slot["rate_limited"], slot["error"]) == (False, None)


async def test_a_single_slot_is_the_same_object_flat(page: Page) -> None:
    reply = await page.post("/rest/uploads/create_upload_url", wanted("cat.png", "image/png", len(PNG)))
    slot = reply.json()
    posted = await post_form(page.client, slot["s3_bucket_url"], form(list(slot["fields"].items()), PNG, "image/png"))
    assert posted.status_code == 204


async def test_a_document_is_silently_left_out_unless_it_was_processed(page: Page) -> None:
    slot = await uploaded(page, "notes.pdf", "application/pdf")
    assert "notes.pdf" not in (await page.read("Sum it up", attachments=[slot["s3_object_url"]])).text
    assert await processed(page, slot["file_uuid"]) == {
        "file_uuid": slot["file_uuid"],
        "success": True,
        "s3_url": slot["s3_object_url"],
        "token_limit_exceeded": False,
        "final_sse_message": False,
    }
    assert "notes.pdf" in (await page.read("Sum it up", attachments=[slot["s3_object_url"]])).text


@pytest.mark.parametrize(
    ("filename", "success", "too_long"), [("unreadable.pdf", False, False), ("toolong.pdf", True, True)]
)
async def test_a_document_may_be_of_no_use(page: Page, filename: str, success: bool, too_long: bool) -> None:
    slot = await uploaded(page, filename, "application/pdf")
    event = await processed(page, slot["file_uuid"])
    assert (event["success"], event["token_limit_exceeded"]) == (success, too_long)
    assert filename not in (await page.read("Sum it up", attachments=[slot["s3_object_url"]])).text


async def test_a_document_that_never_came_is_not_processed(page: Page) -> None:
    slot = await slot_of(page, "notes.pdf", "application/pdf", PNG)
    assert (await processed(page, slot["file_uuid"]))["success"] is False
    assert (await processed(page, "nothing"))["success"] is False


async def test_the_document_service_may_be_behind_a_challenge(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-nodocs")
    slot = await uploaded(page, "notes.pdf", "application/pdf")
    reply = await page.post("/rest/sse/attachment_processing/subscribe", {"file_uuids": [slot["file_uuid"]]})
    assert (reply.status_code, reply.headers["cf-mitigated"]) == (403, "challenge")


async def test_a_slot_without_a_file_is_no_attachment(page: Page) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    (frame,) = await page.frames(QUESTION, attachments=[slot["s3_object_url"]])
    assert frame["error_code"] == "GENERIC_FAILED_RESPONSE"


async def test_a_file_of_another_account_is_no_attachment(page: Page, client: httpx2.AsyncClient) -> None:
    slot = await uploaded(page, "cat.png", "image/png")
    (frame,) = await Page(client, "emulator-max").frames(QUESTION, attachments=[slot["s3_object_url"]])
    assert frame["error_code"] == "GENERIC_FAILED_RESPONSE"


@pytest.mark.parametrize("token", ["emulator-free", "emulator-pro-noupload"])
async def test_a_used_up_upload_quota_gives_no_slot(client: httpx2.AsyncClient, token: str) -> None:
    slot = await slot_of(Page(client, token), "cat.png", "image/png", PNG)
    assert (slot["rate_limited"], slot["s3_bucket_url"], slot["fields"], slot["error"]) == (True, None, None, None)


async def test_a_refused_file_says_why(page: Page) -> None:
    assert (await slot_of(page, "refused.exe", "application/x-msdownload", PNG))["error"]
    body = {"files": {"mine": wanted("big.png", "image/png", (50 << 20) + 1)}}
    slot = (await page.post("/rest/uploads/batch_create_upload_urls", body)).json()["results"]["mine"]
    assert slot["error"]
    assert slot["s3_object_url"] is None


async def test_without_a_login_there_is_no_slot(client: httpx2.AsyncClient) -> None:
    body = {"files": {"mine": wanted("cat.png", "image/png", 1)}}
    assert (await Page(client, None).post("/rest/uploads/batch_create_upload_urls", body)).status_code == 401


@pytest.mark.parametrize("body", [{}, {"files": {}}, {"files": {"a": {"filename": "x"}}}, {"files": []}])
async def test_a_request_for_a_slot_that_makes_no_sense_is_400(page: Page, body: object) -> None:
    assert (await page.post("/rest/uploads/batch_create_upload_urls", body)).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {"cookie": "__Secure-next-auth.session-token=emulator-pro"},
        {"cookie": "cf_clearance=x"},
        {"x-app-apiclient": "default"},
        {"x-perplexity-request-reason": "submit"},
        {"x-pplx-account": "u-1"},
        {"authorization": "Bearer x"},
    ],
    ids=lambda headers: next(iter(headers)),
)
async def test_storage_refuses_whoever_sends_the_session_along(page: Page, headers: dict[str, str]) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    body = form(list(slot["fields"].items()), PNG, "image/png")
    reply = await post_form(page.client, slot["s3_bucket_url"], body, headers)
    assert reply.status_code == 400
    assert next(iter(headers)) in reply.text
    assert (await post_form(page.client, slot["s3_bucket_url"], body)).status_code == 204


async def test_storage_wants_every_field_in_order_and_the_file_last(page: Page) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    fields = list(slot["fields"].items())
    whole = form(fields, PNG, "image/png")
    file_first = whole[whole.index(b'--XX\r\nContent-Disposition: form-data; name="file"') : -len(b"--XX--\r\n")]
    wrong = {
        "swapped": form([fields[1], fields[0], *fields[2:]], PNG, "image/png"),
        "one missing": form(fields[:-1], PNG, "image/png"),
        "another value": form([*fields[:-1], ("tagging", "other")], PNG, "image/png"),
        "another type": form(fields, PNG, "image/jpeg"),
        "too short": form(fields, PNG[:-1], "image/png"),
        "file first": file_first + form(fields, PNG, "image/png").replace(file_first, b""),
        "no end": whole[: -len(b"--XX--\r\n")],
        "nothing": b"",
    }
    for name, body in wrong.items():
        assert (await post_form(page.client, slot["s3_bucket_url"], body)).status_code == 400, name
    assert (await page.client.post(slot["s3_bucket_url"], content=whole)).status_code == 400
    assert (await post_form(page.client, slot["s3_bucket_url"], whole)).status_code == 204


async def test_storage_knows_its_slots_only(page: Page) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    body = form([("key", "web/direct-files/attachments/u/f/cat.png")], PNG, "image/png")
    assert (await post_form(page.client, slot["s3_bucket_url"], body)).status_code == 403


async def test_a_slot_lives_five_minutes(page: Page, clock: SkippingClock) -> None:
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    clock.skipped += 301
    reply = await post_form(page.client, slot["s3_bucket_url"], form(list(slot["fields"].items()), PNG, "image/png"))
    assert reply.status_code == 403


async def test_an_image_may_take_the_older_way_that_answers_in_json(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-cloudinary")
    slot = await slot_of(page, "cat.png", "image/png", PNG)
    reply = await post_form(client, slot["s3_bucket_url"], form(list(slot["fields"].items()), PNG, "image/png"))
    assert reply.status_code == 200
    secure_url = reply.json()["secure_url"]
    assert secure_url != slot["s3_object_url"]
    assert "cat.png" in (await page.read("What is this?", attachments=[secure_url])).text
    (frame,) = await page.frames("What is this?", attachments=[slot["s3_object_url"]])
    assert frame["status"] == "FAILED"
    await uploaded(page, "notes.pdf", "application/pdf")
