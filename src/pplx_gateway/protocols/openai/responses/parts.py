"""The content parts of an input item, as callers write them. The `type` of a part chooses its struct."""

from typing import Literal

import msgspec


class InputText(msgspec.Struct, frozen=True, tag_field="type", tag="input_text"):
    text: str


class InputImage(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input_image"):
    """An `https:` address, a `data:` URL, or an uploaded image by its id; `detail` has no effect."""

    image_url: str | None = None
    file_id: str | None = None
    detail: Literal["low", "high", "auto", "original"] | None = None


class InputFile(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="input_file"):
    """`file_data` is a `data:` URL or bare base64; bare base64 needs a `filename` that tells its type."""

    file_data: str | None = None
    file_url: str | None = None
    file_id: str | None = None
    filename: str | None = None
    detail: str | None = None


class InputAudio(msgspec.Struct, frozen=True, tag_field="type", tag="input_audio"):
    """Refused: neither upstream listens."""


class OutputText(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="output_text"):
    """Text of an earlier answer. Its annotations and logprobs come back as they went out, and say nothing new."""

    text: str
    annotations: list[object] | None = None
    logprobs: list[object] | None = None


class OutputRefusal(msgspec.Struct, frozen=True, tag_field="type", tag="refusal"):
    refusal: str


AskedPart = InputText | InputImage | InputFile | InputAudio
SystemPart = InputText
AnsweredPart = OutputText | OutputRefusal
ResultPart = InputText | InputImage | InputFile
