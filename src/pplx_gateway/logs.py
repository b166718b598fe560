"""Structured log lines: one JSON object each (or, for people, plain text), with the request's id, and never a secret.

Code logs with the standard library and puts facts into `extra`; prompts and answers are never among them.
"""

import json
import logging
import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from functools import lru_cache
from typing import Literal

import msgspec

from pplx_gateway.settings import Secret

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
trace_id: ContextVar[str | None] = ContextVar("trace_id", default=None)
"""Where the request is traced: by it a line and a span find each other."""

Format = Literal["json", "text"]

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MASK = "***"
_PLAIN = re.compile(r"[\w./:@+-]+")
SHORTEST_SECRET = 6  # a shorter one would blot out words


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger`, `message`, `request_id`, `trace_id` and whatever was given as `extra`.

    Known secrets are masked, in case one slipped into an exception's text: also as they look within JSON."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        super().__init__()
        self._secrets = tuple(value for secret in secrets if len(value := secret.reveal()) >= SHORTEST_SECRET)
        self._more: list[Callable[[], Iterable[str]]] = []

    def hide(self, secrets: Callable[[], Iterable[str]]) -> None:
        """More secrets, which change: asked anew for each line."""
        self._more.append(secrets)

    def format(self, record: logging.LogRecord) -> str:
        return self._masked(self._written(self._facts(record)))

    def _facts(self, record: logging.LogRecord) -> dict[str, object]:
        line: dict[str, object] = {
            "time": f"{_clock_time(int(record.created))}.{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        ids = (("request_id", request_id.get()), ("trace_id", trace_id.get()))
        line |= {name: current for name, current in ids if current is not None}
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return line

    def _written(self, facts: Mapping[str, object]) -> str:
        return _encoded(facts)

    def _masked(self, text: str) -> str:
        changing = (secret for more in self._more for secret in more() if len(secret) >= SHORTEST_SECRET)
        for secret in (*self._secrets, *changing):
            text = text.replace(secret, _MASK).replace(_within_json(secret), _MASK)
        return text


class TextFormatter(JsonFormatter):
    """The same as a line for people: time, level, logger, message, and the facts as `name=value`, each value as JSON
    where it is no plain word, so that nothing can look like another line. An exception stands below, indented."""

    def _written(self, facts: Mapping[str, object]) -> str:
        rest = dict(facts)
        time_, level, name, message = (str(rest.pop(key)) for key in ("time", "level", "logger", "message"))
        below = str(rest.pop("exception", "")).splitlines()
        told = "".join(f" {key}={_word(value)}" for key, value in rest.items())
        return "\n    ".join([f"{time_} {level:7} {name} {_one_line(message)}{told}", *below])


@lru_cache(maxsize=4)
def _clock_time(second: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))


def _encoded(line: object) -> str:
    try:
        return msgspec.json.encode(line, enc_hook=str).decode()
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(line, default=str)


@lru_cache(maxsize=256)
def _within_json(secret: str) -> str:
    return _encoded(secret)[1:-1]


def _word(value: object) -> str:
    return value if isinstance(value, str) and _PLAIN.fullmatch(value) else _encoded(value)


def _one_line(text: str) -> str:
    return text if text.isprintable() else _encoded(text)


def hide(secrets: Callable[[], Iterable[str]]) -> None:
    """Has every formatter of ours mask these, too."""
    for handler in logging.getLogger().handlers:
        if isinstance(handler.formatter, JsonFormatter):
            handler.formatter.hide(secrets)


def set_up(level: str, secrets: Iterable[Secret] = (), form: Format = "json") -> None:
    """Sends every logger, and Python's own warnings, to stderr, and silences those that would repeat or tell too
    much."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(secrets) if form == "json" else TextFormatter(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.captureWarnings(capture=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line tells them
    logging.getLogger("uvicorn.access").disabled = True  # ours is structured, and has no query strings
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    logging.getLogger("asyncio").setLevel(logging.WARNING)
