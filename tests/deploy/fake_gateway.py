"""Gateways that are broken in one way each, for the smoke script: plain replies by method and path."""

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

CHAT = "POST /v1/chat/completions"
STREAM = "POST /v1/chat/completions stream"
BAD = "POST /v1/chat/completions bad"


class Answer(NamedTuple):
    body: str
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()


def answer(value: object, status: int = 200) -> Answer:
    return Answer(json.dumps(value), status)


def error(status: int, code: str, message: str = "It failed.") -> Answer:
    return answer({"error": {"message": message, "type": "api_error", "param": None, "code": code}}, status)


def chunk(text: str, reason: str | None = None) -> str:
    choices = [{"index": 0, "delta": {"content": text}, "finish_reason": reason}]
    return f"data: {json.dumps({'object': 'chat.completion.chunk', 'choices': choices})}\n\n"


def stream(*parts: str) -> Answer:
    return Answer("".join(parts), headers=(("content-type", "text/event-stream"),))


DONE = "data: [DONE]\n\n"
COMPLETION = {"model": "gpt", "choices": [{"message": {"content": "The Leie."}, "finish_reason": "stop"}]}
GOOD: dict[str, Answer] = {
    "GET /health": answer({"status": "ok", "service": "pplx-gateway", "version": "1"}),
    "GET /v1/models": answer({"data": [{"id": "gpt"}, {"id": "auto"}]}),
    BAD: error(400, "invalid_request"),
    CHAT: answer(COMPLETION),
    STREAM: stream(chunk("The "), ": keep-alive\n", chunk("Leie."), chunk("", "stop"), DONE),
}


class Fake:
    """`requests` holds (method and path, headers, body) of what came."""

    def __init__(self, answers: Mapping[str, Answer]) -> None:
        self.answers = {**GOOD, **answers}
        self.requests: list[tuple[str, Mapping[str, str], Any]] = []
        self.url = ""

    @property
    def keys(self) -> set[str | None]:
        return {headers.get("authorization") for _, headers, _ in self.requests}


@contextlib.contextmanager
def playing(answers: Mapping[str, Answer] | None = None) -> Iterator[Fake]:
    """A gateway that is whole but for `answers`."""
    fake = Fake(answers or {})

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(f"GET {self.path}", None)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            kind = " bad" if isinstance(body["messages"], str) else " stream" if body.get("stream") else ""
            self._answer(f"POST {self.path}{kind}", body)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

        def _answer(self, request: str, body: Any) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            fake.requests.append((request, headers, body))
            found = fake.answers.get(request, error(404, "not_found"))
            self.send_response(found.status)
            for name, value in found.headers:
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(found.body.encode())

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        fake.url = f"http://127.0.0.1:{server.server_address[1]}"
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        try:
            yield fake
        finally:
            server.shutdown()
            serving.join()
