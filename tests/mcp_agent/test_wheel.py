"""What is released: a wheel that holds the file byte by byte and nothing else that runs, a command, and the licence."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path
from typing import NamedTuple

import pplx_agent_mcp
import pytest

from tests.mcp_agent.way import FILE

REQUESTS = (
    b'{"jsonrpc":"2.0","id":1,"method":"server/discover"}\n{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
    b'{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"perplexity_agent","arguments":{"query":"x"}}}\n'
)
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "--quiet")


BUILD = "import sys; from setuptools import build_meta as b; out = sys.argv[1]; b.build_sdist(out); b.build_wheel(out)"
PACKAGES = FILE.parent.parent
LICENCE = (PACKAGES.parent / "LICENSE").read_bytes()


class Release(NamedTuple):
    sdist: Path
    wheel: Path


def release(name: str, folder: Path) -> Release:
    """Built from a copy, so that building leaves nothing in the repository."""
    copy, out = folder / "source", folder / "out"
    shutil.copytree(PACKAGES / name, copy, ignore=shutil.ignore_patterns("*.egg-info", "build", "__pycache__"))
    out.mkdir()
    subprocess.run([sys.executable, "-c", BUILD, out], cwd=copy, check=True, capture_output=True, timeout=100)
    (sdist,), (wheel,) = out.glob("*.tar.gz"), out.glob("*.whl")
    return Release(sdist, wheel)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release("pplx-agent-mcp", tmp_path_factory.mktemp("release"))


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Release:
    return release("llm-pplx-agent", tmp_path_factory.mktemp("plugin"))


@pytest.fixture
def wheel(released: Release) -> Path:
    return released.wheel


def test_every_release_carries_the_licence(released: Release, plugin: Release) -> None:
    for built in (released, plugin):
        with zipfile.ZipFile(built.wheel) as archive:
            (licence,) = [name for name in archive.namelist() if name.endswith("/licenses/LICENSE")]
            assert archive.read(licence) == LICENCE
            metadata = next(archive.read(name) for name in archive.namelist() if name.endswith("/METADATA")).decode()
        assert "License-Expression: MIT" in metadata
        with tarfile.open(built.sdist) as archive:
            (member,) = [name for name in archive.getnames() if name.endswith("/LICENSE")]
            packed = archive.extractfile(member)
            assert packed
            assert packed.read() == LICENCE


def test_the_plugins_wheel_holds_the_plugin_its_entry_point_and_its_needs(plugin: Release) -> None:
    code = PACKAGES / "llm-pplx-agent" / "llm_pplx_agent"
    modules = {f"{code.name}/{file.name}" for file in code.iterdir() if file.suffix == ".py" or file.name == "py.typed"}
    with zipfile.ZipFile(plugin.wheel) as archive:
        files = {name.rpartition("/")[2]: archive.read(name).decode() for name in archive.namelist()}
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == modules
    needs = re.findall(r"^Requires-Dist: (.+)$", files["METADATA"], re.MULTILINE)
    assert needs == ["llm>=0.36", f"pplx-agent-mcp=={pplx_agent_mcp.__version__}"]
    assert files["entry_points.txt"].split() == ["[llm]", "pplx_agent", "=", "llm_pplx_agent"]


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
