"""The commands as processes: what a person types, sees and interrupts."""

import asyncio
import contextlib
import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2

from tests.commands.shell import piped

ANNOUNCEMENT = "listening on http://127.0.0.1:"


class Program:
    """A running `pplx-gateway` command, by its process id."""

    def __init__(self, process: asyncio.subprocess.Process, url: str) -> None:
        self.process = process
        self.url = url

    async def stop(self, number: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
        """Interrupts it; what it still wrote to stdout, and all of stderr."""
        if self.process.returncode is None:
            self.process.send_signal(number)
        out, err = await asyncio.wait_for(self.process.communicate(), 20)
        return out.decode(), err.decode()


async def start(*arguments: str, folder: Path, **environ: str) -> asyncio.subprocess.Process:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("PPLX_", "PERPLEXITY_", "HTTP"))}
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        "from pplx_gateway.commands import main; main()",
        *arguments,
        cwd=folder,
        env={**clean, "PPLX_DATA_DIR": str(folder / "data"), **environ},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@contextlib.asynccontextmanager
async def program(*arguments: str, folder: Path, **environ: str) -> AsyncGenerator[Program, None]:
    process = await start(*arguments, folder=folder, **environ)
    try:
        assert process.stdout is not None
        line = (await asyncio.wait_for(process.stdout.readline(), 30)).decode().strip()
        if not line.startswith(ANNOUNCEMENT):
            _, err = await process.communicate()
            raise AssertionError(f"{line!r} instead of an address; {err.decode()[-2000:]}")
        yield Program(process, line.removeprefix("listening on "))
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def refusal(*arguments: str, folder: Path, status: int = 2, **environ: str) -> str:
    """What a command that must not start says on stderr; `status` is 2 for what its owner can set right."""
    process = await start(*arguments, folder=folder, **environ)
    out, err = await asyncio.wait_for(process.communicate(), 30)
    assert process.returncode == status, err.decode()
    assert not out
    assert "Traceback" not in err.decode()
    return err.decode()


