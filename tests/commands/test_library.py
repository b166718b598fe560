"""The gateway from Python, without HTTP: asked, streamed, left early, mounted; and every example of docs/python.md."""

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from pplx_gateway.answer import Finished, TextDelta
from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.errors import GatewayError, InvalidRequest, UnsupportedParameter
from pplx_gateway.library import Gateway, OpenGateway
from pplx_gateway.question import Message, Search, TextPart
from pplx_gateway.settings import Secret, Settings
from tests.commands.shell import QUESTION, environ, own
from tests.running import serve

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "python.md"
EXAMPLES = re.findall(
    r"<!-- runs in process -->\n```python\n(.*?)^```$", DOCUMENT.read_text(), re.DOTALL | re.MULTILINE
)


@asynccontextmanager
async def opened(folder: Path) -> AsyncIterator[tuple[OpenGateway, EmulatorServer]]:
    async with EmulatorServer(Clock(), pace_seconds=0.0) as emulator:
        settings = Settings(
            cookie=Secret("emulator-max-python"),
            perplexity_api_key=Secret("pplx-python"),
            session_url=emulator.url,
            api_url=emulator.url,
            data_dir=folder,
        )
        async with Gateway(settings) as gateway:
            yield gateway, emulator


@pytest.mark.parametrize("model", ["gpt", "api/sonar"])
async def test_a_question_is_answered_and_streamed(model: str, tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, _):
        answer = await gateway.answer(QUESTION, model, search=Search(recency="year"))
        assert "Leie" in answer.text
        assert answer.sources
        events = []
        async with gateway.ask(QUESTION, model) as exchange:
            async for batch in exchange:
                events += batch
        assert isinstance(events[-1], Finished)
        assert "Leie" in "".join(event.text for event in events if isinstance(event, TextDelta))
        assert {each.upstream for each in gateway.models()} == {"session", "api"}


async def test_history_counts_and_what_cannot_be_honoured_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, _):
        first = await gateway.answer(QUESTION, "gpt")
        turns = [Message("user", (TextPart(QUESTION),)), Message("assistant", (TextPart(first.text),))]
        assert "Following on" in (await gateway.answer("And why?", "gpt", history=turns)).text
        with pytest.raises(UnsupportedParameter):
            gateway.ask(QUESTION, "gpt", search=Search(domains=("a.example",)))
        with pytest.raises(InvalidRequest):
            gateway.ask(" ")
        with pytest.raises(GatewayError):
            await gateway.answer(QUESTION, "none")


async def test_leaving_early_ends_the_work_upstream(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, emulator), httpx2.AsyncClient(trust_env=False) as client:
        async with gateway.ask("slow: tides", "gpt") as exchange:
            async for batch in exchange:
                if any(isinstance(event, TextDelta) for event in batch):
                    break
        query = {"path": "/rest/sse/perplexity_ask", "closed": "1", "timeout": "10"}
        assert (await client.get(f"{emulator.url}/_emulator/wait", params=query)).status_code == 200


async def test_the_app_can_be_mounted_under_any_path(tmp_path: Path) -> None:
    async with opened(tmp_path) as (gateway, _):
        outer = Starlette(routes=[Mount("/a/b", app=gateway.app)])
        async with serve(outer) as url, httpx2.AsyncClient(trust_env=False) as client:
            models = await client.get(f"{url}/a/b/v1/models")
            body = {"model": "gpt", "messages": [{"role": "user", "content": QUESTION}]}
            chat = await client.post(f"{url}/a/b/v1/chat/completions", json=body)
            admin = await client.get(f"{url}/a/b/admin/usage", headers={"x-forwarded-for": "192.0.2.1"})
        assert (models.status_code, chat.status_code, admin.status_code) == (200, 200, 403)
        assert "Leie" in chat.text


@pytest.mark.parametrize("code", EXAMPLES, ids=range(len(EXAMPLES)))
async def test_an_example_of_the_document_runs(code: str, tmp_path: Path) -> None:
    async with EmulatorServer(Clock(), pace_seconds=0.0) as emulator:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-",
            cwd=tmp_path,
            env=environ(tmp_path, **own(emulator.url)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await asyncio.wait_for(process.communicate(code.encode()), 40)
    assert (process.returncode, bool(out.strip())) == (0, True), err.decode()


def test_the_document_has_examples() -> None:
    assert len(EXAMPLES) == 5
