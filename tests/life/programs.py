"""The commands as processes, for tests that kill them; and scripts/inject-cookie as a person runs it."""

import asyncio
import os
from pathlib import Path

from tests.rig import KEY
from tests.test_commands import Program

SCRIPT = Path(__file__).resolve().parent.parent.parent / "scripts" / "inject-cookie"


def settings(emulator_url: str, cookie: str | None, **more: str) -> dict[str, str]:
    """The environment of a gateway that has only its session."""
    return {
        "PPLX_SESSION_URL": emulator_url,
        "PPLX_API_URL": emulator_url,
        "PPLX_PROXY_API_KEY": KEY,
        "PPLX_UPSTREAMS": "session",
        "ACCOUNT_TYPE": "max",
        **({"PPLX_COOKIE": cookie} if cookie else {}),
        **more,
    }


async def killed(program: Program) -> None:
    """As the kernel does it: no chance to say goodbye."""
    program.process.kill()
    await program.process.wait()


async def inject(*arguments: str, stdin: bytes, **environ: str) -> tuple[int, str, str]:
    """The script's status, and what it wrote to stdout and stderr. Its environment holds nothing but what is given."""
    process = await asyncio.create_subprocess_exec(
        str(SCRIPT),
        *arguments,
        env={"PATH": os.environ["PATH"], **environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(stdin), 60)
    return process.returncode or 0, out.decode(), err.decode()
