"""The plugin's language, and a README that says what is so."""

import ast
import asyncio
import os
import re
import sys
from pathlib import Path

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


def test_the_plugin_reaches_into_nothing_private_of_the_one_file() -> None:
    for file in (FOLDER / "llm_pplx_agent").glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module == "pplx_agent_mcp":
                assert not [alias.name for alias in node.names if alias.name.startswith("_")]
            if isinstance(node, ast.Attribute) and re.match(r"_(?!_)", node.attr):
                assert ast.unparse(node.value) in ("self", "cls"), f"{file.name}: {ast.unparse(node)}"


SHIM = """\
#!{python} -IS
import os, sys
sys.path.append({tests!r})
import warm_llm
sys.exit(warm_llm.run({warm!r}, sys.argv[1:], os.getcwd(), os.environ, (0, 1, 2)))
"""


async def run(rig: Rig, command: str) -> str:
    """stdout of a command of the README, in a shell; stderr must hold no fault."""
    picture = bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489")
    (rig.folder / "picture.png").write_bytes(picture)
    shim = rig.folder / "bin" / "llm"
    shim.parent.mkdir(exist_ok=True)
    shim.write_text(SHIM.format(python=sys.executable, tests=str(Path(__file__).parent), warm=rig.warm))
    shim.chmod(0o700)
    path = os.pathsep.join((str(shim.parent), str(Path(sys.executable).parent), os.environ["PATH"]))
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
