"""Slots, storage and the reading of documents, without a network (docs/wire-session.md 5)."""

import json
from typing import Any

import pytest

from pplx_gateway.errors import InvalidRequest, QuotaExhausted, UpstreamError
from pplx_gateway.question import FilePart, ImagePart
from pplx_gateway.transport.exchange import Headers, Incoming
from pplx_gateway.upstreams.session import slots, storage
from pplx_gateway.upstreams.session.failures import AttachmentRefused
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.parcels import MOST_BYTES, Parcel, parcel
from pplx_gateway.upstreams.session.reading import Reading
from pplx_gateway.upstreams.session.slots import Slot
from tests.files.samples import PDF, PNG, url

BUCKET = "https://bucket.s3.amazonaws.com/"
KEY = "web/direct-files/attachments/u-1/f-1/a.pdf"
FIELDS = {"acl": "private", "Content-Type": "application/pdf", "key": KEY, "policy": "p", "signature": "s"}
ANSWER: dict[str, Any] = {
    "s3_bucket_url": BUCKET,
    "s3_object_url": BUCKET + KEY,
    "fields": FIELDS,
    "file_uuid": "f-1",
    "rate_limited": False,
    "error": None,
}
SLOT = Slot(BUCKET, BUCKET + KEY, FIELDS, "f-1")


def pdf(filename: str | None = "a.pdf") -> Parcel:
    return parcel(FilePart(data=url("application/pdf", PDF), filename=filename), 1)


# parcels


@pytest.mark.parametrize("size", range(7))
def test_a_size_is_known_without_unpacking(size: int) -> None:
    packed = parcel(ImagePart(url("image/png", b"x" * size)), 1)
    assert packed.size == len(packed.content()) == size


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("a.pdf", "a.pdf"),
        ("dir/a.pdf", "a.pdf"),
        (None, "document-1.pdf"),
        ("", "document-1.pdf"),
        ("../a.pdf", "document-1.pdf"),
        ('a\r\nb: c"', "document-1.pdf"),
    ],
)
def test_a_name_is_a_base_name_or_made_up(filename: str | None, name: str) -> None:
    assert pdf(filename).name == name


def test_images_are_named_by_their_number_and_kind() -> None:
    assert parcel(ImagePart(url("image/jpeg", b"x")), 3).name == "image-3.jpeg"
    assert parcel(ImagePart(url("image/png", b"x"), "cat.png"), 3).name == "cat.png"


def test_more_than_twenty_mebibytes_are_refused() -> None:
    assert parcel(ImagePart(url("image/png", b"x" * MOST_BYTES)), 1).size == MOST_BYTES
    with pytest.raises(InvalidRequest, match="20 MiB"):
        parcel(ImagePart(url("image/png", b"x" * (MOST_BYTES + 1))), 1)


def test_a_parcel_does_not_show_its_bytes() -> None:
    assert "data:" not in repr(pdf())


# slots


def clean(words: str) -> str:
    return " ".join(words.split())


def batch(answer: Any) -> dict[str, Slot]:
    return slots.read_batch(json.dumps({"results": {"mine": answer}}).encode(), {"mine": pdf()}, clean)


def test_a_batch_asks_for_all_in_one() -> None:
    assert json.loads(slots.batch_body({"mine": pdf()})) == {
        "files": {
            "mine": {
                "filename": "a.pdf",
                "content_type": "application/pdf",
                "source": "default",
                "file_size": len(PDF),
                "force_image": False,
                "skip_parsing": False,
            }
        }
    }


def test_both_forms_give_the_same_slot_with_its_fields_in_order() -> None:
    assert batch(ANSWER) == {"mine": SLOT}
    assert slots.read_single(json.dumps(ANSWER).encode(), pdf(), clean) == SLOT
    assert list(batch(ANSWER)["mine"].fields) == list(FIELDS)


