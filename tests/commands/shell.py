"""`pplx-gateway` as a person and a script have it: a real process in a pseudo-terminal, or between pipes."""

import asyncio
import contextlib
import fcntl
import json
import os
import re
import signal
import struct
import sys
import termios
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, NamedTuple

from tests.commands.forks import forked
from tests.rig import KEY, Rig

PROGRAM = (sys.executable, "-c", "from pplx_gateway.commands import main; main()")
SECONDS = 40
PRESS_EVERY_SECONDS = 1.0
_OURS = ("PPLX_", "PERPLEXITY_", "HTTP", "http", "NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "SSL_", "ALL_PROXY")
# Colours and the like, cursor movements, and addresses of links.
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\]8;[^\x1b\x07]*(?:\x1b\\|\x07)")

Variables = dict[str, Any]
"""Of the environment: names and texts. Any, so that they can stand beside named arguments."""

QUESTION = "Which two rivers meet in Ghent?"


class Done(NamedTuple):
    code: int
    out: str
    err: str


def environ(folder: Path, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    return {**clean, "HOME": str(folder), "PPLX_DATA_DIR": str(folder / "data"), "TERM": "xterm-256color", **more}


def at(rig: Rig) -> Variables:
    """The variables that lead to a running gateway."""
    return {"PPLX_GATEWAY_URL": rig.url, "PPLX_GATEWAY_KEY": KEY}


def own(url: str, **more: str) -> Variables:
    """The variables with which a command opens a gateway of its own, before an emulator."""
    upstreams = {"PPLX_SESSION_URL": url, "PPLX_API_URL": url}
    return {**upstreams, "PPLX_COOKIE": "emulator-max-cli", "PERPLEXITY_API_KEY": "pplx-cli", **more}


async def piped(*arguments: str, folder: Path, stdin: bytes = b"", **variables: str) -> Done:
    """Runs to the end, between pipes; forked from a process that has everything imported."""
    running = forked(arguments, folder, environ(folder, **variables), stdin)
    return _done(*await asyncio.wait_for(running, SECONDS))


async def piped_anew(*arguments: str, folder: Path, stdin: bytes = b"", **variables: str) -> Done:
    """The same in an interpreter of its own, as people have it."""
    process = await started(*arguments, folder=folder, stdin=asyncio.subprocess.PIPE, **variables)
    out, err = await asyncio.wait_for(process.communicate(stdin), SECONDS)
    assert process.returncode is not None
    return _done(process.returncode, out, err)


def _done(code: int, out: bytes, err: bytes) -> Done:
    assert "Traceback" not in err.decode(), err.decode()
    return Done(code, out.decode(), err.decode())


async def started(
    *arguments: str, folder: Path, stdin: int = asyncio.subprocess.DEVNULL, **variables: str
) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *PROGRAM,
        *arguments,
        cwd=folder,
        env=environ(folder, **variables),
        stdin=stdin,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


class Terminal:
    """A process whose three streams are one pseudo-terminal."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self._master = master
        self._raw = bytearray()
        self._changed = asyncio.Event()
        self._ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(master, self._read)

    @property
    def raw(self) -> str:
        return self._raw.decode(errors="replace")

    @property
    def text(self) -> str:
        """Without what only moves and colours."""
        return _ESCAPES.sub("", self.raw).replace("\r\n", "\n")

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    async def see(self, wanted: str, *, after: int = 0) -> int:
        """Waits until `wanted` stands in the text behind `after`. Gives where it ends."""
        async with asyncio.timeout(SECONDS):
            while (place := self.text.find(wanted, after)) < 0:
                assert not self._ended.is_set(), f"it ended without {wanted!r}: {self.text[-2000:]}"
                self._changed.clear()
                await self._changed.wait()
        return place + len(wanted)

    async def interrupted(self, wanted: str, *, after: int) -> int:
        """Presses Ctrl-C until `wanted` stands behind `after`, as a person would: Python's reader of lines misses one
        that comes between the prompt and its wait for the first key."""

        async def press() -> None:
            while True:
                self.type("\x03")
                await asyncio.sleep(PRESS_EVERY_SECONDS)

        pressing = asyncio.create_task(press())
        try:
            return await self.see(wanted, after=after)
        finally:
            pressing.cancel()

    async def end(self) -> int:
        """Its exit code, when all that it wrote was read."""
        code = await asyncio.wait_for(self.process.wait(), SECONDS)
        await asyncio.wait_for(self._ended.wait(), SECONDS)
        assert "Traceback" not in self.text, self.text
        return code

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._master)
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        os.close(self._master)

    def _read(self) -> None:
        try:
            data = os.read(self._master, 65536)
        except OSError:  # the other side is closed
            data = b""
        if not data:
            self._ended.set()
            asyncio.get_running_loop().remove_reader(self._master)
        self._raw += data
        self._changed.set()


@contextlib.asynccontextmanager
async def terminal(
    *arguments: str, folder: Path, columns: int = 80, lines: int = 40, **variables: str
) -> AsyncGenerator[Terminal, None]:
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *arguments,
        cwd=folder,
        env=environ(folder, **variables),
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        preexec_fn=_take_terminal,  # so that a typed Ctrl-C is a signal
    )
    os.close(slave)
    shown = Terminal(process, master)
    try:
        yield shown
    finally:
        shown.close()
        await process.wait()


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


async def interrupted(process: asyncio.subprocess.Process, number: signal.Signals = signal.SIGINT) -> Done:
    """Sends the signal; how it ended."""
    process.send_signal(number)
    out, err = await asyncio.wait_for(process.communicate(), SECONDS)
    assert "Traceback" not in err.decode(), err.decode()
    assert process.returncode is not None
    return Done(process.returncode, out.decode(), err.decode())


def agent_frames(*texts: str) -> list[dict[str, Any]]:
    """The first frames of an answer of the Agent API, which has not ended."""
    created = {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "status": "in_progress"}}
    deltas = [
        {"type": "response.output_text.delta", "sequence_number": number, "delta": text, "output_index": 0}
        for number, text in enumerate(texts, 1)
    ]
    return [{"bytes": f"data: {json.dumps(event)}\n\n"} for event in (created, *deltas)]


HELD = {"sleep": 600}
