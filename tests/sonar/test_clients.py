"""LangChain, LiteLLM and the AI SDK ask for Sonar, with an address below /perplexity and nothing else changed."""

import json
from pathlib import Path
from typing import Any

from tests.clients.test_node import FOLDER, NODE
from tests.clients.test_programs import output, told
from tests.rig import AGENT, ASK_PATH, KEY, Rig

MODELS = ("sonar", "sonar-pro", "session/sonar")


def check(row: dict[str, Any]) -> None:
    assert "Leie" in row["text"], row
    assert row["tokens"] > 0, row
    assert row["finish"] == "stop", row


async def test_langchain_and_litellm(both: Rig, tmp_path: Path) -> None:
    environ = {"PERPLEXITY_BASE_URL": f"{both.url}/perplexity", "PERPLEXITY_API_KEY": KEY, "PPLX_API_KEY": KEY}
    models = MODELS[:2]
    rows = await told("sonar.py", *models, folder=tmp_path, LITELLM_LOCAL_MODEL_COST_MAP="True", **environ)
    answers = [row for row in rows if "text" in row]
    assert len(answers) == 2 * 2 * len(models)
    for row in answers:
        check(row)
        if row["client"] == "langchain" or row["way"] == "plain":
            assert any(row["citations"]), row
    for row in (row for row in answers if row["client"] == "litellm"):
        assert row["cost"] > 0, row
    retrieved, searched, embedded, refused, broken = rows[-5:]
    assert (len(retrieved["urls"]), len(searched["urls"])) == (3, 2)
    assert embedded["lengths"] == [1024, 1024]
    assert (refused["status"], refused["error"]) == (500, "InternalServerError")
    assert broken["error"], "a stream that breaks must not look like an answer"
    assert len(await both.requests(ASK_PATH)) == 0


async def test_the_ai_sdk(both: Rig, tmp_path: Path) -> None:
    assert (FOLDER / "node_modules").is_dir(), "run scripts/node-setup, as scripts/test does"
    environ = {"GATEWAY_URL": f"{both.url}/perplexity", "GATEWAY_KEY": KEY}
    text = await output(NODE, FOLDER / "sonar.mjs", *MODELS, folder=tmp_path, **environ)
    rows = {(row["model"], row["way"]): row for row in map(json.loads, text.splitlines())}
    for model in MODELS:
        plain, streamed = rows[model, "plain"], rows[model, "streamed"]
        for row in (plain, streamed):
            check(row)
            assert any(row["sources"]), row
            assert (row["cost"] is None) is (model == "session/sonar"), row
        assert plain["text"] == streamed["text"]
        assert plain["sources"] == streamed["sources"]
        assert plain["fee"] == streamed["fee"]
    assert rows["sonar", "options"]["dropped"] is None
    assert rows["sonar", "object"]["keys"] == ["metres", "port"]
    vectors, none = (rows["pplx-embed-v1-0.6b", way] for way in ("vectors", "no vectors"))
    assert vectors["lengths"] == [1024, 1024]
    assert vectors["tokens"] > 0
    assert vectors["cost"] > 0
    assert (none["status"], none["code"]) == (404, 404)
    retired, refused, broken = (rows["sonar", way] for way in ("retired", "refused", "broken"))
    assert (retired["error"], retired["status"], retired["code"]) == ("AI_APICallError", 404, 404)
    assert "retired" in retired["message"]
    assert (refused["error"], refused["status"], refused["code"]) == ("AI_APICallError", 500, 500)
    assert broken["error"]
    assert await both.requests(AGENT)
