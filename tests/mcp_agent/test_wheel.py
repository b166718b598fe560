"""What is released: a wheel that holds the file byte by byte and nothing else that runs, a command, and the licence."""

import hashlib
import json
import os
import re
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


PACKAGES = FILE.parent.parent
LICENCE = (PACKAGES.parent / "LICENSE").read_bytes()


class Release(NamedTuple):
    sdist: Path
    wheel: Path


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    command = [PACKAGES.parent / "scripts" / "release-assets", folder]
    subprocess.run(command, env={**os.environ, "PYTHON": sys.executable}, check=True, capture_output=True, timeout=200)
    return folder


def release(assets: Path, name: str) -> Release:
    (sdist,), (wheel,) = assets.glob(f"{name}-*.tar.gz"), assets.glob(f"{name}-*.whl")
    return Release(sdist, wheel)


@pytest.fixture(scope="module")
def released(assets: Path) -> Release:
    return release(assets, "pplx_agent_mcp")


@pytest.fixture(scope="module")
def plugin(assets: Path) -> Release:
    return release(assets, "llm_pplx_agent")


@pytest.fixture
def wheel(released: Release) -> Path:
    return released.wheel


def test_a_release_offers_the_file_itself_and_the_sums_of_all(assets: Path) -> None:
    assert (assets / FILE.name).read_bytes() == FILE.read_bytes()
    lines = [line.split("  ") for line in (assets / "SHA256SUMS").read_text().splitlines()]
    told = {name: digest for digest, name in lines}
    files = [file for file in assets.iterdir() if file.name != "SHA256SUMS"]
    assert told == {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    assert sorted(re.sub(r"-.*", "", name) for name in told) == sorted(
        [*("llm_pplx_agent", "pplx_agent_mcp", "pplx_gateway") * 2, FILE.name]
    )


def test_assets_are_laid_beside_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "old.whl").touch()
    refused = subprocess.run(
        [PACKAGES.parent / "scripts" / "release-assets", tmp_path], capture_output=True, text=True, check=False
    )
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "is not empty" in refused.stderr


def test_the_gateways_wheel_holds_all_that_it_needs(assets: Path) -> None:
    source = PACKAGES.parent / "src"
    needed = {
        str(file.relative_to(source))
        for file in source.rglob("*")
        if file.is_file() and "__pycache__" not in file.parts and ".egg-info" not in str(file)
    }
    with zipfile.ZipFile(release(assets, "pplx_gateway").wheel) as archive:
        assert {name for name in archive.namelist() if ".dist-info/" not in name} == needed


def test_every_release_carries_the_licence(assets: Path) -> None:
    for built in (release(assets, name) for name in ("pplx_agent_mcp", "llm_pplx_agent", "pplx_gateway")):
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


def test_every_release_holds_the_very_bytes_of_the_file(released: Release) -> None:
    with zipfile.ZipFile(released.wheel) as archive:
        code = [name for name in archive.namelist() if ".dist-info/" not in name]
        assert code == [FILE.name]
        packed = [archive.read(FILE.name)]
    with tarfile.open(released.sdist) as source:
        (member,) = [name for name in source.getnames() if name.endswith(f"/{FILE.name}")]
        found = source.extractfile(member)
        assert found
        packed.append(found.read())
    own = hashlib.sha256(FILE.read_bytes()).hexdigest()
    assert [hashlib.sha256(content).hexdigest() for content in packed] == [own, own]


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
