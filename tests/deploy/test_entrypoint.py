"""What the image's command does as the first process of a container: starting, settings, signals."""

import asyncio
import json
import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.deploy.container import Container, contained, container, place, read
from tests.deploy.files import DEPLOY, compose, dockerfile
from tests.test_commands import held_answer, keys, program

KEY = "gk-container-0123456789"
NEEDS_NAMESPACES = pytest.mark.skipif(not contained(), reason="this machine lets us make no namespaces")
# Tests use loopback alone; the image's own address is looked at by those that are refused.
SERVING = {"PPLX_PROXY_HOST": "127.0.0.1", "PPLX_PROXY_PORT": "0", "PPLX_PROXY_API_KEY": KEY}
QUESTION = {"model": "sonar", "stream": True, "messages": [{"role": "user", "content": "Why?"}]}
HEADERS = {"authorization": f"Bearer {KEY}"}


def messages(err: str) -> list[str]:
    return [json.loads(line)["message"] for line in err.splitlines() if line.startswith("{")]


def healthcheck(url: str) -> int:
    """The image's HEALTHCHECK against `url`."""
    _, _, command = dockerfile().one("HEALTHCHECK").rest.partition("CMD ")
    assert json.loads(command) == ["python", "/opt/pplx-gateway/healthcheck.py"]
    done = subprocess.run(
        [sys.executable, DEPLOY / "healthcheck.py"],
        env={
            "PPLX_PROXY_PORT": url.rsplit(":", 1)[1],
            "HTTP_PROXY": "http://127.0.0.1:9",
            "http_proxy": "http://127.0.0.1:9",
        },
        check=False,
    )
    return done.returncode


async def refused(started: Container) -> str:
    status, err = await started.ended(30)
    assert status == 2, err
    assert "Traceback" not in err
    return err


async def test_it_answers_and_leaves_cleanly(tmp_path: Path) -> None:
    async with container(tmp_path, SERVING) as started:
        url = await started.address()
        async with httpx2.AsyncClient(trust_env=False) as client:
            reply = await client.get(f"{url}/health")
        assert (reply.status_code, reply.json()["service"]) == (200, "pplx-gateway")
        assert await asyncio.to_thread(healthcheck, url) == 0
        started.stop()
        status, _ = await started.ended()
        assert status == 0
    assert await asyncio.to_thread(healthcheck, url) == 1


@NEEDS_NAMESPACES
async def test_the_program_is_process_1_and_runs_as_the_images_user(tmp_path: Path) -> None:
    async with container(tmp_path, SERVING) as started:
        await started.address()
        facts = dict(line.split(":", 1) for line in read(f"/proc/{started.first}/status").splitlines())
        assert facts["NSpid"].split()[-1] == "1"
        assert set(facts["Uid"].split()) == {dockerfile().one("USER").rest.split(":")[0]}
        assert int(facts["CapEff"], 16) == 0
        command = read(f"/proc/{started.first}/cmdline").split("\0")
        assert "serve" in command
        assert not any(word.endswith(("sh", "setpriv")) for word in command)
        started.stop()
        await started.ended()


async def test_a_stop_during_a_stream_ends_it_with_an_error_within_ten_seconds(tmp_path: Path) -> None:
    async with (
        program("emulator", folder=tmp_path) as emulator,
        container(tmp_path, {**SERVING, **keys(emulator.url)}) as started,
        httpx2.AsyncClient(timeout=30, trust_env=False, headers=HEADERS) as client,
    ):
        url = await started.address()
        await client.post(f"{emulator.url}/_emulator/script", json=held_answer())
        async with client.stream("POST", f"{url}/v1/chat/completions", json=QUESTION) as reply:
            lines = reply.aiter_lines()
            assert reply.status_code == 200
            while "Half" not in await anext(lines):
                continue
            started.stop()
            ending = asyncio.create_task(started.ended(10))
            rest = [line async for line in lines if line.startswith("data")]
        assert rest[-1].startswith('data: {"error"')
        assert "[DONE]" not in "".join(rest)
        status, err = await ending
        assert status == 0
        assert "Traceback" not in err
        await emulator.stop()


async def test_a_stop_while_it_is_still_starting_ends_it(tmp_path: Path) -> None:
    """The kernel gives process 1 no signal that it does not handle: without a handler an engine waits and kills."""
    async with container(tmp_path, SERVING) as started:
        assert started.process.stderr is not None
        await asyncio.wait_for(started.process.stderr.readline(), 30)  # its first line, well before it listens
        started.stop()
        status, err = await started.ended()
    assert status == 0, err
    assert "Traceback" not in err


@pytest.mark.parametrize("stdin", ["<&-", "</dev/null"])
async def test_it_needs_no_standard_input(stdin: str, tmp_path: Path) -> None:
    async with container(tmp_path, SERVING, stdin=stdin) as started:
        url = await started.address()
        async with httpx2.AsyncClient(trust_env=False) as client:
            assert (await client.get(f"{url}/health")).status_code == 200
        started.stop()
        status, err = await started.ended()
    assert status == 0
    assert "Traceback" not in err


@pytest.mark.parametrize("key", ["", "  ", "your_api_key_here", "changeme"])
async def test_without_a_key_it_refuses_to_be_reached_by_others(key: str, tmp_path: Path) -> None:
    async with container(tmp_path, {"PPLX_PROXY_API_KEY": key}) as started:
        line = await refused(started)
    assert "PPLX_PROXY_HOST=0.0.0.0" in line
    assert "PPLX_PROXY_API_KEY" in line


async def test_blank_and_placeholder_values_count_as_unset_and_blanks_are_trimmed(tmp_path: Path) -> None:
    given = {**SERVING, "PERPLEXITY_API_KEY": "", "PPLX_COOKIE": "your_cookie_here", "PPLX_PROXY_API_KEY": f" {KEY} "}
    async with container(tmp_path, given) as started:
        url = await started.address()
        async with httpx2.AsyncClient(trust_env=False, headers=HEADERS) as client:
            assert (await client.get(f"{url}/v1/models")).json()["data"] == []
        started.stop()
        _, err = await started.ended()
    told = messages(err)
    assert sum("PPLX_COOKIE holds a placeholder" in line for line in told) == 1
    assert any("No upstream is set up" in line for line in told)


async def test_secrets_from_files_work_as_the_overlay_mounts_them(tmp_path: Path) -> None:
    """A cookie with `$`, which in a variable of Compose would mean something else."""
    cookie = "emulator-max-a$b$$c${d}"
    overlay = compose("compose.secrets.yaml")["services"]["gateway"]["environment"]
    where = place(tmp_path).secrets
    files = {name: str(where / Path(path).name) for name, path in overlay.items()}
    mounted = {"cookie": f"{cookie}\n", "key": f"{KEY}\n"}
    blank = {"PPLX_PROXY_API_KEY": "", "PPLX_COOKIE": ""}
    async with (
        program("emulator", folder=tmp_path) as emulator,
        container(tmp_path, {**SERVING, **files, **blank, "PPLX_SESSION_URL": emulator.url}, files=mounted) as started,
        httpx2.AsyncClient(timeout=30, trust_env=False, headers=HEADERS) as client,
    ):
        url = await started.address()
        reply = await client.post(f"{url}/v1/chat/completions", json={**QUESTION, "model": "auto", "stream": False})
        assert reply.status_code == 200, reply.text
        seen = await client.get(f"{emulator.url}/_emulator/requests", params={"path": "/rest/sse/perplexity_ask"})
        (asked,) = seen.json()["requests"]
        assert cookie in json.dumps(asked["headers"])
        started.stop()
        _, err = await started.ended()
        assert cookie not in err
        await emulator.stop()


async def test_a_secret_whose_file_is_missing_is_one_line(tmp_path: Path) -> None:
    async with container(tmp_path, {**SERVING, "PPLX_COOKIE_FILE": "/run/secrets/nothing"}) as started:
        assert "PPLX_COOKIE_FILE" in await refused(started)


@NEEDS_NAMESPACES
async def test_a_proxy_on_loopback_gets_a_hint_inside_a_container(tmp_path: Path) -> None:
    async with container(tmp_path, {**SERVING, "HTTPS_PROXY": "http://me:secret@127.0.0.1:7890"}) as started:
        await started.address()
        started.stop()
        _, err = await started.ended()
    (hint,) = [line for line in messages(err) if "HTTPS_PROXY" in line]
    assert "host.docker.internal" in hint
    assert "secret" not in err


async def test_two_workers_end_their_streams_with_an_error_too(tmp_path: Path) -> None:
    async with (
        program("emulator", folder=tmp_path) as emulator,
        container(tmp_path, {**SERVING, **keys(emulator.url)}, command=["serve", "--workers", "2"]) as started,
        httpx2.AsyncClient(timeout=30, trust_env=False, headers=HEADERS) as client,
    ):
        url = await started.address()
        await client.post(f"{emulator.url}/_emulator/script", json=held_answer())
        async with client.stream("POST", f"{url}/v1/chat/completions", json=QUESTION) as reply:
            lines = reply.aiter_lines()
            while "Half" not in await anext(lines):
                continue
            started.stop()
            ending = asyncio.create_task(started.ended(10))
            rest = [line async for line in lines if line.startswith("data")]
        assert rest[-1].startswith('data: {"error"')
        status, _ = await ending
        assert status == 0
        await emulator.stop()


async def test_an_interrupt_from_the_keyboard_ends_it_without_a_traceback(tmp_path: Path) -> None:
    async with container(tmp_path, SERVING) as started:
        await started.address()
        started.signal(signal.SIGINT)
        status, err = await started.ended()
    assert status == 0
    assert "Traceback" not in err
