"""Structured log lines: one JSON object each, with the request's id, and never a secret.

Code logs with the standard library and puts facts into `extra`; prompts and answers are never among them.
"""

import json
import logging
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache

import msgspec

from pplx_gateway.settings import Secret

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MASK = "***"
SHORTEST_SECRET = 6  # a shorter one would blot out words


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger`, `message`, `request_id` and whatever was given as `extra`.

    Known secrets are masked, in case one slipped into an exception's text."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        super().__init__()
        self._secrets = tuple(value for secret in secrets if len(value := secret.reveal()) >= SHORTEST_SECRET)
        self._more: list[Callable[[], Iterable[str]]] = []

    def hide(self, secrets: Callable[[], Iterable[str]]) -> None:
        """More secrets, which change: asked anew for each line."""
        self._more.append(secrets)

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{_clock_time(int(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            line["request_id"] = current
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._masked(_encoded(line))

    def _masked(self, text: str) -> str:
        changing = (secret for more in self._more for secret in more() if len(secret) >= SHORTEST_SECRET)
        for secret in (*self._secrets, *changing):
            text = text.replace(secret, _MASK)
        return text


@lru_cache(maxsize=4)
def _clock_time(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def _encoded(line: Mapping[str, object]) -> str:
    try:
        return msgspec.json.encode(line, enc_hook=str).decode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(line, default=str)


def hide(secrets: Callable[[], Iterable[str]]) -> None:
    """Has every formatter of ours mask these, too."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonFormatter):
            handler.formatter.hide(secrets)


def set_up(level: str, secrets: Iterable[Secret] = ()) -> None:
    """Sends every logger to stderr, and silences those that would repeat or tell too much."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line tells them
    logging.getLogger("uvicorn.access").disabled = True  # ours is structured, and has no query strings
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    logging.getLogger("asyncio").setLevel(logging.WARNING)
