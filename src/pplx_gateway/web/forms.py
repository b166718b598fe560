"""Forms with a file in them (multipart/form-data) without I/O: bytes in, what they tell out.

Only the framing is the library's. How names are written differs between clients: UTF-8 in `filename=`, or
percent-encoded in `filename*=`.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header

from pplx_gateway.errors import InvalidRequest

MOST_FIELDS = 32
LONGEST_VALUE_BYTES = 4096

_EXTENDED_NAME = re.compile(rb"""filename\*\s*=\s*"?utf-8'[^']*'(?P<name>[^;"\s]+)""", re.IGNORECASE)


class Field(NamedTuple):
    name: str
    value: str


class FileBegin(NamedTuple):
    """`content_type` as it came, "" if none did."""

    name: str
    filename: str
    content_type: str


class FileBytes(NamedTuple):
    """`offset` is where they stand in the whole body."""

    data: bytes
    offset: int


class FileEnd(NamedTuple):
    pass


FormEvent = Field | FileBegin | FileBytes | FileEnd


class FormReader:
    """Feed it the body as it comes. Raises InvalidRequest for what is no form; it is of no use after that."""

    def __init__(self, content_type: str) -> None:
        kind, options = parse_options_header(content_type)
        boundary = options.get(b"boundary", b"")
        if kind != b"multipart/form-data" or not boundary:
            raise InvalidRequest("The body must be a form: multipart/form-data with a boundary.")
        try:
            self._parser = MultipartParser(
                boundary,
                {
                    "on_part_begin": self._part_begin,
                    "on_header_field": self._header_name,
                    "on_header_value": self._header_value,
                    "on_header_end": self._header_end,
                    "on_headers_finished": self._headers_end,
                    "on_part_data": self._data,
                    "on_part_end": self._part_end,
                    "on_end": self._end,
                },
            )
        except FormParserError:
            raise _broken() from None
        self.tail_bytes = len(boundary) + 8  # CRLF -- boundary -- CRLF, behind the last part
        self._events: list[FormEvent] = []
        self._read_bytes = 0
        self._fields = 0
        self._whole = False
        self._part_begin()

    def feed(self, data: bytes) -> list[FormEvent]:
        try:
            self._parser.write(data)
        except FormParserError:
            raise _broken() from None
        self._read_bytes += len(data)
        events, self._events = self._events, []
        return events

    def close(self) -> None:
        """The end of the body. Raises InvalidRequest if the form has not ended before it."""
        if not self._whole:
            raise _broken()

    # what the parser calls

    def _part_begin(self) -> None:
        self._headers: dict[bytes, bytes] = {}
        self._header = (b"", b"")
        self._name = ""
        self._value: bytearray | None = bytearray()

    def _header_name(self, data: bytes, start: int, end: int) -> None:
        name, value = self._header
        self._header = (name + data[start:end], value)

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        name, value = self._header
        self._header = (name, value + data[start:end])

    def _header_end(self) -> None:
        name, value = self._header
        self._headers[name.lower()] = value
        self._header = (b"", b"")

    def _headers_end(self) -> None:
        disposition = self._headers.get(b"content-disposition", b"")
        _, options = parse_options_header(disposition)
        if b"name" not in options:
            raise InvalidRequest("A part of the form has no name.")
        self._name = _text(options[b"name"], "A name in the form")
        self._fields += 1
        if self._fields > MOST_FIELDS:
            raise InvalidRequest(f"The form has more than {MOST_FIELDS} parts.")
        filename = options.get(b"filename") or _extended_name(disposition)
        if filename is None and b"filename" not in options:
            return
        self._value = None
        kind = self._headers.get(b"content-type", b"").decode("latin-1")
        self._events.append(FileBegin(self._name, _text(filename or b"", "The filename"), kind))

    def _data(self, data: bytes, start: int, end: int) -> None:
        if self._value is None:
            self._events.append(FileBytes(data[start:end], self._read_bytes + start))
            return
        if len(self._value) + end - start > LONGEST_VALUE_BYTES:
            raise InvalidRequest(f"A field of the form is longer than {LONGEST_VALUE_BYTES} bytes.")
        self._value += data[start:end]

    def _part_end(self) -> None:
        if self._value is None:
            self._events.append(FileEnd())
        else:
            self._events.append(Field(self._name, _text(bytes(self._value), "A field of the form")))

    def _end(self) -> None:
        self._whole = True


def _extended_name(disposition: bytes) -> bytes | None:
    found = _EXTENDED_NAME.search(disposition)
    return unquote_to_bytes(found["name"]) if found else None


def _text(data: bytes, what: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidRequest(f"{what} is not UTF-8.") from None


def _broken() -> InvalidRequest:
    return InvalidRequest("The body is not a whole multipart form.")
