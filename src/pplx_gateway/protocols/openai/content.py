"""The content parts of a chat message, as callers write them. The `type` of a part chooses its struct."""

import msgspec


class TextContent(msgspec.Struct, frozen=True, tag_field="type", tag="text"):
    text: str


class RefusalContent(msgspec.Struct, frozen=True, tag_field="type", tag="refusal"):
    """Only in turns of the assistant."""

    refusal: str


class ImageAddress(msgspec.Struct, frozen=True):
    """`url` is an `https:` address or a `data:` URL of a PNG, JPEG, GIF or WebP image; `detail` has no effect."""

    url: str
    detail: str | None = None


class ImageContent(msgspec.Struct, frozen=True, tag_field="type", tag="image_url"):
    image_url: ImageAddress


class FileObject(msgspec.Struct, frozen=True, kw_only=True):
    """`file_data` is a `data:` URL or bare base64; bare base64 needs a `filename` that tells its type."""

    file_data: str | None = None
    filename: str | None = None
    file_id: str | None = None


class FileContent(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    file: FileObject


class FileAddress(msgspec.Struct, frozen=True):
    url: str


class FileUrlContent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="file_url"):
    """Perplexity's own part: a document by its `https:` address."""

    file_url: FileAddress | str
    file_name: str | None = None


class PdfUrlContent(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="pdf_url"):
    """Perplexity's own part: a PDF by its `https:` address."""

    pdf_url: FileAddress | str
    file_name: str | None = None


class AudioContent(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio"):
    """Refused: neither upstream listens."""


class VideoContent(msgspec.Struct, frozen=True, tag_field="type", tag="video_url"):
    """Refused: neither upstream watches."""


UserContent = TextContent | ImageContent | FileContent | FileUrlContent | PdfUrlContent | AudioContent | VideoContent
AssistantContent = TextContent | RefusalContent