def test_an_id_that_is_missing_stands_in_the_key() -> None:
    assert batch({**ANSWER, "file_uuid": None})["mine"].file_uuid == "f-1"
    assert batch({**ANSWER, "file_uuid": None, "fields": {}})["mine"].file_uuid is None


def test_values_that_are_no_text_become_some() -> None:
    assert batch({**ANSWER, "fields": {"timestamp": 17, "private": True}})["mine"].fields == {
        "timestamp": "17",
        "private": "true",
    }


def test_a_spent_quota_says_what_is_spent() -> None:
    none = dict.fromkeys(ANSWER)
    with pytest.raises(QuotaExhausted, match=r"upload quota .* 'a.pdf'"):
        batch({**none, "rate_limited": True})


def test_a_refused_file_says_why_and_is_not_to_be_repeated() -> None:
    with pytest.raises(AttachmentRefused, match=r"'a\.pdf' .*: not supported") as caught:
        batch({**dict.fromkeys(ANSWER), "error": "not\nsupported"})
    assert (caught.value.status, caught.value.retry) == (502, False)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{}", b'{"results":{}}', b'{"results":{"mine":null}}', b'{"results":{"mine":{}}}', b"\xff"],
)
def test_an_answer_without_a_slot_is_a_502(body: bytes) -> None:
    with pytest.raises(UpstreamError):
        slots.read_batch(body, {"mine": pdf()}, clean)


# storage


@pytest.mark.parametrize(
    ("address", "good"),
    [
        (BUCKET, True),
        ("https://api.cloudinary.com/v1_1/pplx/image/upload", True),
        ("https://bucket.s3.amazonaws.com:443/", True),
        ("http://bucket.s3.amazonaws.com/", False),
        ("https://bucket.s3.amazonaws.com:8443/", False),
        ("https://user@bucket.s3.amazonaws.com/", False),
        ("https://amazonaws.com.evil.example/", False),
        ("https://evilamazonaws.com/", False),
        ("https://res.cloudinary.com/", False),
        ("https://www.perplexity.ai/", False),
        ("http://127.0.0.1:9/", False),
        ("https://[::1", False),
        ("file:///etc/passwd", False),
        ("", False),
    ],
)
def test_files_go_to_storage_hosts_alone(address: str, good: bool) -> None:
    assert storage.allowed(address, SessionOptions()) is good
    if not good:
        with pytest.raises(UpstreamError, match="unknown host"):
            storage.form_post(Slot(address, BUCKET, {}, None), pdf(), SessionOptions())


def test_loopback_is_storage_for_a_session_on_the_same_loopback_address_only() -> None:
    options = SessionOptions(base_url="http://127.0.0.1:8080")
    assert storage.allowed("http://127.0.0.1:8080/storage/", options)
    assert not storage.allowed("http://127.0.0.1:8081/storage/", options)
    assert not storage.allowed("http://127.0.0.1:80801/storage/", options)
    assert not storage.allowed("https://www.perplexity.ai/x", SessionOptions(base_url="https://www.perplexity.ai"))


def test_the_form_has_its_fields_in_order_and_the_file_last() -> None:
    sent = storage.form_post(
        SLOT, parcel(FilePart(data=url("application/pdf", PDF), filename='a "b".pdf'), 1), SessionOptions()
    )
    boundary = sent.headers["content-type"].partition("boundary=")[2]
    *parts, end = (sent.body or b"").split(f"--{boundary}".encode())
    names = [part.split(b'name="')[1].partition(b'"')[0].decode() for part in parts[1:]]
    assert names == [*FIELDS, "file"]
    assert parts[-1] == (
        b'\r\nContent-Disposition: form-data; name="file"; filename="a %22b%22.pdf"\r\n'
        b"Content-Type: application/pdf\r\n\r\n" + PDF + b"\r\n"
    )
    assert end == b"--\r\n"


def test_nothing_of_the_session_goes_along() -> None:
    names = set(storage.form_post(SLOT, pdf(), SessionOptions()).headers)
    assert names == {"accept", "content-type", "sec-fetch-dest", "sec-fetch-mode", "sec-fetch-site"}


