"""Slots: where a file may be put, and what must stand around it (docs/wire-session.md 5, step 1)."""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from pplx_gateway.errors import UpstreamError
from pplx_gateway.upstreams.session.failures import AttachmentRefused, UploadsExhausted
from pplx_gateway.upstreams.session.parcels import Parcel

BATCH_PATH = "/rest/uploads/batch_create_upload_urls"
SINGLE_PATH = "/rest/uploads/create_upload_url"
# Statuses that say that this form of the request is not taken (any more).
UNKNOWN_FORM = frozenset({400, 404, 405, 410, 422, 501})

Clean = Callable[[str], str]


class Slot(msgspec.Struct, frozen=True):
    """`fields` stand before the file in its form, in this order."""

    bucket: str
    address: str
    fields: dict[str, str]
    file_uuid: str | None


class _Answer(msgspec.Struct, frozen=True):
    s3_bucket_url: str | None = None
    s3_object_url: str | None = None
    fields: dict[str, str | int | float | bool] | None = None
    file_uuid: str | None = None
    rate_limited: bool | None = None
    error: Any = None


class _Batch(msgspec.Struct, frozen=True):
    results: dict[str, _Answer]


def wanted(parcel: Parcel) -> dict[str, Any]:
    """The single request's body, and a batch's entry."""
    return {
        "filename": parcel.name,
        "content_type": parcel.kind,
        "source": "default",
        "file_size": parcel.size,
        "force_image": False,
    }


def batch_body(parcels: Mapping[str, Parcel]) -> bytes:
    """`parcels` by the ids under which their slots come back."""
    files = {name: wanted(parcel) | {"skip_parsing": False} for name, parcel in parcels.items()}
    return msgspec.json.encode({"files": files})


def single_body(parcel: Parcel) -> bytes:
    return msgspec.json.encode(wanted(parcel))


def read_batch(body: bytes, parcels: Mapping[str, Parcel], clean: Clean) -> dict[str, Slot]:
    """`clean` makes the site's own words safe to show. Raises UploadsExhausted, AttachmentRefused, UpstreamError."""
    try:
        results = msgspec.json.decode(body, type=_Batch).results
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _unreadable() from None
    if not parcels.keys() <= results.keys():
        raise UpstreamError("Perplexity gave no place for one of the attachments.")
    return {name: _slot(results[name], parcel, clean) for name, parcel in parcels.items()}


def read_single(body: bytes, parcel: Parcel, clean: Clean) -> Slot:
    """Raises as `read_batch` does."""
    try:
        answer = msgspec.json.decode(body, type=_Answer)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise _unreadable() from None
    return _slot(answer, parcel, clean)


def _slot(answer: _Answer, parcel: Parcel, clean: Clean) -> Slot:
    if answer.rate_limited:
        raise UploadsExhausted(
            f"The upload quota of this Perplexity plan is used up, so '{parcel.name}' could not be sent. Questions "
            "without attachments still work."
        )
    if answer.error:
        reason = f": {clean(answer.error)}" if isinstance(answer.error, str) else "."
        raise AttachmentRefused(f"Perplexity does not take '{parcel.name}' ({parcel.kind}){reason}")
    if not answer.s3_bucket_url or not answer.s3_object_url or answer.fields is None:
        raise UpstreamError(f"Perplexity gave no place for '{parcel.name}'.")
    fields = {name: value if isinstance(value, str) else _text(value) for name, value in answer.fields.items()}
    return Slot(answer.s3_bucket_url, answer.s3_object_url, fields, answer.file_uuid or _uuid(fields.get("key", "")))


def _text(value: float | bool) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _uuid(key: str) -> str | None:
    """The file's id stands in the key before its name: `.../USER/FILE/NAME`."""
    parts = key.split("/")
    return parts[-2] if len(parts) > 2 else None


def _unreadable() -> UpstreamError:
    return UpstreamError("Perplexity's answer about a place for the attachments could not be read.")
