"""Gives a fresh session cookie to the running gateway, which checks it with Perplexity before it uses it.

The cookie comes from a prompt that shows nothing, or from standard input; in any form in which a browser shows it.
Nothing but the standard library. The cookie and the key go to the gateway and are printed nowhere.
"""

import argparse
import http.client
import ipaddress
import json
import os
import re
import sys
import termios
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parent.parent
KEY = "PPLX_PROXY_API_KEY"
DEFAULT_PORT = "8892"
PATH = "/admin/refresh-cookie"
PROMPT = "Paste the session cookie (it is not shown), then press Enter: "
MOST_BYTES = 256 << 10
LONGEST_LINE = 600
SECONDS = 60.0

_ENV_LINE = re.compile(r"^\s*(?:export\s+)?(?P<name>\w+)\s*=\s*(?P<value>'[^']*'|\"[^\"]*\"|.*?)(?:\s+#.*)?\s*$")
_ENTER, _END, _BACKSPACES = b"\r\n", b"\x04", b"\x7f\x08"  # as the bytes of a terminal that is not in line mode


class Fault(Exception):
    """What is wrong, in one line."""


class Arguments(argparse.ArgumentParser):
    """Never repeats an argument: somebody may have given the cookie as one."""

    def error(self, message: str) -> NoReturn:
        told = message if message.startswith("argument --") else "the cookie is never an argument: it would be seen"
        self.exit(2, f"inject-cookie: {told}. See --help.\n")


# where to, and with which key


def read_env(path: Path) -> dict[str, str]:
    """What an `.env` file says; {} where there is none. `$` means nothing."""
    if not path.is_file():
        return {}
    matches = (_ENV_LINE.match(line) for line in path.read_text(encoding="utf-8").splitlines())
    return {match["name"]: unquoted(match["value"]) for match in matches if match}


def unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"" else value


def key_of(given: Mapping[str, str]) -> str | None:
    key, path = given.get(KEY, "").strip(), given.get(f"{KEY}_FILE", "").strip()
    if not key and path:
        try:
            key = Path(path).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise Fault(f"{KEY}_FILE cannot be read ({type(error).__name__})") from None
    if not key.isprintable():
        raise Fault(f"{KEY} is more than one line")
    return key or None


def own_address(given: Mapping[str, str]) -> str:
    """Where a gateway with these settings listens, as this machine reaches it."""
    host, port = given.get("PPLX_PROXY_HOST", "").strip(), given.get("PPLX_PROXY_PORT", "").strip()
    if host in ("", "0.0.0.0", "::"):  # noqa: S104 - nothing is bound here
        host = "127.0.0.1"
    return f"http://{f'[{host}]' if ':' in host else host}:{port or DEFAULT_PORT}"


def safe(url: str) -> str:
    """A cookie travels over TLS, or not beyond this machine."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
        raise Fault("--url must be http://HOST:PORT or https://HOST")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise Fault("--url must begin with https://, or lead to this machine: a cookie is a password")
    return url


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


# what


def read_cookie() -> str:
    """From the terminal without an echo, else all of standard input."""
    data = hidden(sys.stdin.fileno()) if sys.stdin.isatty() else sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise Fault("that is too long for a cookie")
    try:
        text = data.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise Fault("that is not text in UTF-8") from None
    if not text:
        raise Fault("no cookie was given")
    return text


def hidden(terminal: int) -> bytes:
    """A line, or JSON over several lines. Not in the terminal's line mode, which would cut it at 4095 characters."""
    before = termios.tcgetattr(terminal)
    quiet = termios.tcgetattr(terminal)
    quiet[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(terminal, termios.TCSAFLUSH, quiet)
    try:
        print(PROMPT, end="", file=sys.stderr, flush=True)
        return typed(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)
        print(file=sys.stderr)


def typed(terminal: int) -> bytes:
    data = bytearray()
    while len(data) <= MOST_BYTES:
        for byte in os.read(terminal, 4096) or _END:
            if byte in _END:
                return bytes(data)
            if byte in _BACKSPACES:
                del data[-1:]
            elif byte in _ENTER and whole(bytes(data)):
                return bytes(data)
            else:
                data.append(byte)
    return bytes(data)


def whole(data: bytes) -> bool:
    """An unfinished JSON document goes on in the next line."""
    if not data.strip().startswith((b"{", b"[")):
        return True
    try:
        json.loads(data)
    except ValueError:
        return False
    return True


# the exchange


def send(url: str, key: str | None, cookie: str) -> str:
    """What the gateway says of the session now. Raises Fault, OSError, http.client.HTTPException."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=SECONDS)
    headers: dict[str, str | bytes] = {"content-type": "application/json", "connection": "close"}
    if key:
        headers["authorization"] = b"Bearer " + key.encode()
    body = json.dumps({"session_token": cookie})
    connection.request("POST", parts.path.rstrip("/").removesuffix("/v1") + PATH, body, headers)
    reply = connection.getresponse()
    return told(reply.status, reply.read(MOST_BYTES))


def told(status: int, body: bytes) -> str:
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if status == 200 and isinstance(found, dict) and isinstance(session := found.get("session"), dict):
        plan = session.get("account_type") or "unknown"
        return f"the new cookie is in use; the session is {session.get('state')}, the plan {plan}"
    error = found.get("error") if isinstance(found, dict) else None
    if not isinstance(error, dict):
        raise Fault(f"status {status}, and not in a gateway's words: is this the right address?")
    raise Fault(f"{error.get('code')}: {error.get('message')}")


def printable(text: str, *secrets: str | None) -> str:
    """One line that a terminal can show, without the secrets."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "***")
    return "".join(letter if letter.isprintable() else " " for letter in text)[:LONGEST_LINE]


def main() -> int:
    parser = Arguments(prog="inject-cookie", description=__doc__, allow_abbrev=False)
    parser.add_argument("--url", help="where the gateway is (this machine, PPLX_PROXY_PORT of .env)")
    parser.add_argument("--env-file", type=Path, default=ROOT / ".env", help=f"where {KEY} is looked up (.env)")
    options = parser.parse_args()
    key = cookie = None
    try:
        given = {**read_env(options.env_file), **{name: value for name, value in os.environ.items() if value.strip()}}
        key = key_of(given)
        url = safe(options.url) if options.url else own_address(given)
        cookie = read_cookie()
        print(printable(send(url, key, cookie), key, cookie))
    except Fault as fault:
        words = str(fault)
    except KeyboardInterrupt:
        words = "nothing was changed"
    except (OSError, ValueError, http.client.HTTPException) as error:
        words = f"the gateway cannot be reached: {getattr(error, 'strerror', None) or type(error).__name__}"
    else:
        return 0
    print(f"inject-cookie: {printable(words, key, cookie)}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
