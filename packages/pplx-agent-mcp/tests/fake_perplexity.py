"""Perplexity's Agent API as far as the server asks it: a proxy on loopback that answers what comes through its tunnels.

The server knows one host and HTTPS only. So `HTTPS_PROXY` leads it here, where CONNECT is accepted and TLS is spoken
with a certificate of the test's own authority, which `SSL_CERT_FILE` names.
"""

import contextlib
import itertools
import json
import socket
import ssl
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import certificates

HOST = "api.perplexity.ai"

Json = dict[str, Any]


@dataclass
class Seen:
    """A request that came through a tunnel."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Answer:
    """`body` of another type than bytes is sent as JSON. `cut`: the connection ends in the middle of the body."""

    body: object = field(default_factory=dict)
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang_up: bool = False

    def content(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


Replies = Callable[[Seen], Answer]


def always(answer: Answer) -> Replies:
    return lambda _: answer


def message(text: str, *results: Json) -> list[Json]:
    """The output of a run: search results, if any, and the answer."""
    found: list[Json] = [{"type": "search_results", "queries": ["q"], "results": list(results)}]
    said = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return [*(found if results else []), said]


def completed(text: str = "It is so [1].", *results: Json) -> Json:
    page: Json = {"id": 1, "title": "One", "url": "https://one.example/"}
    return {"id": "resp_1", "object": "response", "status": "completed", "output": message(text, *(results or (page,)))}


QUEUED: Json = {"object": "response", "status": "queued", "output": []}
RUNNING: Json = {"object": "response", "status": "in_progress", "output": []}


class Fake:
    """`replies` decides; by default each run has an id of its own and has completed at the first look.

    `connect_status` other than 200 refuses the tunnels. `hits` counts the requests to the port itself, which a client
    that follows a redirect would make.
    """

    def __init__(self) -> None:
        self.seen: list[Seen] = []
        self.targets: list[str] = []
        self.proxy_authorization: list[str | None] = []
        self.refusals: list[int] = []
        self.hits = 0
        self.replies: Replies = self.simple
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._folder = tempfile.TemporaryDirectory()
        self.ca, chain = certificates.make(Path(self._folder.name), HOST)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(chain)
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def environment(self) -> dict[str, str]:
        """What leads the server here."""
        return {"HTTPS_PROXY": f"http://127.0.0.1:{self.port}", "SSL_CERT_FILE": str(self.ca)}

    def asked(self, method: str, path: str = "") -> list[Seen]:
        return [seen for seen in self.seen if seen.method == method and seen.path.startswith(path)]

    def reset(self) -> None:
        """As new, but for the port and the certificates."""
        with self._lock:
            for kept in (self.seen, self.targets, self.proxy_authorization, self.refusals):
                kept.clear()
        self.hits = 0
        self.replies = self.simple
        self._ids = itertools.count(1)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._folder.cleanup()

    def started(self) -> Answer:
        """The answer to a submission, with the next id: resp_1, resp_2, ..."""
        with self._lock:
            return Answer({**QUEUED, "id": f"resp_{next(self._ids)}"})

    def simple(self, seen: Seen) -> Answer:
        if seen.path.endswith("/cancel"):
            return Answer({"status": "cancelling"})
        return self.started() if seen.method == "POST" else Answer(completed())

    def note(self, seen: Seen) -> Answer:
        with self._lock:
            self.seen.append(seen)
        return self.replies(seen)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, fake: Fake) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.fake = fake

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that breaks off is part of some tests."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    tunnelled = False

    def do_CONNECT(self) -> None:
        fake = self.server.fake
        fake.targets.append(self.path)
        fake.proxy_authorization.append(self.headers.get("Proxy-Authorization"))
        if fake.refusals:
            self.send_response(fake.refusals.pop(0))
            self.send_header("Content-Length", "0")
            self.end_headers()
            self.close_connection = True
            return
        self.send_response(200)
        self.end_headers()
        self.connection = fake.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)
        self.tunnelled = True
        self.close_connection = False

    def _answer(self) -> None:
        fake = self.server.fake
        if not self.tunnelled:
            fake.hits += 1
            self.send_error(421)
            return
        length = int(self.headers.get("Content-Length") or 0)
        content = self.rfile.read(length)
        answer = fake.note(
            Seen(self.command, self.path, dict(self.headers.items()), json.loads(content) if content else None)
        )
        self.close_connection = True
        if answer.hang_up:
            return
        sent = answer.content()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent[: len(sent) // 2] if answer.cut else sent)

    def do_GET(self) -> None:
        self._answer()

    def do_POST(self) -> None:
        self._answer()

    def finish(self) -> None:
        super().finish()
        if self.tunnelled:
            with contextlib.suppress(OSError):
                self.connection.shutdown(socket.SHUT_RDWR)
            self.connection.close()

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""
