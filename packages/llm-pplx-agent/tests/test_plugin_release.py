"""What is released: the wheel, and a README that says what is so."""

import ast
import asyncio
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import llm_pplx_agent
import pplx_agent_mcp
import pytest
from llm_pplx_agent.options import RETIRED, AgentOptions
from plugin_rig import KEY, SECONDS, Rig, response

FOLDER = Path(__file__).resolve().parent.parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
COMMANDS = [
    line
    for block in re.findall(r"```bash\n(.*?)```", README, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("llm ")
]


def test_the_plugin_is_python_3_10() -> None:
    for file in (FOLDER / "llm_pplx_agent").glob("*.py"):
        ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 10))


def test_the_wheel_holds_the_plugin_its_entry_point_and_its_needs(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    source = tmp_path / "source"
    source.mkdir()
    for path in ("pyproject.toml", "README.md", *(f"llm_pplx_agent/{file.name}" for file in _modules())):
        (source / path).parent.mkdir(exist_ok=True)
        (source / path).write_bytes((FOLDER / path).read_bytes())
    subprocess.run([*build, "--wheel-dir", str(tmp_path), str(source)], check=True, capture_output=True, timeout=110)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        info = f"llm_pplx_agent-{llm_pplx_agent.__version__}.dist-info"
        needs = re.findall(r"^Requires-Dist: (.+)$", opened.read(f"{info}/METADATA").decode(), re.MULTILINE)
        assert opened.read(f"{info}/entry_points.txt").decode().split() == [
            "[llm]",
            "pplx_agent",
            "=",
            "llm_pplx_agent",
        ]
    assert {name for name in names if ".dist-info" not in name} == {
        f"llm_pplx_agent/{file.name}" for file in _modules()
    }
    assert needs == ["llm>=0.36", f"pplx-agent-mcp=={pplx_agent_mcp.__version__}"]


def _modules() -> list[Path]:
    return [file for file in (FOLDER / "llm_pplx_agent").iterdir() if file.suffix == ".py" or file.name == "py.typed"]


async def run(rig: Rig, command: str) -> str:
    """stdout of a command of the README, in a shell; stderr must hold no fault."""
    picture = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
    (rig.folder / "picture.png").write_bytes(picture)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    process = await asyncio.create_subprocess_exec(
        *("bash", "-c", f"set -o pipefail; {command}"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=rig.folder,
        env={**rig.environment, "PATH": path, "PERPLEXITY_API_KEY": KEY},
    )
    out, err = await asyncio.wait_for(process.communicate(f"{KEY}\n".encode()), 2 * SECONDS)
    assert process.returncode == 0, f"{command}: {err.decode()}"
    return out.decode()


async def test_the_readmes_commands_do_what_they_are_there_for(rig: Rig) -> None:
    assert COMMANDS[0] == "llm install llm-pplx-agent"
    assert len(COMMANDS) > 10
    for command in COMMANDS[1:]:
        if "resp_" in command:
            named = re.findall(r"resp_[\w-]+", command)[0]
            await rig.script(response(), path=f"/v1/agent/{named}", method="GET")
        asked = len(await rig.bodies())
        out = await run(rig, command)
        if " keys " in command or " models " in command:
            continue
        if "resp_" not in command:
            assert len(await rig.bodies()) > asked
        assert out.strip() or (rig.folder / "answer.md").read_text()


@pytest.mark.parametrize("number", [0, 1])
async def test_the_readmes_programs_run(rig: Rig, number: int) -> None:
    programs = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(programs) == 2
    (rig.folder / "program.py").write_text(programs[number])
    assert (await run(rig, f"'{sys.executable}' program.py")).strip()


def test_the_readme_tells_every_option_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", README, re.MULTILINE)
    assert rows == list(AgentOptions.model_fields)
    told = re.search(r"have nothing to set any more \((.*?)\)", README, re.DOTALL)
    assert told
    assert set(re.findall(r"`(\w+)`", told[1])) == RETIRED
