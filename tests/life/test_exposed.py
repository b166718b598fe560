"""A `.env` that others can read, and a data folder that they can look into: told at start, with the way out."""

import json
from pathlib import Path

import pytest

from pplx_gateway.environment import exposed, folder_exposed
from tests.test_commands import program

SECRET = "pplx-SECRET-0123456789"
HELD = f"PERPLEXITY_API_KEY={SECRET}\n"


def dotenv(folder: Path, text: str = HELD, mode: int = 0o644) -> Path:
    file = folder / ".env"
    file.write_text(text)
    file.chmod(mode)
    return file


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o660])
def test_secrets_that_others_can_read_are_told(tmp_path: Path, mode: int) -> None:
    file = dotenv(tmp_path, mode=mode)
    told = exposed(file)
    assert told is not None
    assert all(part in told for part in (str(file), "PERPLEXITY_API_KEY", "chmod 600"))
    assert SECRET not in told


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        (HELD, 0o600),
        (HELD, 0o400),
        ("PPLX_LANGUAGE=de-DE\n", 0o644),
        ("PPLX_COOKIE=your_cookie_here\nPERPLEXITY_API_KEY=\n", 0o644),
        ("PERPLEXITY_API_KEY_FILE=/run/secrets/key\n", 0o644),
    ],
)
def test_nothing_is_told_where_nothing_lies_open(tmp_path: Path, text: str, mode: int) -> None:
    assert exposed(dotenv(tmp_path, text, mode)) is None
    assert exposed(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("mode", "told"), [(0o700, False), (0o500, False), (0o755, True), (0o710, True), (0o702, True)]
)
def test_a_data_folder_that_others_can_look_into_is_told(tmp_path: Path, mode: int, told: bool) -> None:
    folder = tmp_path / "data"
    assert folder_exposed(folder) is None
    folder.mkdir()
    folder.chmod(mode)
    found = folder_exposed(folder)
    assert (found is not None) is told
    assert found is None or f"chmod 700 {folder}" in found


@pytest.mark.parametrize("workers", [(), ("--workers", "2")])
async def test_serve_warns_once(tmp_path: Path, workers: tuple[str, ...]) -> None:
    file = dotenv(tmp_path, HELD + "PPLX_UPSTREAMS=api\n")
    (tmp_path / "data").mkdir(mode=0o755)
    (tmp_path / "data").chmod(0o755)
    async with program("serve", "--port", "0", *workers, folder=tmp_path) as gateway:
        _, err = await gateway.stop()
    lines = [json.loads(line) for line in err.splitlines() if "chmod" in line]
    assert [line["level"] for line in lines] == ["WARNING", "WARNING"]
    assert str(file) in lines[0]["message"]
    assert f"chmod 700 {tmp_path / 'data'}" in lines[1]["message"]
    assert SECRET not in err
