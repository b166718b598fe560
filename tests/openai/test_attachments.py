import base64

import pytest

from pplx_gateway.errors import FileNotFound, InvalidRequest, TooLarge
from pplx_gateway.protocols.openai import attachments
from pplx_gateway.protocols.openai.content import FileObject
from pplx_gateway.question import FilePart, ImagePart

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8
JPEG = b"\xff\xd8\xff\xe0"
GIF = b"GIF89a..."
WEBP = b"RIFF\0\0\0\0WEBP"
AT = "messages[0].content[1].image_url.url"


def data(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


@pytest.mark.parametrize(
    ("kind", "content"), [("image/png", PNG), ("image/jpeg", JPEG), ("image/gif", GIF), ("image/webp", WEBP)]
)
def test_images_of_four_kinds_pass(kind: str, content: bytes) -> None:
    assert attachments.image(data(kind, content), AT) == ImagePart(data(kind, content))


def test_capitals_and_jpg_are_put_right() -> None:
    payload = base64.b64encode(PNG).decode()
    assert attachments.image(f"DATA:Image/PNG;BASE64,{payload}", AT).url == f"data:image/png;base64,{payload}"
    assert attachments.image(data("image/jpg", JPEG), AT).url == data("image/jpeg", JPEG)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("data:image/png;base64,", "invalid_base64_image"),
        ("data:image/png;base64,iVBO Rw0KGgo=", "invalid_base64_image"),
        ("data:image/png;base64,iVBORw0K\nGgo=", "invalid_base64_image"),
        ("data:image/png;base64,!!!!", "invalid_base64_image"),
        ("data:image/png,rawbytes", "invalid_base64_image"),
        (data("image/jpeg", PNG), "invalid_base64_image"),
        (data("image/svg+xml", b"<svg/>"), "unsupported_image_media_type"),
        (data("text/html", b"<p>"), "unsupported_image_media_type"),
        ("data:,", "unsupported_image_media_type"),
        ("data:", "unsupported_image_media_type"),
        ("http://169.254.169.254/x", "invalid_request"),
        ("http://img.example/a.png", "invalid_request"),
        ("file:///etc/passwd", "invalid_request"),
        ("ftp://img.example/a.png", "invalid_request"),
        ("//img.example/a.png", "invalid_request"),
        ("https://", "invalid_request"),
        ("https://user:pw@img.example/a.png", "invalid_request"),
        ("https://img.example/a b.png", "invalid_request"),
        ("https://img.example/\r\nx", "invalid_request"),
        ("https://[::1", "invalid_request"),
        ("https://img.example/" + "a" * 9000, "invalid_request"),
        ("", "invalid_request"),
    ],
)
def test_other_images_are_refused_by_code_and_path(url: str, code: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        attachments.image(url, AT)
    assert (caught.value.code, caught.value.param, caught.value.status) == (code, AT, 400)
    assert "passwd" not in caught.value.message


def test_an_image_above_the_limit_is_a_400() -> None:
    big = data("image/png", PNG + b"\0" * attachments.MAX_ATTACHMENT_BYTES)
    with pytest.raises(attachments.InvalidBase64Image):
        attachments.image(big, AT)


PDF = b"%PDF-"


def document(file_data: str | None, filename: str | None = None, file_id: str | None = None) -> FilePart | ImagePart:
    return attachments.document(FileObject(file_data=file_data, filename=filename, file_id=file_id), "messages[0].file")


def test_bare_base64_and_a_data_url_come_out_equal() -> None:
    assert document("JVBERi0=", "a.pdf") == document("data:application/pdf;base64,JVBERi0=", "a.pdf")
    assert document("JVBERi0=") == FilePart(data="data:application/pdf;base64,JVBERi0=")


def test_a_vague_type_is_told_by_the_name() -> None:
    found = document(data("application/octet-stream", b"a;b"), "Table.CSV")
    assert found == FilePart(data=data("text/csv", b"a;b"), filename="Table.CSV")


def test_any_text_passes() -> None:
    python = data("text/x-python", b"pass")
    assert document(python, "a.py") == FilePart(data=python, filename="a.py")


@pytest.mark.parametrize(
    ("file_data", "filename", "tail"),
    [
        (None, "a.pdf", "file_data"),
        ("", "a.pdf", "file_data"),
        ("not base64", "a.pdf", "file_data"),
        ("data:application/pdf;base64,", "a.pdf", "file_data"),
        (data("application/zip", b"PK"), "a.zip", "file_data"),
        (data("image/png", PNG), "a.png", "file_data"),
        (base64.b64encode(b"MZ").decode(), "a.exe", "file_data"),
        (data("application/pdf", PNG), "a.pdf", "file_data"),
        (data("text/plain\r\nx: y", b"hello"), None, "file_data"),
        (data("text/plain", PNG), "a.txt", "file_data"),
        (base64.b64encode(b"hello").decode(), "a.pdf", "file_data"),
        (base64.b64encode(b"hello").decode(), None, "file_data"),
    ],
)
def test_other_files_are_refused_and_what_works_is_told(file_data: str | None, filename: str, tail: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        document(file_data, filename)
    assert caught.value.param == f"messages[0].file.{tail}"


def test_the_refusal_of_a_type_lists_what_works() -> None:
    with pytest.raises(attachments.UnsupportedFile, match="pdf"):
        document(data("application/zip", b"PK"))


def test_a_file_by_its_id_is_whatever_was_uploaded() -> None:
    held: attachments.Attached = {
        "file-1": FilePart(data=data("application/pdf", PDF)),
        "file-2": ImagePart(data("image/png", PNG)),
    }
    for name, part in held.items():
        assert attachments.document(FileObject(file_id=name), "messages[0].file", held) == part


def test_an_id_of_no_file_is_a_404_that_does_not_repeat_it() -> None:
    with pytest.raises(FileNotFound) as caught:
        document(None, file_id="file-1\nSECRET")
    assert (caught.value.param, caught.value.status) == ("messages[0].file.file_id", 404)
    assert "SECRET" not in caught.value.message


def test_an_id_beside_data_is_refused() -> None:
    with pytest.raises(InvalidRequest) as caught:
        document("JVBERi0=", file_id="file-1")
    assert caught.value.param == "messages[0].file.file_id"


def test_an_uploaded_file_is_an_image_a_document_or_refused() -> None:
    stored = attachments.stored
    assert stored("image/png", "a.png", PNG, AT) == ImagePart(data("image/png", PNG), "a.png")
    assert stored("text/x-c", "a.c", b"int", AT) == FilePart(data=data("text/x-c", b"int"), filename="a.c")
    with pytest.raises(attachments.UnsupportedFile, match="pdf") as caught:
        stored("application/zip", "a.zip", b"PK", AT)
    assert caught.value.param == AT
    with pytest.raises(TooLarge):
        stored("image/png", "a.png", b"\0" * (attachments.MAX_ATTACHMENT_BYTES + 1), AT)


def test_a_file_above_the_limit_is_a_413() -> None:
    with pytest.raises(TooLarge):
        document(data("application/pdf", b"\0" * (attachments.MAX_ATTACHMENT_BYTES + 1)))
