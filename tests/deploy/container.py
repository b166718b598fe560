"""The image's command, run as the image would run it, without an engine and without the image.

Where this machine lets us (root on Linux) it gets what makes a container: it is process 1 of a PID namespace, with its
own /proc and /run, the mark that engines leave there, and the image's user. Elsewhere it is an ordinary process in a
group of its own. Other folders stand for the image's: one below /run or a temporary one for /data, that of this
interpreter for /opt/pplx-gateway/bin.
"""

import asyncio
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from tests.deploy.files import dockerfile
from tests.test_commands import ANNOUNCEMENT

# /root is hidden, as an image has none of its own; the interpreter is shown where it was, in case it lives there.
_SETUP = """
set -eu
mount --make-rprivate /
mount -t proc proc /proc
mount -t tmpfs -o mode=755 tmpfs /mnt
mkdir /mnt/python /mnt/files
mount --bind "$PREFIX" /mnt/python
cp -r "$FILES/." /mnt/files
mount -t tmpfs -o mode=755 tmpfs /root
mkdir -p "$PREFIX"
mount --bind /mnt/python "$PREFIX"
mount -t tmpfs -o mode=755 tmpfs /run
touch /run/.containerenv
mkdir /run/data /run/secrets
cp -r /mnt/files/. /run/secrets
chown -R "$IDS" /run/data /run/secrets
chmod -R go= /run/data /run/secrets
cd /run/data
"""


class Place(NamedTuple):
    """Where the command finds its data and the files that were given to it."""

    data: Path
    secrets: Path


class Container(NamedTuple):
    """`first` is the process that a signal to the container reaches."""

    process: asyncio.subprocess.Process
    first: int

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.first, number)

    def stop(self) -> None:
        """What `docker stop` does first."""
        self.signal(signal.Signals[dockerfile().one("STOPSIGNAL").rest])

    async def ended(self, seconds: float = 10) -> tuple[int, str]:
        """Its status and all of stderr, once it has ended. Raises TimeoutError where an engine would kill it."""
        _, err = await asyncio.wait_for(self.process.communicate(), seconds)
        return self.process.returncode or 0, err.decode()

    async def address(self) -> str:
        assert self.process.stdout is not None
        line = (await asyncio.wait_for(self.process.stdout.readline(), 30)).decode().strip()
        if not line.startswith(ANNOUNCEMENT):
            _, err = await self.process.communicate()
            raise AssertionError(f"{line!r} instead of an address; {err.decode()[-2000:]}")
        return line.removeprefix("listening on ")


@cache
def contained() -> bool:
    """True if this machine lets us make namespaces in which the image's user can read the program."""
    if sys.platform != "linux" or os.geteuid() != 0 or shutil.which("unshare") is None:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = _unshared([sys.executable, "-c", "import pplx_gateway"], "")
        return subprocess.run(command, env=_setting(Path(folder)), capture_output=True, check=False).returncode == 0


def place(folder: Path) -> Place:
    return Place(Path("/run/data"), Path("/run/secrets")) if contained() else Place(folder / "data", folder / "secrets")


@contextlib.asynccontextmanager
async def container(
    folder: Path,
    environ: Mapping[str, str],
    *,
    command: Sequence[str] = (),
    files: Mapping[str, str] | None = None,
    stdin: str = "",
) -> AsyncGenerator[Container, None]:
    """`environ` is what `docker run --env` gives; `command` takes CMD's place; `files` are mounted as secrets; `stdin`
    is a redirection of a shell."""
    for made in (folder / "data", folder / "secrets"):
        made.mkdir(exist_ok=True)
    for name, text in (files or {}).items():
        (folder / "secrets" / name).write_text(text, encoding="utf-8")
    image = dockerfile()
    whole = [*image.one("ENTRYPOINT").command, *(command or image.one("CMD").command)]
    process = await asyncio.create_subprocess_exec(
        *(_unshared(whole, stdin) if contained() else ["sh", "-c", f"exec {shlex.join(whole)} {stdin}"]),
        cwd=folder / "data",
        env={**_setting(folder / "secrets"), **_environment(place(folder)), **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    first = await _first(process)
    try:
        yield Container(process, first)
    finally:
        if process.returncode is None:
            # It would outlive unshare: --kill-child is forgotten at the change of user.
            os.kill(first, signal.SIGKILL)
            await process.communicate()


def _unshared(command: Sequence[str], stdin: str) -> list[str]:
    uid, _, gid = dockerfile().one("USER").rest.partition(":")
    user = f"--reuid {uid} --regid {gid} --clear-groups --no-new-privs --bounding-set -all --inh-caps -all"
    shell = f"{_SETUP} exec setpriv {user} -- {shlex.join(command)} {stdin}"
    return ["unshare", "--mount", "--pid", "--ipc", "--fork", "--", "sh", "-c", shell]


def _setting(files: Path) -> dict[str, str]:
    """What the shell before the command needs. Nothing else of this machine's environment gets in."""
    ids = dockerfile().one("USER").rest
    return {"PATH": os.environ["PATH"], "PREFIX": sys.base_prefix, "FILES": str(files), "IDS": ids}


def _environment(where: Place) -> dict[str, str]:
    """The image's own variables."""
    stand_ins = {
        "$PATH": os.environ["PATH"],
        "/data": str(where.data),
        "/opt/pplx-gateway/bin": str(Path(sys.executable).parent),
    }
    text = "\0".join(f"{name}={value}" for name, value in dockerfile().environment.items())
    for inside, outside in stand_ins.items():
        text = text.replace(inside, outside)
    return dict(pair.split("=", 1) for pair in text.split("\0"))


async def _first(process: asyncio.subprocess.Process) -> int:
    """unshare is only the parent of it."""
    if not contained():
        return process.pid
    children = f"/proc/{process.pid}/task/{process.pid}/children"
    while process.returncode is None:
        if found := read(children).split():
            return int(found[0])
        await asyncio.sleep(0.01)
    raise AssertionError("unshare started nothing")


def read(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")
