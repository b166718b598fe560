"""Checks a running gateway from outside, as its callers see it: health, models, a chat, a streamed chat, an error.

Nothing but the standard library. The key is sent to the gateway and printed nowhere.
"""

import argparse
import http.client
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
KEY = "PPLX_PROXY_API_KEY"
DEFAULT_PORT = "8892"
EVERYWHERE = ("", "0.0.0.0", "::")  # noqa: S104 - nothing is bound here
QUESTION = "In one sentence: which two rivers meet in Ghent?"
LONGEST_LINE = 300
_CONNECTIONS: dict[str, type[http.client.HTTPConnection]] = {
    "http": http.client.HTTPConnection,
    "https": http.client.HTTPSConnection,
}
_ENV_LINE = re.compile(r"^\s*(?:export\s+)?(?P<name>\w+)\s*=\s*(?P<value>'[^']*'|\"[^\"]*\"|.*?)(?:\s+#.*)?\s*$")


class Fault(Exception):
    """What is wrong, in one line."""


class Reply(NamedTuple):
    status: int
    body: http.client.HTTPResponse

    def json(self) -> Any:
        text = self.body.read()
        try:
            return json.loads(text)
        except ValueError:
            raise Fault(f"status {self.status}, and the body is not JSON: {text[:80]!r}") from None


class Gateway:
    """`url` with or without `/v1`. No redirect is followed, so the key goes nowhere else."""

    def __init__(self, url: str, key: str | None, timeout_seconds: float) -> None:
        """Raises ValueError for what is no address."""
        parts = urlsplit(url if "://" in url else f"http://{url}")
        if parts.scheme not in _CONNECTIONS or not parts.hostname:
            raise ValueError(f"'{url}' is not an address: give http://HOST:PORT")
        self._kind, self._host, self._port = _CONNECTIONS[parts.scheme], parts.hostname, parts.port
        self._path = parts.path.rstrip("/").removesuffix("/v1")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._path}"
        self.timeout_seconds = timeout_seconds
        self._key = key

    def get(self, path: str) -> Reply:
        return self._send("GET", path, None)

    def post(self, path: str, body: Mapping[str, object]) -> Reply:
        return self._send("POST", path, json.dumps(body))

    def _send(self, method: str, path: str, body: str | None) -> Reply:
        headers: dict[str, str | bytes] = {"user-agent": "pplx-gateway-smoke", "connection": "close"}
        if self._key:
            headers["authorization"] = b"Bearer " + self._key.encode()
        if body is not None:
            headers["content-type"] = "application/json"
        connection = self._kind(self._host, self._port, timeout=self.timeout_seconds)
        connection.request(method, self._path + path, body, headers)
        response = connection.getresponse()
        return Reply(response.status, response)


def health(gateway: Gateway) -> str:
    found = whole(gateway.get("/health"))
    if found.get("service") != "pplx-gateway":
        raise Fault("something answers there, but it is not a pplx-gateway")
    return f"{found.get('status')}, version {found.get('version')}"


def models(gateway: Gateway, wanted: str | None) -> str:
    found = whole(gateway.get("/v1/models"))
    ids = [model.get("id") for model in found.get("data", []) if isinstance(model, dict)]
    if not ids or not all(isinstance(name, str) and name for name in ids):
        raise Fault("no models are offered")
    if wanted and wanted not in ids and "/" not in wanted:  # `api/...` and `provider/model` are not listed
        raise Fault(f"model '{wanted}' is not among the {len(ids)} that are offered")
    return f"{len(ids)} offered"


def chat(gateway: Gateway, model: str | None) -> str:
    found = whole(gateway.post("/v1/chat/completions", question(model)))
    try:
        (choice,) = found["choices"]
        text, reason = choice["message"]["content"], choice["finish_reason"]
    except (KeyError, TypeError, ValueError):
        raise Fault("the answer has not the form of a chat completion") from None
    if not isinstance(text, str) or not text.strip():
        raise Fault("the answer is empty")
    if not reason:
        raise Fault("the answer has no finish_reason")
    return f"{len(text)} characters by {found.get('model')}"


def streamed_chat(gateway: Gateway, model: str | None) -> str:
    reply = gateway.post("/v1/chat/completions", {**question(model), "stream": True})
    if reply.status != 200:
        whole(reply)
    text, finished, ended = "", False, False
    for payload in payloads(reply.body, time.monotonic() + gateway.timeout_seconds):
        if ended:
            raise Fault("something follows [DONE]")
        ended = payload == "[DONE]"
        if not ended:
            said, last = read_chunk(payload)
            text, finished = text + said, finished or last
    if not ended:
        raise Fault(f"the stream ended without [DONE] after {len(text)} characters")
    if not finished:
        raise Fault("the stream ended with [DONE] but without a finish_reason")
    if not text.strip():
        raise Fault("the stream ended with [DONE] but nothing was said")
    return f"{len(text)} characters, [DONE]"


def error_shape(gateway: Gateway) -> str:
    reply = gateway.post("/v1/chat/completions", {"messages": "not a list"})
    found = reply.json()
    if reply.status != 400:
        raise Fault(f"a malformed request got status {reply.status} instead of 400, {error_words(found)}")
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict) or not {"message", "type", "code", "param"} <= set(error) or not error["message"]:
        raise Fault("the error has not the form {message, type, code, param}")
    return f"{reply.status} {error['code']}"


