"""Starts commands by forking a process that has everything imported: real processes, without an import's second each.

`python -m tests.commands.forks PATH` listens on a Unix socket. A caller sends one JSON line (arguments, folder,
environ) with three descriptors; it gets the process id in one line, and the exit code in another. `forked` is the
other side.
"""

import asyncio
import atexit
import contextlib
import functools
import gc
import importlib
import json
import os
import pkgutil
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MOST_BYTES = 1 << 20
ORPHAN_SECONDS = 5.0


def main(path: str) -> None:
    _import_all()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        gc.freeze()  # else each fork would copy what its collector touches
        print("ready", flush=True)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those who watch
        arguments = _serve(listener)
    from pplx_gateway.commands import main as run  # noqa: PLC0415 - only in the command's own process

    run(arguments)


def _import_all() -> None:
    import pplx_gateway.commands as package  # noqa: PLC0415

    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        importlib.import_module(module.name)


def _serve(listener: socket.socket) -> list[str]:
    """Returns in each command's process; in this one never, until the test run ends."""
    parent = os.getppid()
    listener.settimeout(ORPHAN_SECONDS)
    while os.getppid() == parent:
        try:
            caller, _ = listener.accept()
        except TimeoutError:
            continue
        caller.setblocking(True)
        if os.fork() == 0:
            listener.close()
            return _watch(caller)
        caller.close()
    os._exit(0)


def _watch(caller: socket.socket) -> list[str]:
    """Forks once more: one becomes the command, the other waits for it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, descriptors, _, _ = socket.recv_fds(caller, MOST_BYTES, 3)
    while not data.endswith(b"\n"):
        data += caller.recv(MOST_BYTES)
    asked = json.loads(data)
    child = os.fork()
    if child == 0:
        caller.close()
        return _become(asked, descriptors)
    for number in descriptors:
        os.close(number)
    with contextlib.suppress(OSError):
        caller.sendall(f"{child}\n".encode())
        _, status = os.waitpid(child, 0)
        caller.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
    os._exit(0)


def _become(asked: dict[str, object], descriptors: Sequence[int]) -> list[str]:
    """As a fresh interpreter would find things."""
    for place, number in enumerate(descriptors):
        os.dup2(number, place)
        os.close(number)
    os.chdir(str(asked["folder"]))
    os.environ.clear()
    os.environ.update(asked["environ"])  # type: ignore[call-overload]
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", buffering=1, closefd=False)  # noqa: SIM115
    return [str(word) for word in asked["arguments"]]  # type: ignore[attr-defined]


async def forked(
    arguments: Sequence[str], folder: Path, environ: dict[str, str], stdin: bytes
) -> tuple[int, bytes, bytes]:
    """Runs to the end, between pipes: exit code, output, errors. What is cancelled is killed."""
    theirs, (give, out, err) = _pipes()
    try:
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(_server())
            asked = {"arguments": list(arguments), "folder": str(folder), "environ": environ}
            socket.send_fds(caller, [json.dumps(asked).encode() + b"\n"], theirs)
            ending, writer = await asyncio.open_connection(sock=caller.dup())
    finally:
        for number in theirs:
            os.close(number)
    child = int(await ending.readline())
    code = b""
    try:
        _, said, complained = await asyncio.gather(_write(give, stdin), _read(out), _read(err))
        code = await ending.readline()
    finally:
        if not code:
            os.kill(child, signal.SIGKILL)
        writer.close()
    return int(code), said, complained


def _pipes() -> tuple[list[int], list[int]]:
    """For the command, and for us: stdin, stdout, stderr."""
    stdin, *outputs = (os.pipe() for _ in range(3))
    return [stdin[0], *(end for _, end in outputs)], [stdin[1], *(end for end, _ in outputs)]


async def _read(number: int) -> bytes:
    reader = asyncio.StreamReader()
    pipe = os.fdopen(number, "rb", buffering=0)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, pipe)
    try:
        return await reader.read()
    finally:
        transport.close()


async def _write(number: int, data: bytes) -> None:
    """A command need not read what it gets."""
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(number, "wb", buffering=0)
    transport, protocol = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, pipe)
    writer = asyncio.StreamWriter(transport, protocol, None, loop)
    with contextlib.suppress(ConnectionError):
        writer.write(data)
        await writer.drain()
    writer.close()


@functools.cache
def _server() -> str:
    """Its address. It runs until this process ends."""
    folder = tempfile.mkdtemp(prefix="forks-")
    path = f"{folder}/socket"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PPLX_", "PERPLEXITY_"))}
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.commands.forks", path], cwd=ROOT, env=clean, stdout=subprocess.PIPE
    )
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    atexit.register(server.wait)
    atexit.register(server.terminate)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    return path


if __name__ == "__main__":
    main(sys.argv[1])