def ask(url: str, **body: object) -> dict[str, object]:
    request = urllib.request.Request(
        f"{url}/v1/chat/completions",
        json.dumps({"messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}], **body}).encode(),
        {"content-type": "application/json"},
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=20) as reply:
        answer: dict[str, object] = json.load(reply)
    return answer


async def test_the_demo_prints_one_line_and_answers_on_both_upstreams(tmp_path: Path) -> None:
    async with program("demo", "--port", "0", folder=tmp_path) as demo:
        for model in ("gpt", "api/sonar"):
            answer = await asyncio.to_thread(ask, demo.url, model=model)
            assert "Leie" in json.dumps(answer)
        out, err = await demo.stop()
    assert out == ""
    assert f"curl {demo.url}/v1/chat/completions" in err


async def test_the_demo_leaves_the_owners_own_settings_alone(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("PPLX_COOKIE=real-cookie\nPPLX_SESSION_URL=https://real.example\n")
    async with program("demo", "--port", "0", folder=tmp_path, PERPLEXITY_API_KEY="pplx-real") as demo:
        answer = await asyncio.to_thread(ask, demo.url, model="gpt")
        assert answer["model"] == "gpt"
        await demo.stop()
    assert not (tmp_path / "data").exists()


async def test_an_answer_under_way_at_a_stop_ends_with_an_error_its_caller_can_read(tmp_path: Path) -> None:
    async with (
        program("emulator", folder=tmp_path) as emulator,
        program("serve", "--port", "0", folder=tmp_path, **keys(emulator.url)) as gateway,
        httpx2.AsyncClient(timeout=30, trust_env=False) as client,
    ):
        await client.post(f"{emulator.url}/_emulator/script", json=held_answer())
        body = {"model": "sonar", "stream": True, "messages": [{"role": "user", "content": "Why?"}]}
        async with client.stream("POST", f"{gateway.url}/v1/chat/completions", json=body) as reply:
            lines = reply.aiter_lines()
            assert reply.status_code == 200
            while "Half" not in await anext(lines):
                continue
            gateway.process.send_signal(signal.SIGTERM)
            rest = [line async for line in lines if line.startswith("data")]
        assert rest[-1].startswith('data: {"error"')
        assert "[DONE]" not in "".join(rest)
        await gateway.stop()
        await emulator.stop()


def keys(emulator_url: str) -> dict[str, str]:
    return {"PERPLEXITY_API_KEY": "pplx-test", "PPLX_API_URL": emulator_url, "PPLX_SESSION_URL": emulator_url}


def held_answer() -> dict[str, object]:
    created = {"type": "response.created", "sequence_number": 0, "response": {"id": "resp_1", "status": "in_progress"}}
    delta = {"type": "response.output_text.delta", "sequence_number": 1, "delta": "Half ", "output_index": 0}
    steps: list[dict[str, object]] = [{"bytes": f"data: {json.dumps(event)}\n\n"} for event in (created, delta)]
    answer = {"headers": {"content-type": "text/event-stream"}, "steps": [*steps, {"sleep": 600}]}
    return {"path": "/v1/agent", "answers": [answer]}


async def test_serve_reads_env_files_and_tells_what_is_of_no_effect(tmp_path: Path) -> None:
    async with program("emulator", folder=tmp_path) as emulator:
        lines = [f"{name}={value}" for name, value in keys(emulator.url).items()]
        (tmp_path / ".env").write_text("\n".join([*lines, "USER_AGENT=mine"]))
        async with program("serve", "--port", "0", folder=tmp_path) as gateway:
            answer = await asyncio.to_thread(ask, gateway.url, model="sonar")
            assert answer["object"] == "chat.completion"
            _, err = await gateway.stop(signal.SIGINT)
        await emulator.stop()
    messages = [json.loads(line)["message"] for line in err.splitlines() if line.startswith("{")]
    assert any("USER_AGENT" in message for message in messages)
    assert any(emulator.url in message for message in messages)


async def test_serve_warns_where_there_is_nothing_to_ask_with_and_names_the_way_out(tmp_path: Path) -> None:
    async with program("emulator", folder=tmp_path) as emulator:
        upstreams = {name: value for name, value in keys(emulator.url).items() if name.endswith("_URL")}
        async with program("serve", "--port", "0", folder=tmp_path, **upstreams) as gateway:
            _, bare = await gateway.stop()
        assert (await piped("login", folder=tmp_path, stdin=b"emulator-pro-kept-0123456789", **upstreams)).code == 0
        async with program("serve", "--port", "0", folder=tmp_path, **upstreams) as gateway:
            _, kept = await gateway.stop()
        await emulator.stop()
    found = [json.loads(line) for line in bare.splitlines() if line.startswith("{")]
    (warning,) = [line["message"] for line in found if line["level"] == "WARNING"]
    for wanted in ("PPLX_COOKIE", "pplx-gateway login", "PERPLEXITY_API_KEY", "/admin", "pplx-gateway demo"):
        assert wanted in warning
    assert "No upstream is set up" not in kept


async def test_two_workers_share_a_port(tmp_path: Path) -> None:
    async with (
        program("emulator", folder=tmp_path) as emulator,
        program("serve", "--port", "0", "--workers", "2", folder=tmp_path, **keys(emulator.url)) as gateway,
    ):
        answers = await asyncio.gather(*(asyncio.to_thread(ask, gateway.url, model="sonar") for _ in range(8)))
        assert {answer["object"] for answer in answers} == {"chat.completion"}
        await gateway.stop()
        await emulator.stop()


async def test_a_setting_that_cannot_be_used_is_one_line_and_not_a_traceback(tmp_path: Path) -> None:
    assert "PPLX_UPSTREAMS" in await refusal("serve", "--port", "0", folder=tmp_path, PPLX_UPSTREAMS="nobody")
    assert "PPLX_PROXY_API_KEY" in await refusal("serve", "--port", "0", "--host", "0.0.0.0", folder=tmp_path)
    assert "netscape9" in await refusal(
        "serve", "--port", "0", folder=tmp_path, PPLX_IMPERSONATE="netscape9", PPLX_COOKIE="c" * 30
    )
    missing = await refusal(
        "serve", "--port", "0", folder=tmp_path, SSL_CERT_FILE="/nowhere.pem", PERPLEXITY_API_KEY="pplx-x"
    )
    assert "SSL_CERT_FILE" in missing


async def test_a_port_in_use_is_said_with_the_way_out(tmp_path: Path) -> None:
    async with program("emulator", folder=tmp_path) as emulator:
        port = emulator.url.rsplit(":", 1)[1]
        assert "--port" in await refusal("serve", "--port", port, folder=tmp_path)
        assert "--port" in await refusal("demo", "--port", port, folder=tmp_path)
        assert "--port" in await refusal("emulator", "--port", port, folder=tmp_path)
        await emulator.stop()
