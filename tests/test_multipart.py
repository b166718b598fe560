"""Forms as they are made, read by the reader of forms."""

from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.multipart import form
from pplx_gateway.web.forms import Field, FileBegin, FileBytes, FormReader


@given(st.binary(max_size=300), st.text(st.characters(codec="utf-8", exclude_characters='"\r\n\\'), max_size=30))
def test_a_form_comes_back_as_it_was_made(content: bytes, filename: str) -> None:
    made = form({"purpose": "batch"}, filename, content, "application/jsonl")
    reader = FormReader(made.content_type)
    events = reader.feed(made.body)
    reader.close()
    assert [event for event in events if isinstance(event, Field)] == [Field("purpose", "batch")]
    (begin,) = [event for event in events if isinstance(event, FileBegin)]
    assert (begin.name, begin.filename, begin.content_type) == ("file", filename, "application/jsonl")
    assert b"".join(event.data for event in events if isinstance(event, FileBytes)) == content


def test_a_name_cannot_end_its_header() -> None:
    made = form({}, 'a"\r\nx: y', b"data", "application/zip")
    assert b'filename="a%22%0D%0Ax: y"' in made.body
