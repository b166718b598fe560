"""Talks to the running emulator over real HTTP, with nothing but the standard library."""

import contextlib
import email.message
import json
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Json = dict[str, Any]

_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
KEY = "pplx-test"
WEATHER: Json = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
GHENT = "Which two rivers meet in Ghent?"


class Reply(NamedTuple):
    status: int
    headers: email.message.Message
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def error(self) -> Json:
        error: Json = self.json["error"]
        return error

    @property
    def events(self) -> list[Json]:
        """The JSON of each `data:` line; every frame must be one data line and a blank one."""
        frames = self.body.decode().split("\n\n")
        assert frames.pop() == ""
        assert all(frame.startswith("data: ") and "\n" not in frame for frame in frames)
        return [json.loads(frame[6:]) for frame in frames]

    @property
    def text(self) -> str:
        """The text of an answer that was not streamed."""
        return text_of(self.json)


def text_of(response: Json) -> str:
    return "".join(part["text"] for item in response["output"] if item["type"] == "message" for part in item["content"])


def calls_of(response: Json) -> list[Json]:
    return [item for item in response["output"] if item["type"] == "function_call"]


class Caller:
    def __init__(self, url: str, key: str | None = KEY) -> None:
        self.url = url
        self.key = key

    def with_key(self, key: str | None) -> "Caller":
        return Caller(self.url, key)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
    ) -> Reply:
        """`body`: bytes as they are, anything else as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        sent = {
            "content-type": "application/json",
            **({"authorization": f"Bearer {self.key}"} if self.key is not None else {}),
        }
        request = urllib.request.Request(self.url + path, data=data, method=method, headers={**sent, **(headers or {})})
        try:
            with _OPENER.open(request, timeout=30) as reply:
                return Reply(reply.status, reply.headers, reply.read())
        except urllib.error.HTTPError as error:
            with error:
                return Reply(error.code, error.headers, error.read())

    def ask(self, question: object, **fields: object) -> Reply:
        """An Agent request: `perplexity/sonar` unless the fields say otherwise."""
        chosen = {} if {"model", "models", "effort", "preset"} & fields.keys() else {"model": "perplexity/sonar"}
        return self.send("POST", "/v1/agent", {**chosen, "input": question, **fields})

    def answer(self, question: object, **fields: object) -> Json:
        """The whole response object of an Agent request that must succeed."""
        reply = self.ask(question, **fields)
        assert reply.status == 200, reply.body
        response: Json = reply.json
        return response

    def stream(self, question: object, **fields: object) -> list[Json]:
        reply = self.ask(question, stream=True, **fields)
        assert reply.status == 200, reply.body
        assert reply.headers["content-type"] == "text/event-stream"
        return reply.events

    def script(self, path: str, *answers: Json, method: str | None = None) -> None:
        form = {"path": path, "answers": list(answers), **({"method": method} if method else {})}
        reply = self.send("POST", "/_emulator/script", form)
        assert reply.status == 200, reply.body

    def requests(self, query: str = "") -> list[Json]:
        found: list[Json] = self.send("GET", f"/_emulator/requests?{query}").json["requests"]
        return found

    def wait(self, query: str) -> list[Json]:
        reply = self.send("GET", f"/_emulator/wait?{query}")
        assert reply.status == 200, reply.body
        found: list[Json] = reply.json["requests"]
        return found

    def wait_for_run(self, run_id: str, status: str) -> Json:
        reply = self.send("GET", f"/_emulator/runs?id={run_id}&status={status}&timeout=10")
        assert reply.status == 200, reply.body
        (run,) = reply.json["runs"]
        return dict(run)

    def clear(self) -> None:
        self.send("DELETE", "/_emulator/script")
        self.send("DELETE", "/_emulator/requests")

    @contextlib.contextmanager
    def raw(self, method: str, path: str, body: object = None) -> Iterator[socket.socket]:
        """A connection on which the request has been sent and nothing read."""
        host, _, port = self.url.removeprefix("http://").partition(":")
        data = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {KEY}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
        )
        with socket.create_connection((host, int(port)), timeout=30) as connection:
            connection.sendall(head.encode() + data)
            yield connection


def read_until(connection: socket.socket, end: bytes) -> bytes:
    """Everything up to and with `end`."""
    got = b""
    while not got.endswith(end):
        data = connection.recv(1)
        assert data, f"the connection ended in {got!r}"
        got += data
    return got


def read_all(connection: socket.socket) -> bytes:
    """Everything until the other side closes. Raises ConnectionResetError on a reset."""
    got = b""
    while data := connection.recv(65536):
        got += data
    return got
