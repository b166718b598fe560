"""The yardstick: an ASGI application that costs nothing. A 2 KB answer, made once."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
BODY = b'{"object":"chat.completion","text":"' + b"x" * 1960 + b'"}'
HEAD: Message = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(BODY)).encode())],
}
ANSWER: Message = {"type": "http.response.body", "body": BODY}


async def app(
    scope: Message, receive: Callable[[], Awaitable[Message]], send: Callable[[Message], Awaitable[None]]
) -> None:
    if scope["type"] != "http":
        raise RuntimeError("only HTTP is answered here")
    while (await receive()).get("more_body"):
        continue
    await send(HEAD)
    await send(ANSWER)
