"""The real server as a process, spoken to over its pipes."""

import atexit
import contextlib
import functools
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import unittest
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fake_perplexity import Fake

FILE = Path(__file__).resolve().parent.parent / "pplx_agent_mcp.py"
KEY = "pplx-SECRET-KEY"
SECONDS = 60.0
"""How long to wait for what must come. Only a failing test takes that long."""

Frame = dict[str, Any]

END = "end of the test"
PONG: Frame = {"jsonrpc": "2.0", "id": END, "result": {}}

VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
REVISIONS = ["2026-07-28", "2025-11-25", "2025-06-18", "2025-03-26"]
MODERN: Frame = {VERSION: "2026-07-28", CAPABILITIES: {}}


def request(method: str, id: object = 1, meta: Frame | None = None, **params: object) -> Frame:
    """A request; with `meta` its `_meta`, which of MODERN makes it one of the stateless era."""
    fields: Frame = {**params, **({} if meta is None else {"_meta": meta})}
    return {"jsonrpc": "2.0", "id": id, "method": method, **({"params": fields} if fields else {})}


def call(tool: str, id: object = 1, meta: Frame | None = None, **arguments: object) -> Frame:
    return request("tools/call", id, meta, name=tool, arguments=arguments)


def notification(method: str, **params: object) -> Frame:
    return {"jsonrpc": "2.0", "method": method, "params": params}


def encode(message: Frame | bytes) -> bytes:
    return message if isinstance(message, bytes) else json.dumps(message).encode()


def text_of(frame: Frame) -> str:
    """The text of a tool's result."""
    (block,) = frame["result"]["content"]
    assert block["type"] == "text"
    text: str = block["text"]
    return text


class ServerProcess:
    """`python -I -S FILE` in an empty folder, with nothing in its environment but what is given."""

    def __init__(
        self,
        environment: dict[str, str] | None = None,
        key: str | None = KEY,
        command: Iterable[str | Path] = (sys.executable, "-I", "-S", FILE),
    ) -> None:
        self._folder = tempfile.TemporaryDirectory()
        kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT") if name in os.environ}
        self.process = subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self._folder.name,
            env={**kept, **({"PERPLEXITY_API_KEY": key} if key is not None else {}), **(environment or {})},
        )
        self.lines: list[bytes] = []
        self._frames: queue.Queue[Frame | None] = queue.Queue()
        self._complaints: queue.Queue[str | None] = queue.Queue()
        self._threads = [threading.Thread(target=pump, daemon=True) for pump in (self._pump, self._pump_complaints)]
        for thread in self._threads:
            thread.start()

    def _pump(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.append(line)
            self._frames.put(json.loads(line))
        self._frames.put(None)

    def _pump_complaints(self) -> None:
        assert self.process.stderr
        for line in self.process.stderr:
            self._complaints.put(line.decode())
        self._complaints.put(None)

    def send(self, *messages: Frame | bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(b"".join(encode(message) + b"\n" for message in messages))
        self.process.stdin.flush()

    def next(self) -> Frame:
        """The next message."""
        frame = self._frames.get(timeout=SECONDS)
        assert frame is not None, f"the server has ended: {self.complaints()}"
        return frame

    def ask(self, message: Frame | bytes) -> Frame:
        """The next message after sending one."""
        self.send(message)
        return self.next()

    def complaint(self) -> str:
        """The next line on stderr."""
        return self._complaints.get(timeout=SECONDS) or ""

    def complaints(self) -> str:
        """What has been said on stderr and was not looked at, once the server has ended."""
        return "".join(iter(lambda: self._complaints.get(timeout=SECONDS) or "", ""))

    def close_input(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def end(self) -> list[Frame]:
        """Closes stdin; the messages that were still to come, after a clean end without a word on stderr."""
        self.close_input()
        assert self.process.wait(SECONDS) == 0
        left = list(iter(lambda: self._frames.get(timeout=SECONDS), None))
        complaints = self.complaints()
        assert not complaints, complaints
        return left

    def dispose(self) -> None:
        self.process.kill()
        self.process.wait(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert pipe
            with contextlib.suppress(OSError):  # something was not sent before the server ended
                pipe.close()
        self._folder.cleanup()


@functools.cache
def shared_fake() -> Fake:
    """One for the whole suite: what it takes is its certificates."""
    fake = Fake()
    atexit.register(fake.close)
    return fake


class ServerCase(unittest.TestCase):
    """Tests that start the server, and lead it to a fake upstream.

    The tests of a class share a server for what needs no fresh one: it keeps nothing from one request to the next, and
    after each test it is asked whether anything was left to be said.
    """

    fake: Fake
    _shared: ServerProcess | None

    @classmethod
    def setUpClass(cls) -> None:
        cls.fake = shared_fake()
        cls._shared = None
        cls.addClassCleanup(cls._end_shared)

    def setUp(self) -> None:
        self.fake.reset()

    def tearDown(self) -> None:
        """No test finds what another one has left."""
        cls = type(self)
        server, cls._shared = cls._shared, None
        if server is None:
            return
        with contextlib.ExitStack() as unless_well:
            unless_well.callback(server.dispose)
            self.assertEqual(server.ask(request("ping", END)), PONG, "more replies than were asked for")
            unless_well.pop_all()
            cls._shared = server

    def start(self, key: str | None = KEY, wait: int | None = None) -> ServerProcess:
        return self._start({} if wait is None else {"PERPLEXITY_AGENT_WAIT_SECONDS": str(wait)}, key)

    def ask(self, message: Frame | bytes) -> Frame:
        """The reply of the server that the class shares."""
        return self._common().ask(message)

    def replies(self, *messages: Frame | bytes) -> list[Frame]:
        """All replies of the server that the class shares to messages that are no calls of tools, in their order."""
        server = self._common()
        server.send(*messages, request("ping", END))
        return list(iter(server.next, PONG))

    def talk(self, *messages: Frame | bytes, **environment: str) -> list[Frame]:
        """All replies of a server of its own that is sent the messages and the end of input."""
        server = self._start(environment)
        server.send(*messages)
        return server.end()

    def tell(self, tool: str, **arguments: object) -> str:
        """The text of a tool's result that is no error."""
        return self._told(tool, arguments, is_error=False)

    def refuse(self, tool: str, **arguments: object) -> str:
        """The text of a tool's result that is an error."""
        return self._told(tool, arguments, is_error=True)

    def _told(self, tool: str, arguments: Frame, is_error: bool) -> str:
        reply = self.ask(call(tool, **arguments))
        self.assertIs(reply["result"]["isError"], is_error, reply)
        self.assertNotIn(KEY, json.dumps(reply))
        return text_of(reply)

    def _start(self, environment: dict[str, str], key: str | None = KEY) -> ServerProcess:
        server = ServerProcess({**self.fake.environment(), **environment}, key)
        self.addCleanup(server.dispose)
        return server

    def _common(self) -> ServerProcess:
        cls = type(self)
        if cls._shared is None:
            cls._shared = ServerProcess(self.fake.environment())
        return cls._shared

    @classmethod
    def _end_shared(cls) -> None:
        if cls._shared is not None:
            try:
                assert cls._shared.end() == [], "more replies than were asked for"
            finally:
                cls._shared.dispose()
