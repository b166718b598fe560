"""The content parts of an item as the parts of a turn: images and files are checked here, and never fetched by us."""

from collections.abc import Callable, Sequence
from typing import Any

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai import attachments
from pplx_gateway.protocols.openai.attachments import Attached
from pplx_gateway.protocols.openai.content import FileObject
from pplx_gateway.protocols.openai.responses.parts import (
    InputAudio,
    InputFile,
    InputImage,
    InputText,
    OutputRefusal,
    OutputText,
    ResultPart,
)
from pplx_gateway.question import ImagePart, Part, TextPart, apart


def part(piece: object, at: str, attached: Attached) -> Part:
    """`at` is the path that errors name. Raises InvalidRequest and its kinds."""
    return _PARTS[type(piece)](piece, at, attached)


def result_text(output: str | Sequence[ResultPart], at: str) -> str:
    """What a function returned. Raises InvalidRequest for all but text."""
    if isinstance(output, str):
        return output
    for place, piece in enumerate(output):
        if not isinstance(piece, InputText):
            where = f"{at}.output[{place}]"
            raise InvalidRequest(
                f"'{where}': what a function returns is text here. Put an image or a file into a message of the user.",
                param=f"{where}.type",
            )
    return apart(piece.text for piece in output if isinstance(piece, InputText))


def _image(piece: InputImage, at: str, attached: Attached) -> Part:
    if piece.image_url is not None and piece.file_id is not None:
        raise InvalidRequest(f"'{at}' has both 'image_url' and 'file_id'. Send one.", param=f"{at}.file_id")
    if piece.image_url is not None:
        return attachments.image(piece.image_url, f"{at}.image_url")
    if piece.file_id is None:
        raise InvalidRequest(f"Missing required parameter: '{at}.image_url'.", param=f"{at}.image_url")
    part = attachments.document(FileObject(file_id=piece.file_id), at, attached)
    if not isinstance(part, ImagePart):
        raise InvalidRequest(f"The file of '{at}.file_id' is no image. Use 'input_file'.", param=f"{at}.file_id")
    return part


def _file(piece: InputFile, at: str, attached: Attached) -> Part:
    if piece.file_url is None:
        return attachments.document(FileObject(**_file_fields(piece)), at, attached)
    if piece.file_data is not None or piece.file_id is not None:
        raise InvalidRequest(f"'{at}' names more than one file. Send one.", param=f"{at}.file_url")
    return attachments.document_address(piece.file_url, piece.filename, f"{at}.file_url")


def _file_fields(piece: InputFile) -> dict[str, str | None]:
    return {"file_data": piece.file_data, "file_id": piece.file_id, "filename": piece.filename}


def _audio(_: InputAudio, at: str, __: Attached) -> Part:
    raise InvalidRequest(
        f"'{at}': audio is not heard by any upstream. What works: input_text, input_image, input_file.",
        param=f"{at}.type",
    )


_PARTS: dict[type, Callable[[Any, str, Attached], Part]] = {
    InputText: lambda piece, _, __: TextPart(piece.text),
    InputImage: _image,
    InputFile: _file,
    InputAudio: _audio,
    OutputText: lambda piece, _, __: TextPart(piece.text),
    OutputRefusal: lambda piece, _, __: TextPart(piece.refusal),
}
