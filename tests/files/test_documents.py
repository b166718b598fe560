"""What the documents say of files."""

from pathlib import Path

import pytest

from pplx_gateway.errors import FileNotFound, GatewayError, StorageFull
from pplx_gateway.protocols.openai.attachments import InvalidBase64Image, UnsupportedFile, UnsupportedImageMediaType
from pplx_gateway.protocols.openai.upload import EmptyFile, WrongFileType

ERRORS = Path(__file__).resolve().parents[2] / "docs" / "errors.md"
KINDS = [
    EmptyFile,
    WrongFileType,
    InvalidBase64Image,
    UnsupportedFile,
    UnsupportedImageMediaType,
    FileNotFound,
    StorageFull,
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_every_code_of_files_is_told_with_what_helps(kind: type[GatewayError]) -> None:
    made, helps = ERRORS.read_text(encoding="utf-8").split("## What to do")
    assert f"| {kind.status} | `{kind.code}` | `{kind.type}` |" in made
    assert f"| `{kind.code}` |" in helps
