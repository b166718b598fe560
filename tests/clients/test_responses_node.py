"""The Responses API with OpenAI's SDK for Node, and with the AI SDK, whose OpenAI provider speaks it by default."""

import json
from pathlib import Path

from tests.clients.recording import Recorder
from tests.clients.test_node import FOLDER, NODE, Rows
from tests.clients.test_programs import MODELS, check_text, output
from tests.rig import KEY, running

RETURNED = "High water in Ostend is at 06:12."
TIDE = {"port": "Ostend", "metres": 4.5}


async def test_responses_for_node(tmp_path: Path) -> None:
    assert (FOLDER / "node_modules").is_dir(), "run scripts/node-setup, as scripts/test does"
    recorder = Recorder()
    async with running(tmp_path, around=recorder.around) as rig:
        environ = {"GATEWAY_URL": f"{rig.url}/v1", "GATEWAY_KEY": KEY}
        text = await output(NODE, FOLDER / "responses.mjs", *MODELS, folder=tmp_path, **environ)
        await rig.check()
    rows: Rows = {(row["client"], row["model"], row["way"]): row for row in map(json.loads, text.splitlines())}
    assert len(rows) == len(MODELS) * 22
    for model in MODELS:
        check_openai(rows, model)
        check_kept(rows, model)
        check_background(rows, model)
        check_failures(rows, model)
        check_ai_sdk(rows, model)
    kinds = recorder.check()
    assert {name for name in kinds if "/{id}" in name} == {
        *("GET /{id}", "GET /{id} streamed", "DELETE /{id}", "POST /{id}/cancel", "GET /{id}/input_items")
    }


def check_openai(rows: Rows, model: str) -> None:
    plain, streamed, helped = (rows["openai", model, way] for way in ("plain", "streamed", "helper"))
    check_text(plain)
    assert plain["text"] == streamed["text"] == helped["text"]
    assert (plain["status"], plain["annotations"] > 0, plain["tokens"] > 0) == ("completed", True, True)
    assert helped["items"] == ["web_search_call", "message"]
    assert {"response.web_search_call.completed", "response.output_text.annotation.added"} <= set(helped["kinds"])
    for way in ("loop", "streamed loop"):
        assert RETURNED in rows["openai", model, way]["text"]
    parsed = rows["openai", model, "parse"]
    if model.startswith("api/"):
        assert parsed["parsed"] == TIDE
    else:
        assert (parsed["status"], parsed["param"]) == (400, "text.format.strict")


def check_kept(rows: Rows, model: str) -> None:
    row = rows["openai", model, "kept"]
    assert row["items"] == [f"Part {number}" for number in range(1, 6)]
    assert row["same"]
    assert (row["gone"]["error"], row["gone"]["status"]) == ("NotFoundError", 404)
    assert row["chained"]["code"] == "previous_response_not_found"


def check_background(rows: Rows, model: str) -> None:
    done, stopped = rows["openai", model, "background"], rows["openai", model, "cancelled"]
    assert (done["first"], done["status"]) == ("queued", "completed")
    check_text(done)
    assert done["numbers"] == list(range(5, 5 + len(done["numbers"])))
    assert done["over"]["status"] == 400
    assert stopped["status"] == "cancelled"
    assert (stopped["followed"]["error"], stopped["followed"]["code"]) == ("APIError", "response_cancelled")


def check_failures(rows: Rows, model: str) -> None:
    unknown, field, broken, cut = (
        rows["openai", model, way] for way in ("unknown model", "bad field", "broken", "broken stream")
    )
    assert (unknown["error"], unknown["code"]) == ("NotFoundError", "model_not_found")
    assert (field["error"], field["param"]) == ("BadRequestError", "top_logprobs")
    assert (broken["error"], broken["status"]) == ("InternalServerError", 502)
    assert (cut["last"], cut["status"], cut["code"]) == ("response.failed", "failed", "server_error")


def check_ai_sdk(rows: Rows, model: str) -> None:
    for way in ("plain", "streamed", "search", "streamed search"):
        row = rows["ai-sdk", model, way]
        check_text(row)
        assert (row["finish"], row["sources"] > 0, row["tokens"] > 0) == ("stop", True, True)
    for way in ("tools, kept", "streamed tools, kept", "tools, not kept", "streamed tools, not kept"):
        assert RETURNED in rows["ai-sdk", model, way]["text"]
    assert rows["ai-sdk", model, "object"]["output"] == TIDE
