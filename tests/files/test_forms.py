"""Forms as clients write them, at every split, and those that are none."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.web.forms import Field, FileBegin, FileBytes, FileEnd, FormEvent, FormReader

DISPOSITION = b"Content-Disposition: form-data; "
KIND = 'multipart/form-data; boundary="X-y"'
DATA = b"\x89PNG\r\n--X-\r\n\r\n--X-z\r\n\xff"


def form(*parts: bytes, end: bytes = b"--X-y--\r\n") -> bytes:
    return b"".join(b"--X-y\r\n" + part + b"\r\n" for part in parts) + end


def field(name: bytes, value: bytes) -> bytes:
    return DISPOSITION + b'name="' + name + b'"\r\n\r\n' + value


def file(data: bytes = DATA, name: bytes = b'filename="a.png"') -> bytes:
    return DISPOSITION + b'name="file"; ' + name + b"\r\nContent-Type: image/png\r\n\r\n" + data


WHOLE = form(field(b"purpose", b"vision"), file(), field(b"expires_after[anchor]", b"created_at"))


def read(*pieces: bytes, kind: str = KIND) -> list[FormEvent]:
    """The events, with the file's bytes joined."""
    reader = FormReader(kind)
    events: list[FormEvent] = []
    for piece in pieces:
        for event in reader.feed(piece):
            if isinstance(event, FileBytes) and events and isinstance(events[-1], FileBytes):
                events[-1] = FileBytes(events[-1].data + event.data, events[-1].offset)
            else:
                events.append(event)
    reader.close()
    return events


EXPECTED = [
    Field("purpose", "vision"),
    FileBegin("file", "a.png", "image/png"),
    FileBytes(DATA, WHOLE.index(DATA)),
    FileEnd(),
    Field("expires_after[anchor]", "created_at"),
]


def test_a_form_tells_its_fields_and_its_file_in_order() -> None:
    assert read(WHOLE) == EXPECTED


def test_every_split_in_two_tells_the_same() -> None:
    for place in range(len(WHOLE)):
        found = read(WHOLE[:place], WHOLE[place:])
        # a first byte that might begin a boundary is told of late, and then its place is the later one
        assert [event for event in found if not isinstance(event, FileBytes)] == EXPECTED[:2] + EXPECTED[3:]
        assert [event.data for event in found if isinstance(event, FileBytes)] == [DATA]


@settings(max_examples=60, deadline=None)
@given(data=st.binary(max_size=200), sizes=st.lists(st.integers(1, 40), min_size=1, max_size=20))
def test_any_bytes_come_through_whole_in_any_pieces(data: bytes, sizes: list[int]) -> None:
    body = form(file(b"<" + data + b">"))
    pieces, start = [], 0
    for size in sizes:
        pieces.append(body[start : start + size])
        start += size
    events = read(*pieces, body[start:])
    assert b"".join(event.data for event in events if isinstance(event, FileBytes)) == b"<" + data + b">"


def test_what_follows_the_file_can_be_reckoned_where_it_is_the_last_part() -> None:
    body = form(field(b"purpose", b"vision"), file())
    reader = FormReader(KIND)
    offset = next(event.offset for event in reader.feed(body) if isinstance(event, FileBytes))
    assert len(body) - offset - reader.tail_bytes == len(DATA)


@pytest.mark.parametrize(
    ("name", "filename"),
    [
        (b'filename="a.png"', "a.png"),
        ('filename="Straße 東.png"'.encode(), "Straße 東.png"),
        (b"filename*=UTF-8''Stra%C3%9Fe%20%E6%9D%B1.png", "Straße 東.png"),
        (b"filename*=utf-8'en'a.png", "a.png"),
        (b"filename=\"plain.png\"; filename*=utf-8''other.png", "plain.png"),
        (b'filename="a \\"b\\".png"', 'a "b".png'),
        (b'filename="../../etc/passwd"', "../../etc/passwd"),
        (b'filename="C:\\\\dir\\\\a.png"', "a.png"),
        (b'filename=""', ""),
    ],
)
def test_names_come_as_clients_write_them(name: bytes, filename: str) -> None:
    assert read(form(file(name=name)))[0] == FileBegin("file", filename, "image/png")


def test_a_part_without_a_filename_is_a_field() -> None:
    assert read(form(field(b"file", b"text"))) == [Field("file", "text")]


@pytest.mark.parametrize(
    "kind",
    ["", "application/json", "multipart/form-data", "multipart/form-data; boundary=", "multipart/mixed; boundary=X"],
)
def test_a_body_of_another_kind_is_refused(kind: str) -> None:
    with pytest.raises(InvalidRequest, match="multipart/form-data"):
        FormReader(kind)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"no form",
        b"--X-y",
        form(file(), end=b""),
        form(file(), end=b"--X-y\r\n"),
        WHOLE[: len(WHOLE) // 2],
        form(b"no header"),
        form(b"Content-Type: image/png\r\n\r\nx"),
        form(DISPOSITION + b"filename=x\r\n\r\nx"),
        form(field(b"\xff", b"x")),
        form(field(b"purpose", b"\xff")),
        form(file(name=b'filename="\xff"')),
        form(field(b"purpose", b"x" * 5000)),
        form(*[field(b"a", b"b")] * 40),
        form(DISPOSITION + b"name=a\r\n" + b"x: y\r\n" * 5000 + b"\r\n"),
        form(DISPOSITION + b"name=" + b"a" * 100_000 + b"\r\n\r\n"),
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_is_no_whole_form_is_a_400(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read(body)


def test_a_boundary_of_any_length_is_a_form_or_a_400() -> None:
    with pytest.raises(InvalidRequest):
        FormReader(f"multipart/form-data; boundary={'x' * 10_000}")
