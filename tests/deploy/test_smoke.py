"""scripts/smoke as its user sees it: lines, one fault, a status."""

import asyncio
import os
import socket
import subprocess
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest

from tests.deploy.fake_gateway import BAD, CHAT, COMPLETION, DONE, STREAM, Answer, answer, chunk, error, playing, stream
from tests.deploy.files import ROOT
from tests.test_commands import keys, program

KEY = "gk-smoke-0123456789"
FAILED = 'data: {"error": {"code": "upstream_truncated", "message": "Cut."}}\n\n'


class Outcome(NamedTuple):
    status: int
    out: str
    err: str


def smoke(*arguments: str, folder: Path, **environ: str) -> Outcome:
    """`folder` has the `.env`, if any."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PPLX_") and "proxy" not in k.lower()}
    done = subprocess.run(
        [ROOT / "scripts/smoke", "--env-file", folder / ".env", *arguments],
        env={**clean, **environ},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert KEY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return Outcome(done.returncode, done.stdout, done.stderr)


def fault(outcome: Outcome) -> str:
    """The one line of an outcome that is none."""
    assert outcome.status == 1, outcome
    assert outcome.err.startswith("smoke: ")
    assert outcome.err.count("\n") == 1
    return outcome.err


async def test_a_demo_passes(tmp_path: Path) -> None:
    async with program("demo", "--port", "0", folder=tmp_path) as demo:
        for arguments in ([demo.url], [f"{demo.url}/v1/"], [demo.url.removeprefix("http://"), "--model", "api/sonar"]):
            outcome = await asyncio.to_thread(smoke, *arguments, folder=tmp_path)
            assert (outcome.status, outcome.err) == (0, "")
            assert [line.split()[:2] for line in outcome.out.splitlines()] == [
                ["ok", name] for name in ("health", "models", "error", "chat", "stream")
            ]
        assert "sonar" in outcome.out
        await demo.stop()


async def test_a_gateway_with_a_key_passes_with_the_key_and_fails_with_another(tmp_path: Path) -> None:
    env = tmp_path / ".env"
    async with (
        program("emulator", folder=tmp_path) as emulator,
        program("serve", "--port", "0", folder=tmp_path, PPLX_PROXY_API_KEY=KEY, **keys(emulator.url)) as gateway,
    ):
        port = gateway.url.rsplit(":", 1)[1]
        env.write_text(f"# mine\nPPLX_PROXY_PORT={port}\nexport PPLX_PROXY_API_KEY='{KEY}' # the key\n")
        assert (await asyncio.to_thread(smoke, "--model", "sonar", folder=tmp_path)).status == 0
        for wrong in ({"PPLX_PROXY_API_KEY": "gk-wrong"}, {"PPLX_PROXY_API_KEY": "k\u00e9y"}):
            outcome = await asyncio.to_thread(smoke, folder=tmp_path, **wrong)
            assert "models" in fault(outcome)
            assert "invalid_api_key" in outcome.err
        env.unlink()
        assert "invalid_api_key" in fault(await asyncio.to_thread(smoke, gateway.url, folder=tmp_path))
        await gateway.stop()
        await emulator.stop()


async def test_an_upstream_that_is_down_or_cuts_its_answer_is_a_fault(tmp_path: Path) -> None:
    down = {"status": 500, "steps": [{"bytes": "<html>down</html>"}], "repeat": "forever"}
    cut = {"headers": {"content-type": "text/event-stream"}, "steps": [{"cut": True}], "repeat": "forever"}
    async with (
        program("emulator", folder=tmp_path) as emulator,
        program("serve", "--port", "0", folder=tmp_path, **keys(emulator.url)) as gateway,
        httpx2.AsyncClient(trust_env=False) as client,
    ):
        script = f"{emulator.url}/_emulator/script"
        for played, code in ((down, "upstream_error"), (cut, "upstream_truncated")):
            await client.delete(script)
            await client.post(script, json={"path": "/v1/agent", "answers": [played]})
            outcome = await asyncio.to_thread(smoke, gateway.url, "--model", "sonar", folder=tmp_path)
            assert f"smoke: chat at {gateway.url}: status 502, {code}" in fault(outcome)
        await client.delete(script)
        assert (await asyncio.to_thread(smoke, gateway.url, "--model", "sonar", folder=tmp_path)).status == 0
        await gateway.stop()
        await emulator.stop()


def test_no_gateway_there_is_a_fault(tmp_path: Path) -> None:
    with playing() as fake:
        pass
    assert "Connection refused" in fault(smoke(fake.url, folder=tmp_path))


@pytest.mark.parametrize(
    ("path", "played", "words"),
    [
        ("GET /health", answer({"status": "ok", "service": "other"}), "not a pplx-gateway"),
        ("GET /health", Answer("<html>hello</html>"), "not JSON"),
        ("GET /health", Answer("", 302, (("location", "http://127.0.0.1:1/"),)), "another address"),
        ("GET /v1/models", answer({"data": []}), "no models"),
        ("GET /v1/models", answer([]), "not an object"),
        (BAD, answer(COMPLETION), "instead of 400"),
        (BAD, answer({"error": "bad"}, 400), "has not the form"),
        (CHAT, error(503, "session_expired", "Sign in\nagain."), "503, session_expired: Sign in again."),
        (CHAT, answer({"choices": []}), "has not the form"),
        (CHAT, answer({"choices": [{"message": {"content": " "}, "finish_reason": "stop"}]}), "empty"),
        (CHAT, answer({"choices": [{"message": {"content": "x"}, "finish_reason": None}]}), "finish_reason"),
        (STREAM, error(429, "quota_exhausted"), "429, quota_exhausted"),
        (STREAM, stream(chunk("The "), chunk("Leie.", "stop")), "without [DONE]"),
        (STREAM, stream(chunk("The ")), "without [DONE] after 4"),
        (STREAM, stream(chunk("The "), DONE), "without a finish_reason"),
        (STREAM, stream(chunk("", "stop"), DONE), "nothing was said"),
        (STREAM, stream(chunk("The ", "stop"), DONE, chunk("more")), "follows [DONE]"),
        (
            STREAM,
            stream(chunk("The "), 'data: {"error": {"code": "upstream_truncated", "message": "Cut."}}\n\n'),
            "Cut.",
        ),
        (STREAM, stream("data: {oops\n\n", DONE), "has not the form"),
        (STREAM, stream("data: [1]\n\n", DONE), "has not the form"),
    ],
)
def test_a_gateway_that_is_broken_in_one_way_is_told_so(path: str, played: Answer, words: str, tmp_path: Path) -> None:
    with playing({path: played}) as fake:
        assert words in fault(smoke(fake.url, folder=tmp_path))


def test_a_whole_fake_passes_so_that_the_faults_above_are_what_is_found(tmp_path: Path) -> None:
    with playing() as fake:
        assert smoke(fake.url, folder=tmp_path).status == 0


def test_the_model_is_named_only_where_it_was_asked_for(tmp_path: Path) -> None:
    with playing() as fake:
        smoke(fake.url, folder=tmp_path)
        assert all("model" not in body for _, _, body in fake.requests if body)
        fake.requests.clear()
        smoke(fake.url, "--model", "auto", folder=tmp_path)
        assert [body.get("model") for _, _, body in fake.requests if body] == [None, "auto", "auto"]
        assert "'nemo' is not among the 2" in fault(smoke(fake.url, "--model", "nemo", folder=tmp_path))


def test_the_key_goes_to_the_gateway_and_to_no_address_that_it_points_to(tmp_path: Path) -> None:
    with playing() as other, playing({CHAT: Answer("", 307, (("location", other.url),))}) as fake:
        fault(smoke(fake.url, folder=tmp_path, PPLX_PROXY_API_KEY=KEY))
        assert fake.keys == {f"Bearer {KEY}"}
        assert not other.requests


def test_the_key_may_come_from_a_file_and_the_environment_wins_over_env(tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    with playing() as fake:
        (tmp_path / ".env").write_text(f"PPLX_PROXY_API_KEY=\nPPLX_PROXY_API_KEY_FILE={tmp_path / 'key'}\n")
        smoke(fake.url, folder=tmp_path)
        smoke(fake.url, folder=tmp_path, PPLX_PROXY_API_KEY=" ")
        assert fake.keys == {f"Bearer {KEY}"}
        fake.requests.clear()
        (tmp_path / ".env").write_text('PPLX_PROXY_API_KEY="of$env"\n')
        smoke(fake.url, folder=tmp_path)
        assert fake.keys == {"Bearer of$env"}
        fake.requests.clear()
        smoke(fake.url, folder=tmp_path, PPLX_PROXY_API_KEY="given")
        assert fake.keys == {"Bearer given"}


def test_a_key_that_the_gateway_sends_back_is_not_printed(tmp_path: Path) -> None:
    with playing({CHAT: error(500, "internal_error", f"The key {KEY} \x1b[31mfailed.")}) as fake:
        line = fault(smoke(fake.url, folder=tmp_path, PPLX_PROXY_API_KEY=KEY))
    assert "The key ***" in line
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("arguments", "environ"),
    [
        (["http://127.0.0.1:port"], {}),
        (["ftp://127.0.0.1"], {}),
        (["http://"], {}),
        ([], {"PPLX_PROXY_API_KEY": "two\nlines"}),
        ([], {"PPLX_PROXY_API_KEY_FILE": "/nowhere/key"}),
        (["--timeout", "soon"], {}),
    ],
)
def test_what_cannot_be_used_is_said_with_status_2(
    arguments: list[str], environ: dict[str, str], tmp_path: Path
) -> None:
    outcome = smoke(*arguments, folder=tmp_path, **environ)
    assert outcome.status == 2
    assert outcome.err
    assert not outcome.out


def test_a_gateway_that_is_silent_is_a_fault_in_time(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes connections and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert "no answer in time" in fault(smoke(url, "--timeout", "0.3", folder=tmp_path))


def test_without_an_address_it_goes_where_the_settings_say_that_the_gateway_listens(tmp_path: Path) -> None:
    with playing() as fake:
        port = fake.url.rsplit(":", 1)[1]
        (tmp_path / ".env").write_text(f"PPLX_PROXY_HOST=0.0.0.0\nPPLX_PROXY_PORT={port}\n")
        assert smoke(folder=tmp_path).status == 0
        assert smoke(folder=tmp_path, PPLX_PROXY_HOST="localhost").status == 0
        assert "[::1]" in fault(smoke(folder=tmp_path, PPLX_PROXY_HOST="::1"))
