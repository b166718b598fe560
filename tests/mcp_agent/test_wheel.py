"""What is released: a wheel that holds the file byte by byte and nothing else that runs, and its command."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from tests.mcp_agent.way import FILE

REQUESTS = (
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"perplexity_agent","arguments":{"query":"x"}}}\n'
)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that building leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("release")
    copy = folder / "source"
    shutil.copytree(FILE.parent, copy, ignore=shutil.ignore_patterns("*.egg-info", "build", "__pycache__"))
    build = [*PIP, "wheel", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(build, check=True, capture_output=True, timeout=100)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_very_bytes_of_the_file(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        code = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert code == ["pplx_agent_mcp.py"]
        packed = hashlib.sha256(archive.read("pplx_agent_mcp.py")).hexdigest()
    assert packed == hashlib.sha256(FILE.read_bytes()).hexdigest()


def test_the_wheel_needs_nothing_and_has_one_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        files = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
    assert "Requires-Dist" not in files["METADATA"]
    assert "Requires-Python: >=3.10" in files["METADATA"]
    assert "mcp-name: io.github." in files["METADATA"], "the registry looks for it on the package's page"
    assert re.sub(r"\s", "", files["entry_points.txt"]) == "[console_scripts]pplx-agent-mcp=pplx_agent_mcp:main"


def test_the_command_works_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    """Its replies are those of the bare file, byte for byte."""
    venv.create(tmp_path / "clean", with_pip=False)
    scripts = tmp_path / "clean" / "bin"
    install = [*PIP, "--python", str(scripts / "python"), "install", "--no-index", "--no-deps", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=100)
    installed = _replies(scripts / "pplx-agent-mcp", folder=tmp_path)
    assert installed == _replies(sys.executable, "-I", "-S", FILE, folder=tmp_path)
    assert [json.loads(line)["id"] for line in installed.splitlines()] == [1, 2, 3]


def _replies(*command: str | Path, folder: Path) -> bytes:
    environ = {"PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, cwd=folder, env=environ, input=REQUESTS, capture_output=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout
