"""Clients that are not ours to read inside: LangChain's, Anthropic's own SDK for Node, and the AI SDK's provider."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.clients.test_node import FOLDER, NODE
from tests.clients.test_programs import output, told
from tests.rig import KEY, Rig

MODELS = ("claude-sonnet-5", "api/sonar")
HIGH_WATER = "High water in Ostend is at 06:12."
Row = dict[str, Any]


@pytest.fixture
async def node(both: Rig, tmp_path: Path) -> dict[tuple[str, str | None, str], Row]:
    """What anthropic.mjs told, by client, model and way."""
    assert (FOLDER / "node_modules").is_dir(), "run scripts/node-setup, as scripts/test does"
    environ = {"GATEWAY_URL": both.url, "GATEWAY_KEY": KEY}
    text = await output(NODE, FOLDER / "anthropic.mjs", *MODELS, folder=tmp_path, **environ)
    await both.check()
    rows = [json.loads(line) for line in text.splitlines()]
    found = {(row["client"], row["model"], row["way"]): row for row in rows}
    assert len(found) == len(rows)
    return found


async def test_langchain(both: Rig, tmp_path: Path) -> None:
    environ = {"ANTHROPIC_BASE_URL": both.url, "ANTHROPIC_API_KEY": KEY}
    rows = await told("anthropic_chat.py", *MODELS, folder=tmp_path, **environ)
    found = {(row["model"], row["way"]): row for row in rows}
    assert len(found) == len(rows) == 10 * len(MODELS)
    for model in MODELS:
        of_model = {way: row for (name, way), row in found.items() if name == model}
        texts = {of_model[way]["text"] for way in ("plain", "streamed", "search", "streamed search", "thinking")}
        assert len(texts) == 1
        assert "Leie" in texts.pop()
        for way in ("plain", "streamed"):
            assert of_model[way]["citations"] > 0
            assert of_model[way]["kinds"] == ["text"]
        for way in ("search", "streamed search"):
            assert of_model[way]["kinds"] == ["server_tool_use", "text", "web_search_tool_result"]
        assert of_model["thinking"]["kinds"] == ["text", "thinking"]
        assert of_model["after thinking"]["text"]
        for way in ("call", "streamed call"):
            assert (of_model[way]["calls"], of_model[way]["finish"]) == ([{"port": "Ostend"}], "tool_use")
        for way in ("result", "streamed result"):
            assert HIGH_WATER in of_model[way]["text"]
        assert all(row["tokens"] > 0 for row in of_model.values())
    await both.check()


async def test_clients_for_node(node: dict[tuple[str, str | None, str], Row]) -> None:
    assert {"claude-opus-5-5", "gpt", "sonar"} <= set(node["sdk", None, "models"]["listed"])
    for model in MODELS:
        check_sdk({way: row for (client, name, way), row in node.items() if (client, name) == ("sdk", model)})
        check_ai({way: row for (client, name, way), row in node.items() if (client, name) == ("ai", model)})
    assert node["ai", "api/sonar", "object"]["output"] == {"port": "Ostend", "metres": 4.5}


def check_sdk(rows: dict[str, Row]) -> None:
    assert "Leie" in rows["plain"]["text"]
    assert rows["plain"]["text"] == rows["helper"]["text"] == rows["heard"]["text"] == rows["thinking"]["text"]
    assert rows["plain"]["kinds"] == ["text"]
    assert rows["plain"]["citations"] == rows["helper"]["citations"] > 0
    assert rows["helper"]["kinds"][0] == "server_tool_use"
    assert rows["thinking"]["kinds"] == ["thinking", "text"]
    assert rows["events"]["kinds"] == [
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    for way in ("tools", "streamed tools"):
        assert HIGH_WATER in rows[way]["text"]
    for way in ("plain", "helper", "thinking", "tools", "streamed tools"):
        assert rows[way]["finish"] == "end_turn"
        assert rows[way]["tokens"] > 0
    assert {way: (rows[way]["error"], rows[way]["status"], rows[way]["kind"]) for way in FAILURES} == FAILURES


FAILURES = {
    "unknown model": ("NotFoundError", 404, "not_found_error"),
    "bad field": ("BadRequestError", 400, "invalid_request_error"),
    "wrong key": ("AuthenticationError", 401, "authentication_error"),
}


def check_ai(rows: dict[str, Row]) -> None:
    texts = {rows[way]["text"] for way in ("plain", "streamed", "search", "streamed search", "thinking")}
    assert len(texts) == 1
    for way, row in rows.items():
        if way != "object":
            assert row["finish"] == "stop", row
            assert row["tokens"] > 0
    assert rows["plain"]["sources"] == rows["streamed"]["sources"] > 0
    assert rows["search"]["sources"] == rows["streamed search"]["sources"] > rows["plain"]["sources"]
    assert rows["thinking"]["reasoning"]
    assert rows["plain"]["reasoning"] == ""
    for way in ("tools", "streamed tools"):
        assert HIGH_WATER in rows[way]["text"]
