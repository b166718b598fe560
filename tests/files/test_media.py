"""What a file is."""

import pytest

from pplx_gateway import media
from pplx_gateway.protocols.openai.upload import WrongFileType, kind_of
from tests.files.samples import JPEG, PDF, PNG

DOCX = media.DOCUMENTS["docx"]


@pytest.mark.parametrize(
    ("content_type", "filename", "head", "kind"),
    [
        ("image/png", "a.png", PNG, "image/png"),
        ("Image/JPG; q=1", "a", JPEG, "image/jpeg"),
        ("", "a.PNG", PNG, "image/png"),
        ("application/octet-stream", "a", PNG, "image/png"),
        ("application/octet-stream", "a.pdf", PDF, "application/pdf"),
        ("application/pdf", "a", b"junk before the mark " + PDF, "application/pdf"),
        ("", "notes", b"plain words", "text/plain"),
        ("", "notes", "gerührt".encode()[:4], "text/plain"),
        ("", "a.py", b"print()", "text/plain"),
        ("text/x-python", "a.py", b"print()", "text/x-python"),
        ("", "a.docx", b"PK\x03\x04", DOCX),
        ("", "a", b"PK\x03\x04", "application/zip"),
        ("", "a", b"\x00\x01\x02", "application/octet-stream"),
        ("nonsense", "a.md", b"# Hi", "text/markdown"),
        ("text/plain; charset=utf-8", "a.txt", b"%PDF is a format", "text/plain"),
        ("text/rtf", "a.rtf", b"{\\rtf1", "application/rtf"),
    ],
)
def test_a_file_is_what_its_bytes_agree_with(content_type: str, filename: str, head: bytes, kind: str) -> None:
    assert kind_of(content_type, filename, head) == kind


@pytest.mark.parametrize(
    ("content_type", "filename", "head"),
    [
        ("image/jpeg", "a.jpg", PNG),
        ("image/png", "a.png", b"words"),
        ("image/png", "a.png", b""),
        ("", "a.png", b"words"),
        ("application/octet-stream", "a.pdf", PNG),
        ("text/plain", "a.txt", PNG),
        ("text/html", "a.html", b"PK\x03\x04"),
        ("application/pdf", "a.pdf", b"words"),
        (DOCX, "a.docx", b"words"),
        ("image/webp", "a.webp", b"RIFF____WAVE"),
    ],
)
def test_bytes_that_are_something_else_are_refused(content_type: str, filename: str, head: bytes) -> None:
    with pytest.raises(WrongFileType) as caught:
        kind_of(content_type, filename, head)
    assert (caught.value.status, caught.value.param) == (400, "file")


@pytest.mark.parametrize(
    ("filename", "name"),
    [
        ("a.png", "a.png"),
        ("dir/a.png", "a.png"),
        ("C:\\dir\\a.png", "a.png"),
        ("/etc/passwd", "passwd"),
        ("a..b", "a..b"),
    ],
)
def test_only_the_base_name_is_kept(filename: str, name: str) -> None:
    assert media.base_name(filename) == name


@pytest.mark.parametrize(
    "filename",
    [
        "",
        ".",
        "..",
        "../a",
        "a/../b",
        "..\\a",
        "a/..",
        "dir/",
        " ",
        "a\0b",
        "a\nb",
        "a\x7f",
        "\ud800",
        "x" * 300,
        ". ./.. ",
    ],
)
def test_names_that_climb_or_are_none_are_refused(filename: str) -> None:
    with pytest.raises(ValueError, match=r"^(climbs|holds|is)"):
        media.base_name(filename)
