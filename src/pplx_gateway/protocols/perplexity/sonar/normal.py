"""A Sonar body in the words of a chat request, and what the caller wrote in their place.

Errors and notes about a field name it as it was written.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from pplx_gateway.errors import InvalidRequest, RequestError
from pplx_gateway.protocols.openai.chat_request import (
    ChatMessage,
    JsonSchema,
    JsonSchemaDefinition,
    ResponseFormat,
    UserMessage,
)
from pplx_gateway.protocols.openai.content import (
    FileAddress,
    FileContent,
    FileObject,
    FileUrlContent,
    ImageAddress,
    ImageContent,
    PdfUrlContent,
    UserContent,
)
from pplx_gateway.protocols.perplexity.sonar.request import (
    SonarBody,
    SonarContent,
    SonarImage,
    SonarJsonSchema,
    SonarMessage,
    SonarRequest,
    SonarUserMessage,
)

UNNAMED_SCHEMA = "answer"
LATEST_DAYS = 30
"""What `latest_updated` means: pages that were changed within so many days."""


class Normal(NamedTuple):
    """`written` holds, by the path of a field of `request`, the path that the caller wrote instead."""

    request: SonarRequest
    written: Mapping[str, str]

    def as_written(self, path: str) -> str:
        return self.written.get(path, path)

    @contextmanager
    def errors_as_written(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            if error.param is not None and (name := self.written.get(error.param)):
                error.message = error.message.replace(f"'{error.param}'", f"'{name}'")
                error.param = name
            raise


def normal(body: SonarBody, today: date) -> Normal:
    """Raises InvalidRequest where two fields say the same in different ways."""
    written: dict[str, str] = {}
    changes: dict[str, object] = {
        "messages": [_message(message, f"messages[{at}]", written) for at, message in enumerate(body.messages)],
        "response_format": _format(body),
        **_dates(body, today, written),
    }
    fields = {name: getattr(body, name) for name in SonarRequest.__struct_fields__}
    return Normal(SonarRequest(**{**fields, **changes}), written)


def _message(message: SonarMessage, at: str, written: dict[str, str]) -> ChatMessage:
    if not isinstance(message, SonarUserMessage):
        return message
    content = message.content
    if not isinstance(content, list):
        return UserMessage(content=content, name=message.name)
    parts = [_part(part, f"{at}.content[{place}]", written) for place, part in enumerate(content)]
    return UserMessage(content=parts, name=message.name)


def _part(part: SonarContent, at: str, written: dict[str, str]) -> UserContent:
    match part:
        case SonarImage():
            return _image(part, at, written)
        case FileUrlContent(file_url=address, file_name=name):
            return _document(part, address, name, f"{at}.file_url", written)
        case PdfUrlContent(pdf_url=address, file_name=name):
            return _document(part, address, name, f"{at}.pdf_url", written)
        case _:
            return part


def _image(part: SonarImage, at: str, written: dict[str, str]) -> ImageContent:
    address = part.image_url
    if isinstance(address, ImageAddress):
        return ImageContent(address)
    written[f"{at}.image_url.url"] = f"{at}.image_url"
    return ImageContent(ImageAddress(address))


def _document(
    part: FileUrlContent | PdfUrlContent, address: FileAddress | str, name: str | None, at: str, written: dict[str, str]
) -> UserContent:
    """Sonar took the bytes themselves, in base64, in the place of an address."""
    text = address if isinstance(address, str) else address.url
    if "://" in text[:32] or not text:
        return part
    written[f"{at.rpartition('.')[0]}.file.file_data"] = at
    return FileContent(FileObject(file_data=text, filename=name))


def _format(body: SonarBody) -> ResponseFormat | None:
    form = body.response_format
    if not isinstance(form, SonarJsonSchema):
        return form
    asked = form.json_schema
    return JsonSchema(
        JsonSchemaDefinition(
            name=asked.name or UNNAMED_SCHEMA,
            schema=asked.schema,
            strict=asked.strict,
            description=asked.description,
        )
    )


def _dates(body: SonarBody, today: date, written: dict[str, str]) -> dict[str, str]:
    """The older names for dates, as the newer ones."""
    latest = _american(today - timedelta(days=LATEST_DAYS)) if body.latest_updated else None
    said: Sequence[tuple[str, str, str | None]] = (
        ("search_after_date_filter", "published_after", body.published_after),
        ("search_before_date_filter", "published_before", body.published_before),
        ("last_updated_after_filter", "latest_updated", latest),
        ("last_updated_after_filter", "updated_after_timestamp", _day(body, "updated_after_timestamp")),
        ("last_updated_before_filter", "updated_before_timestamp", _day(body, "updated_before_timestamp")),
    )
    found: dict[str, str] = {}
    for name, older, value in said:
        if not value:
            continue
        other = written.get(name) if name in found else name if getattr(body, name) else None
        if other is not None:
            raise InvalidRequest(f"'{older}' and '{other}' say the same. Send one of them.", param=older)
        found[name], written[name] = value, older
    return found


def _day(body: SonarBody, name: str) -> str | None:
    """The day (UTC) of a moment; the upstream knows no finer dates."""
    moment: int | None = getattr(body, name)
    if moment is None:
        return None
    try:
        return _american(datetime.fromtimestamp(moment, UTC).date())
    except (OverflowError, OSError, ValueError):
        raise InvalidRequest(f"'{name}' is {moment}, which is no time in seconds since 1970.", param=name) from None


def _american(day: date) -> str:
    return f"{day.month:02}/{day.day:02}/{day.year:04}"
