import json
import logging
import sys

from pplx_gateway.logs import JsonFormatter, request_id
from pplx_gateway.settings import Secret


def record(message: str, **extra: object) -> logging.LogRecord:
    return logging.makeLogRecord({"name": "pplx_gateway", "levelname": "INFO", "msg": message, **extra})


def test_a_line_is_one_json_object_with_its_facts() -> None:
    token = request_id.set("req_1")
    line = JsonFormatter().format(record("asked\nand answered", upstream="api", seconds=1.5))
    request_id.reset(token)
    assert "\n" not in line
    told = json.loads(line)
    assert (told["message"], told["upstream"], told["seconds"]) == ("asked\nand answered", "api", 1.5)
    assert told["request_id"] == "req_1"


def test_a_known_secret_is_masked_even_in_an_exception() -> None:
    formatter = JsonFormatter([Secret("pplx-SECRET")])
    try:
        raise ValueError("key pplx-SECRET is bad")
    except ValueError:
        line = formatter.format(record("failed with pplx-SECRET", exc_info=sys.exc_info(), key="pplx-SECRET"))
    assert "SECRET" not in line
    assert "ValueError" in json.loads(line)["exception"]


def test_what_json_cannot_hold_is_told_in_words() -> None:
    told = json.loads(JsonFormatter().format(record("odd", where=ValueError("here"), half="\ud83d")))
    assert (told["where"], told["half"]) == ("here", "\ud83d")