def reply(status: int, body: bytes = b"") -> Incoming:
    return Incoming(status=status, headers=Headers(()), body=body)


@pytest.mark.parametrize("status", [200, 201, 204])
def test_the_slot_tells_the_address(status: int) -> None:
    for body in (b"", b"<PostResponse/>", b"{}", b"{broken", b'{"secure_url":null}'):
        assert storage.address_of(SLOT, pdf(), reply(status, body)) == SLOT.address


@pytest.mark.parametrize(
    "body",
    [
        {"secure_url": "https://res.cloudinary.com/pplx/image/private/s--Ab_c--/v1700/user_uploads/a.png"},
        {"eager": [{"secure_url": "https://res.cloudinary.com/pplx/image/private/s--Ab_c--/v1700/user_uploads/a.png"}]},
        {"secure_url": "https://res.cloudinary.com/pplx/image/private/user_uploads/a.png", "moderation": []},
    ],
)
def test_the_older_host_tells_it_itself_and_its_signature_goes(body: dict[str, Any]) -> None:
    found = storage.address_of(SLOT, pdf(), reply(200, json.dumps(body).encode()))
    assert found == "https://res.cloudinary.com/pplx/image/private/user_uploads/a.png"


@pytest.mark.parametrize("status", [301, 302, 307, 400, 403, 500])
def test_any_other_status_is_a_502_that_names_the_file(status: int) -> None:
    with pytest.raises(UpstreamError, match=r"'a\.pdf'"):
        storage.address_of(SLOT, pdf(), reply(status, b"<html>"))


def test_a_file_that_moderation_rejects_is_not_asked_about() -> None:
    body = b'{"secure_url":"https://res.cloudinary.com/a.png","moderation":[{"status":"rejected"}]}'
    with pytest.raises(UpstreamError, match="rejected"):
        storage.address_of(SLOT, pdf(), reply(200, body))


# reading


def event(**told: Any) -> bytes:
    return b"event: message\r\ndata: " + json.dumps(told).encode() + b"\r\n\r\n"


READ = event(file_uuid="f-1", success=True, s3_url=BUCKET, token_limit_exceeded=False, final_sse_message=False)


def test_a_document_is_read_at_every_split() -> None:
    for place in range(len(READ) - 1):  # a CR ends a line already
        reading = Reading({"f-1": "a.pdf"})
        reading.feed(READ[:place])
        assert reading.missing == "'a.pdf'"
        reading.feed(READ[place:])
        assert reading.done
        reading.close()
    assert json.loads(Reading({"f-1": "a.pdf", "f-2": "b.pdf"}).request) == {"file_uuids": ["f-1", "f-2"]}


def test_every_document_must_be_told_of() -> None:
    reading = Reading({"f-1": "a.pdf", "f-2": "b.pdf"})
    reading.feed(READ + READ + event(file_uuid="f-9", success=False) + b"data: nonsense\n\ndata: []\n\n")
    assert (reading.done, reading.missing) == (False, "'b.pdf'")
    with pytest.raises(UpstreamError, match=r"'b.pdf'.*nothing was asked"):
        reading.close()


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"success": False}, "could not read 'a.pdf'"),
        ({"success": None}, "could not read"),
        ({}, "could not read"),
        ({"success": True, "token_limit_exceeded": True}, "too long"),
        ({"success": False, "token_limit_exceeded": True}, "too long"),
    ],
)
def test_a_document_that_is_of_no_use_is_a_502(told: dict[str, Any], words: str) -> None:
    with pytest.raises(AttachmentRefused, match=words) as caught:
        Reading({"f-1": "a.pdf"}).feed(event(file_uuid="f-1", **told))
    assert (caught.value.status, caught.value.retry) == (502, False)


def test_an_image_needs_no_name() -> None:
    assert parcel(ImagePart(url("image/png", PNG)), 1).is_image
