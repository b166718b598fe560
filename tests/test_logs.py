import json
import logging
import sys

from pplx_gateway.logs import JsonFormatter, TextFormatter, request_id
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


def test_a_secret_is_masked_also_as_it_looks_within_json() -> None:
    line = JsonFormatter([Secret('quoted"and\\slashed')]).format(record('it is quoted"and\\slashed indeed'))
    assert json.loads(line)["message"] == "it is *** indeed"


def test_a_line_for_people_holds_its_facts_and_cannot_look_like_two() -> None:
    forged = "asked\n2026-01-01T00:00:00.000Z INFO pplx_gateway forged"
    line = TextFormatter([Secret("pplx-SECRET")]).format(record(forged, model="gpt", why="two words\nof pplx-SECRET"))
    assert "\n" not in line
    assert line.endswith('model=gpt why="two words\\nof ***"')
    assert '"asked\\n2026' in line


def test_an_exception_stands_below_its_line() -> None:
    try:
        raise ValueError("no\nsuch key pplx-SECRET")
    except ValueError:
        line = TextFormatter([Secret("pplx-SECRET")]).format(record("failed", exc_info=sys.exc_info()))
    first, *below = line.split("\n")
    assert first.endswith("pplx_gateway failed")
    assert all(text.startswith("    ") for text in below)
    assert "SECRET" not in line
