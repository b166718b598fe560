"""A form with one file in it, read into memory: what goes on upstream as a whole."""

from collections.abc import Sequence
from typing import NamedTuple

from pplx_gateway import media
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.web.forms import Field, FileBegin, FileBytes, FormReader
from pplx_gateway.web.limits import file_too_large


class OneFile(NamedTuple):
    filename: str
    content: bytes
    fields: dict[str, str]


class FileForm:
    """Feed it the body as it comes; `close` gives what was in it. `known` are the fields that may stand beside `file`.

    Everything raises InvalidRequest with the form's field as `param`, and TooLarge."""

    def __init__(self, content_type: str, known: Sequence[str], most_bytes: int) -> None:
        self._form = FormReader(content_type)
        self._known = known
        self._most_bytes = most_bytes
        self._fields: dict[str, str] = {}
        self._filename: str | None = None
        self._content = bytearray()

    def feed(self, data: bytes) -> None:
        for event in self._form.feed(data):
            match event:
                case Field(name, value):
                    self._field(name, value)
                case FileBegin():
                    self._begin(event)
                case FileBytes(part, _):
                    self._content += part
                    if len(self._content) > self._most_bytes:
                        raise file_too_large(self._most_bytes)

    def close(self) -> OneFile:
        self._form.close()
        if self._filename is None:
            message = "Missing required parameter: 'file', a part of the form with a filename."
            raise InvalidRequest(message, param="file")
        if not self._content:
            raise InvalidRequest("'file' is empty.", param="file")
        return OneFile(self._filename, bytes(self._content), self._fields)

    def _field(self, name: str, value: str) -> None:
        if name == "file":
            raise InvalidRequest("'file' must be a file: a part of the form with a filename.", param="file")
        if name not in self._known:
            raise InvalidRequest(f"The form has a field '{name[:80]}' that is not known here.", param=name[:80])
        self._fields[name] = value

    def _begin(self, file: FileBegin) -> None:
        if file.name != "file" or self._filename is not None:
            raise InvalidRequest("The form must hold one file, and its name must be 'file'.", param="file")
        try:
            self._filename = media.base_name(file.filename)
        except ValueError as error:
            raise InvalidRequest(f"The filename {error}.", param="file") from None
