"""LangChain and llm over the Responses API, as their users call them; every byte of it under all readings."""

import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.clients.bodies import FOLLOW_UP, QUESTION
from tests.clients.recording import Recorder
from tests.clients.test_programs import MODELS, check_text, llm, told
from tests.rig import KEY, Rig, running

RETURNED = "High water in Ostend is at 06:12."
TIDES = "Use tide_table for 'Ostend'."
FUNCTIONS = (
    'def tide_table(port: str) -> str:\n    "The tides of a port"\n    return f"High water in {port} is at 06:12."'
)


class Recorded(NamedTuple):
    rig: Rig
    recorder: Recorder


@pytest.fixture
async def recorded(tmp_path: Path) -> AsyncGenerator[Recorded, None]:
    recorder = Recorder()
    async with running(tmp_path / "data", around=recorder.around) as rig:
        yield Recorded(rig, recorder)
        await rig.check()
    assert sum(recorder.check().values()) > 0


async def test_langchain(recorded: Recorded, tmp_path: Path) -> None:
    openai = {"OPENAI_BASE_URL": f"{recorded.rig.url}/v1", "OPENAI_API_KEY": KEY}
    found = await told("langchain_responses.py", *MODELS, folder=tmp_path, **openai)
    rows = {(row["model"], row["way"]): row for row in found}
    for model in MODELS:
        for way in ("plain", "streamed", "search", "streamed search", "reasoning"):
            row = rows[model, way]
            check_text(row)
            assert (row["tokens"] > 0, row["annotations"] > 0) == (True, True), row
        for way in ("follow-up", "whole history"):
            assert rows[model, way]["text"]
        assert "web_search_call" in rows[model, "search"]["blocks"]
        assert "reasoning" in rows[model, "reasoning"]["blocks"]
        for way in ("tools, kept", "streamed tools, kept", "tools, not kept", "streamed tools, not kept"):
            assert rows[model, way]["calls"] == 1
            assert RETURNED in rows[model, way]["text"], rows[model, way]
    assert rows["api/sonar", "structured"]["found"] == {"port": "Ostend", "metres": 4.5}


async def test_llm_loops_without_a_store(recorded: Recorded, tmp_path: Path) -> None:
    endpoint = ("openai", "endpoint", f"{recorded.rig.url}/v1", "--key", KEY, "--responses")
    ways: list[tuple[str, ...]] = [(MODELS[0],), (MODELS[1],), (MODELS[0], "--no-stream")]
    for way in ways:
        assert RETURNED in await llm(*endpoint, "-m", *way, "--functions", FUNCTIONS, TIDES, folder=tmp_path)
    requests = [answer.request for answer in recorded.recorder.answers]
    assert len(requests) == len(ways) * 2
    assert {request["store"] for request in requests} == {False}
    loops = [request["input"] for request in requests[1::2]]
    assert all({"function_call", "function_call_output"} <= {item.get("type") for item in loop} for loop in loops)


async def test_llm_goes_on_with_a_conversation(recorded: Recorded, tmp_path: Path) -> None:
    model = MODELS[0]
    told_of = f"- model_id: gateway\n  model_name: {model}\n  api_base: {recorded.rig.url}/v1\n  api_key_name: gateway"
    (tmp_path / "extra-openai-models.yaml").write_text(f"{told_of}\n  responses: true")
    (tmp_path / "keys.json").write_text(json.dumps({"gateway": KEY}))
    check_text({"text": await llm("-m", "gateway", QUESTION, folder=tmp_path), "model": model})
    assert (await llm("-c", FOLLOW_UP, folder=tmp_path)).strip()
    last = recorded.recorder.answers[-1].request["input"]
    assert [item["role"] for item in last] == ["user", "assistant", "user"]
