"""Structured log lines: one JSON object each, with the request's id, and never a secret.

Code logs with the standard library and puts facts into `extra`; prompts and answers are never among them.
"""

import json
import logging
import sys
import time
from collections.abc import Iterable
from contextvars import ContextVar

from pplx_gateway.settings import Secret

request_id: ContextVar[str | None] = ContextVar("request_id", default=None)

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_MASK = "***"


class JsonFormatter(logging.Formatter):
    """`time`, `level`, `logger`, `message`, `request_id` and whatever was given as `extra`.

    Known secrets are masked, in case one slipped into an exception's text."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        super().__init__()
        self._secrets = tuple(value for secret in secrets if len(value := secret.reveal()) >= 6)

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{record.msecs:03.0f}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if (current := request_id.get()) is not None:
            line["request_id"] = current
        line |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return self._masked(json.dumps(line, default=str, ensure_ascii=False))

    def _masked(self, text: str) -> str:
        for secret in self._secrets:
            text = text.replace(secret, _MASK)
        return text


def set_up(level: str, secrets: Iterable[Secret] = ()) -> None:
    """Sends every logger to stderr, and silences those that would repeat or tell too much."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter(secrets))
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("uvicorn.access").disabled = True  # ours is structured, and has no query strings
    logging.getLogger("uvicorn.error").setLevel(max(logging.WARNING, logging.getLevelName(level)))
    logging.getLogger("asyncio").setLevel(logging.WARNING)