def question(model: str | None) -> dict[str, object]:
    body: dict[str, object] = {"messages": [{"role": "user", "content": QUESTION}]}
    return {"model": model, **body} if model else body


def whole(reply: Reply) -> dict[str, Any]:
    """The object of a reply with status 200. Raises Fault with the error's own words for any other."""
    if 300 <= reply.status < 400:
        raise Fault(f"status {reply.status} leads to another address: give that one")
    found = reply.json()
    if reply.status != 200:
        raise Fault(f"status {reply.status}, {error_words(found)}")
    if not isinstance(found, dict):
        raise Fault("the body is not an object")
    return found


def error_words(found: object) -> str:
    error = found.get("error") if isinstance(found, dict) else None
    return f"{error.get('code')}: {error.get('message')}" if isinstance(error, dict) else "without an error object"


def payloads(lines: http.client.HTTPResponse, deadline: float) -> Iterator[str]:
    """The `data:` lines. Comments keep a silent stream alive, so time is measured here as well."""
    for line in lines:
        if time.monotonic() > deadline:
            raise TimeoutError
        if line.startswith(b"data:"):
            yield line[5:].decode("utf-8", "replace").strip()


def read_chunk(payload: str) -> tuple[str, bool]:
    """What a chunk adds to the text, and whether it carries the finish_reason."""
    try:
        chunk = json.loads(payload)
        if "error" in chunk:
            raise Fault(f"the stream failed: {error_words(chunk)}")
        choices = chunk["choices"]
        said = "".join(choice["delta"].get("content") or "" for choice in choices)
        return said, any(choice["finish_reason"] for choice in choices)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise Fault(f"a chunk of the stream has not the form of one: {payload[:80]}") from None


def read_env(path: Path) -> dict[str, str]:
    """What an `.env` file says; {} where there is none. `$` means nothing."""
    if not path.is_file():
        return {}
    matches = (_ENV_LINE.match(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {match["name"]: unquoted(match["value"]) for match in matches if match}


def unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def own_address(given: Mapping[str, str]) -> str:
    """Where a gateway with these settings listens, as this machine reaches it."""
    host, port = given.get("PPLX_PROXY_HOST", "").strip(), given.get("PPLX_PROXY_PORT", "").strip()
    if host in EVERYWHERE:
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port or DEFAULT_PORT}"


def key_of(given: Mapping[str, str]) -> str | None:
    """Raises ValueError where the key, or the file that holds it, cannot be used."""
    key = given.get(KEY, "").strip() or key_from_file(given)
    if key and not key.isprintable():
        raise ValueError(f"{KEY} is more than one line")
    return key


def key_from_file(given: Mapping[str, str]) -> str | None:
    path = given.get(f"{KEY}_FILE", "").strip()
    if not path:
        return None
    try:
        return Path(path).read_text(encoding="utf-8").strip() or None
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"{KEY}_FILE cannot be read ({type(error).__name__})") from None


def printable(text: str, key: str | None) -> str:
    """One line that a terminal can show, without the key."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return (line.replace(key, "***") if key else line)[:LONGEST_LINE]


def checks(gateway: Gateway, model: str | None) -> dict[str, Callable[[], str]]:
    return {
        "health": lambda: health(gateway),
        "models": lambda: models(gateway, model),
        "error": lambda: error_shape(gateway),
        "chat": lambda: chat(gateway, model),
        "stream": lambda: streamed_chat(gateway, model),
    }


def run(gateway: Gateway, model: str | None, key: str | None) -> int:
    for name, check in checks(gateway, model).items():
        try:
            told = check()
        except TimeoutError:
            fault = "no answer in time (--timeout)"
        except (OSError, UnicodeError, http.client.HTTPException) as error:
            fault = f"the connection failed: {getattr(error, 'strerror', None) or str(error) or type(error).__name__}"
        except Fault as error:
            fault = str(error)
        else:
            print(printable(f"ok    {name:7} {told}", key), flush=True)
            continue
        print(printable(f"smoke: {name} at {gateway.url}: {fault}", key), file=sys.stderr)
        return 1
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(prog="smoke", description=__doc__, epilog="It asks two short questions.")
    parser.add_argument("url", nargs="?", metavar="base-url", help="where the gateway is (this machine)")
    parser.add_argument("--model", help="model to ask (the one that answers where a request names none)")
    parser.add_argument("--env-file", type=Path, default=ROOT / ".env", help=f"where {KEY} is looked up (.env)")
    parser.add_argument(
        "--timeout", type=float, default=120.0, metavar="SECONDS", help="longest time for one answer (120)"
    )
    options = parser.parse_args()
    try:
        given = {**read_env(options.env_file), **{name: value for name, value in os.environ.items() if value.strip()}}
        key = key_of(given)
        gateway = Gateway(options.url or own_address(given), key, options.timeout)
    except (ValueError, OSError) as error:
        print(f"smoke: {error}", file=sys.stderr)
        return 2
    return run(gateway, options.model, key)


if __name__ == "__main__":
    sys.exit(main())
