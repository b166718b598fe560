"""How a command reaches a gateway: one that runs somewhere, or one of its own, opened in this process.

Both speak the same HTTP requests, so every command is written once.
"""

import json
import os
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from pplx_gateway import environment
from pplx_gateway.commands.exits import CURES, CommandFailed, Exit, exit_of
from pplx_gateway.errors import one_line
from pplx_gateway.sse import EventReader

URL, KEY, OWNERS_KEY = "PPLX_GATEWAY_URL", "PPLX_GATEWAY_KEY", "PPLX_PROXY_API_KEY"
Json = dict[str, Any]


class Arriving(NamedTuple):
    """A reply whose body is still coming. Header names are in small letters."""

    status: int
    headers: Mapping[str, str]
    body: AsyncIterator[bytes]


class Door(Protocol):
    """`place`: what people are told of where it leads; `own`: to a gateway that lives as long as this process."""

    place: str
    own: bool

    def open(self, method: str, path: str, body: bytes | None = None) -> AbstractAsyncContextManager[Arriving]:
        """Leaving it ends the request, and its work upstream. Raises CommandFailed, GatewayError."""
        ...


class Reply(NamedTuple):
    headers: Mapping[str, str]
    json: Json


class Choice(NamedTuple):
    """Which gateway was asked for; `url` None = one of our own."""

    url: str | None
    key: str | None


def chosen(url: str | None, in_process: bool, given: Mapping[str, str] | None = None) -> Choice:
    """Raises CommandFailed."""
    given = environment.variables() if given is None else given
    found = None if in_process else (url or given.get(URL, "").strip() or None)
    if found is None:
        return Choice(None, None)
    parts = urlsplit(found)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
        raise CommandFailed(
            f"{one_line(found) if parts.username is None else 'The address'} is no address of a gateway.",
            Exit.USAGE,
            cure=f"Give --url or {URL} as http://HOST:PORT, and the key as {KEY}.",
        )
    key = given.get(KEY, "").strip() or given.get(OWNERS_KEY, "").strip()
    return Choice(found.rstrip("/").removesuffix("/v1"), key or None)


@asynccontextmanager
async def open_door(choice: Choice) -> AsyncIterator[Door]:
    """Raises CommandFailed, ValueError (a setting), StoreUnavailable."""
    if choice.url is None:
        from pplx_gateway.commands.own_door import own_door as opened  # noqa: PLC0415 - 0.5 s that a remote one saves

        async with opened() as door:
            yield door
    else:
        from pplx_gateway.commands.running_door import running_door  # noqa: PLC0415

        async with running_door(choice.url, choice.key) as door:
            yield door


async def fetch(door: Door, method: str, path: str, body: object = None) -> Reply:
    """A whole JSON reply. Raises CommandFailed for every refusal."""
    async with door.open(method, path, _encoded(body)) as arriving:
        content = b"".join([part async for part in arriving.body])
    document = _object(content)
    if arriving.status >= 300 or document is None:
        raise refusal(arriving.status, document, door)
    return Reply(arriving.headers, document)


@asynccontextmanager
async def follow(door: Door, method: str, path: str, body: object = None) -> AsyncIterator[AsyncIterator[Json]]:
    """The events of a stream, without `[DONE]`. Raises CommandFailed."""
    async with door.open(method, path, _encoded(body)) as arriving:
        if arriving.status >= 300:
            raise refusal(arriving.status, _object(b"".join([part async for part in arriving.body])), door)
        yield _events(arriving.body)


async def _events(body: AsyncIterator[bytes]) -> AsyncIterator[Json]:
    reader = EventReader()
    async for data in body:
        for event in reader.feed(data):
            if (found := _object(event.data)) is not None:
                yield found
    for event in reader.close():
        if (found := _object(event.data)) is not None:
            yield found


def refusal(status: int, document: Json | None, door: Door) -> CommandFailed:
    """What to tell of a reply that is no success."""
    error = (document or {}).get("error")
    if not isinstance(error, dict):
        cure = f"Is that a gateway? Check {URL}."
        return CommandFailed(f"{door.place} answered HTTP {status} with something strange.", Exit.UPSTREAM, cure=cure)
    codes = [str(error.get(name) or "") for name in ("code", "type")]  # Perplexity's dialect has ours as the type
    code = next((code for code in codes if code in CURES or not code.isdigit()), "")
    found = exit_of(status, code)
    return CommandFailed(one_line(str(error.get("message") or f"HTTP {status}")), found, cure=cure_of(code, door))


def cure_of(code: str, door: Door) -> str | None:
    """The next step for a person at a command line, where the message does not say it."""
    return _KEY_CURE if code == "invalid_api_key" and not door.own else CURES.get(code)


_KEY_CURE = f"Set {KEY} to the gateway's key."


def _encoded(body: object) -> bytes | None:
    return None if body is None else json.dumps(body).encode()


def _object(content: bytes) -> Json | None:
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def data_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where the command line keeps what is its own."""
    given = environment.variables() if environ is None else environ
    from pathlib import Path  # noqa: PLC0415

    from pplx_gateway.settings import Settings  # noqa: PLC0415

    named = given.get("PPLX_DATA_DIR", "").strip()
    return os.fspath(Settings(data_dir=Path(named) if named else None).folder)
