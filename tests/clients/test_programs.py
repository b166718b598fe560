"""Clients that are not ours to read inside: LangChain, LiteLLM and llm, given an address, a key and a model's name."""

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.clients.bodies import FOLLOW_UP, QUESTION
from tests.rig import AGENT, ASK_PATH, KEY, Rig

PROGRAMS = Path(__file__).parent / "programs"
MODELS = ("session/gpt", "api/sonar")
PATIENCE_SECONDS = 100.0
_OURS = ("OPENAI", "PERPLEXITY", "PPLX", "LANGCHAIN", "LANGSMITH", "LITELLM", "LLM_", "HTTP", "ALL_PROXY", "PYTHON")


async def output(*command: str | Path, folder: Path, **environ: str) -> str:
    """What `command` writes to stdout; it must succeed. Its home is `folder`, and it sees no settings but `environ`."""
    clean = {k: v for k, v in os.environ.items() if not k.upper().startswith(_OURS)}
    process = await asyncio.create_subprocess_exec(
        *command,
        cwd=folder,
        env={**clean, "HOME": str(folder), **environ},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await asyncio.wait_for(process.communicate(), PATIENCE_SECONDS)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode == 0, err.decode()[-3000:]
    return out.decode()


async def told(program: str, *models: str, folder: Path, **environ: str) -> list[dict[str, Any]]:
    """What the program prints; LiteLLM adds lines of its own."""
    text = await output(sys.executable, PROGRAMS / program, *models, folder=folder, **environ)
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def check_text(row: dict[str, Any]) -> None:
    assert "Leie" in row["text"], row
    assert "Scheldt" in row["text"], row
    assert ("[" in row["text"]) is (row["model"] == "api/sonar"), row


async def test_langchain(dropping: Rig, tmp_path: Path) -> None:
    base = f"{dropping.url}/v1"
    openai = {"OPENAI_BASE_URL": base, "OPENAI_API_KEY": KEY}
    perplexity = {"PERPLEXITY_BASE_URL": dropping.url, "PERPLEXITY_API_KEY": KEY, "PPLX_API_KEY": KEY}
    rows = await told("langchain_chat.py", *MODELS, folder=tmp_path, **openai, **perplexity)
    answers = [row for row in rows if row["client"] != "ChatOpenAI with a tool"]
    assert len(answers) == 3 * len(MODELS) * 2
    for row in answers:
        check_text(row)
        counts = row["way"] == "plain" or row["client"] != "ChatOpenAI"  # the others ask for usage, or always get it
        assert (row["tokens"] or 0) > 0 if counts else row["tokens"] is None, row
        assert (row["sources"] > 0) is (row["client"] == "ChatPerplexity"), row
    called = [row for row in rows if row not in answers]
    assert [row["model"] for row in called] == list(MODELS)
    assert all("High water in Ostend is at 06:12." in row["text"] for row in called)
    await dropping.check()


async def test_litellm(dropping: Rig, tmp_path: Path) -> None:
    rows = await told(
        "litellm_chat.py",
        *MODELS,
        folder=tmp_path,
        GATEWAY_URL=f"{dropping.url}/v1",
        GATEWAY_KEY=KEY,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )
    assert len(rows) == 2 * len(MODELS) * 2
    for row in rows:
        check_text(row)
        assert row["finish"] == "stop"
        assert row["tokens"] > 0
        assert row["annotations"] > 0, row
    assert len(await dropping.requests(ASK_PATH)) == len(await dropping.requests(AGENT)) == 4
    await dropping.check()


async def llm(*arguments: str, folder: Path) -> str:
    return await output(sys.executable, "-m", "llm", *arguments, folder=folder, LLM_USER_PATH=str(folder))


def configure_llm(folder: Path, url: str) -> None:
    """The two files in which llm keeps models of one's own, and keys."""
    lines = [
        f"- model_id: {model.replace('/', '-')}\n  model_name: {model}\n  api_base: {url}/v1\n  api_key_name: gateway"
        for model in MODELS
    ]
    (folder / "extra-openai-models.yaml").write_text("\n".join(lines))
    (folder / "keys.json").write_text(json.dumps({"gateway": KEY}))


async def test_llm(both: Rig, tmp_path: Path) -> None:
    configure_llm(tmp_path, both.url)
    for model in MODELS:
        name = model.replace("/", "-")
        streamed = await llm("-m", name, QUESTION, folder=tmp_path)
        plain = await llm("-m", name, "--no-stream", QUESTION, folder=tmp_path)
        assert streamed == plain
        check_text({"text": plain, "model": model})
    await both.check()


async def test_llm_goes_on_with_a_conversation(both: Rig, tmp_path: Path) -> None:
    configure_llm(tmp_path, both.url)
    await llm("-m", "session-gpt", QUESTION, folder=tmp_path)
    assert (await llm("-c", FOLLOW_UP, folder=tmp_path)).strip()
    first, second = (request["json"]["params"] for request in await both.requests(ASK_PATH))
    assert first["last_backend_uuid"] is None
    assert second["last_backend_uuid"]


async def test_llm_lists_models_and_calls_functions(both: Rig, tmp_path: Path) -> None:
    endpoint = ("openai", "endpoint", f"{both.url}/v1", "--key", KEY)
    assert {"gpt", "sonar", "perplexity/sonar"} <= set((await llm(*endpoint, "--models", folder=tmp_path)).split())
    functions = (
        'def tide_table(port: str) -> str:\n    "The tides of a port"\n    return f"High water in {port}: 06:12"'
    )
    question = "Use tide_table for 'Ostend'."
    for model in MODELS:
        said = await llm(*endpoint, "-m", model, "--functions", functions, question, folder=tmp_path)
        assert "High water in Ostend: 06:12" in said
