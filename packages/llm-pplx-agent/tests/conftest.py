"""The emulator, and `llm` led to it."""

import shutil
import subprocess
import sys
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest
import warm_llm
from plugin_rig import Rig

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from tests.mcp_agent.way import way_to


@pytest.fixture(scope="session")
def warm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where `llm` is ready to run."""
    address = str(tmp_path_factory.mktemp("warm") / "llm")
    command = [sys.executable, str(Path(warm_llm.__file__)), address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "listening\n"
        yield address
        process.terminate()


@pytest.fixture(scope="session")
def empty_log(warm: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """llm's own database as it is at first. Making it takes longer than a run."""
    folder = tmp_path_factory.mktemp("log")
    with (folder / "out").open("w+b") as out:
        streams = [out.fileno()] * 3
        assert warm_llm.run(warm, ["fragments", "list"], str(folder), {"LLM_USER_PATH": str(folder)}, streams) == 0
    return folder / "logs.db"


@pytest.fixture
async def rig(tmp_path: Path, warm: str, empty_log: Path) -> AsyncGenerator[Rig, None]:
    async with (
        EmulatorServer(Clock(), pace_seconds=0.001, background_seconds=0.05) as emulator,
        way_to(emulator.port, tmp_path) as way,
    ):
        (tmp_path / "llm").mkdir()
        shutil.copy(empty_log, tmp_path / "llm" / "logs.db")
        rig = Rig(emulator.url, way, tmp_path, warm)
        yield rig
        await rig.close()
