"""scripts/inject-cookie, as a person and as a pipe run it."""

import asyncio
import contextlib
import json
import os
import pty
import termios
from collections.abc import AsyncGenerator, Mapping
from pathlib import Path

import pytest

from pplx_gateway.upstreams.session.cookies import NAME
from tests.life.programs import SCRIPT, inject
from tests.life.test_running import CHALLENGE, HTML, OUTAGE, SESSION, answer, cookies, session, state_of
from tests.rig import KEY, Rig

NEW = "emulator-max-new-SECRET"


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with session(tmp_path / "data") as opened:
        await state_of(opened, "valid")
        yield opened


def env_file(folder: Path, rig: Rig, **more: str) -> Path:
    """An `.env` that leads to the rig."""
    file = folder / ".env"
    lines = {"PPLX_PROXY_API_KEY": KEY, "PPLX_PROXY_PORT": rig.url.rpartition(":")[2], **more}
    file.write_text("# settings\n" + "".join(f"{name}={value}\n" for name, value in lines.items()))
    return file


async def newest(rig: Rig) -> str:
    """The cookie that was checked last."""
    return (await cookies(rig, SESSION))[-1]


async def test_a_pipe_is_read_and_the_settings_are_found(tmp_path: Path, rig: Rig) -> None:
    file = env_file(tmp_path, rig)
    for given in (NEW, f"Cookie: {NAME}={NEW}\n", json.dumps([{"name": NAME, "value": NEW}], indent=2)):
        status, out, err = await inject("--env-file", str(file), stdin=given.encode())
        assert (status, err) == (0, "")
        assert "in use" in out
        assert "valid" in out
        assert "max" in out
        assert "SECRET" not in out
    assert await newest(rig) == NEW


@pytest.mark.parametrize(
    "lines",
    [
        {"PPLX_PROXY_API_KEY": f"'{KEY}'", "PPLX_PROXY_HOST": "0.0.0.0"},
        {"PPLX_PROXY_API_KEY": f'"{KEY}"  # mine', "PPLX_PROXY_HOST": "::"},
        {"export PPLX_PROXY_API_KEY": f" {KEY} ", "PPLX_PROXY_HOST": "127.0.0.1"},
    ],
)
async def test_env_files_are_read_as_the_gateway_reads_them(tmp_path: Path, rig: Rig, lines: Mapping[str, str]) -> None:
    file = env_file(tmp_path, rig)
    port = f"PPLX_PROXY_PORT={rig.url.rpartition(':')[2]}\n"
    file.write_text(port + "".join(f"{name}={value}\n" for name, value in lines.items()))
    assert (await inject("--env-file", str(file), stdin=NEW.encode()))[0] == 0


async def test_the_environment_wins_and_a_key_may_come_from_a_file(tmp_path: Path, rig: Rig) -> None:
    file = env_file(tmp_path, rig, PPLX_PROXY_API_KEY="wrong")
    assert (await inject("--env-file", str(file), stdin=NEW.encode(), PPLX_PROXY_API_KEY=KEY))[0] == 0
    key = tmp_path / "key"
    key.write_text(KEY + "\n")
    file.write_text(f"PPLX_PROXY_PORT={rig.url.rpartition(':')[2]}\nPPLX_PROXY_API_KEY_FILE={key}\n")
    assert (await inject("--env-file", str(file), stdin=NEW.encode()))[0] == 0
    key.unlink()
    status, _, err = await inject("--env-file", str(file), stdin=NEW.encode())
    assert (status, "PPLX_PROXY_API_KEY_FILE" in err) == (1, True)


async def test_an_address_may_be_given(tmp_path: Path, rig: Rig) -> None:
    nothing = str(tmp_path / "none")
    for url in (rig.url, f"{rig.url}/", f"{rig.url}/v1"):
        status, _, _ = await inject("--url", url, "--env-file", nothing, stdin=NEW.encode(), PPLX_PROXY_API_KEY=KEY)
        assert status == 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (b"emulator-max-expired", "old one was kept"),
        (b"emulator-max-blocked", "old one was kept"),
        (b"two words SECRET", "characters"),
        (b"a=SECRET; b=2", "no cookie"),
        (b"", "no cookie"),
        (b" \n", "no cookie"),
        (b"\xff\xfe", "UTF-8"),
        (b"x" * 300_000, "too long"),
    ],
)
async def test_what_fails_is_one_clear_line_and_a_status(tmp_path: Path, rig: Rig, given: bytes, words: str) -> None:
    status, out, err = await inject("--env-file", str(env_file(tmp_path, rig)), stdin=given)
    assert (status, out) == (1, "")
    assert words in err
    assert err.startswith("inject-cookie: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    assert "SECRET" not in err


@pytest.mark.parametrize("site", [CHALLENGE, OUTAGE])
async def test_a_site_that_cannot_tell_is_told_apart(tmp_path: Path, rig: Rig, site: dict[str, object]) -> None:
    await rig.script(SESSION, site)
    status, _, err = await inject("--env-file", str(env_file(tmp_path, rig)), stdin=NEW.encode())
    assert status == 1
    assert ("session_blocked" in err) is (site is CHALLENGE)
    assert ("upstream_error" in err) is (site is OUTAGE)


async def test_a_wrong_key_and_a_gateway_that_is_not_there(tmp_path: Path, rig: Rig) -> None:
    file = env_file(tmp_path, rig, PPLX_PROXY_API_KEY="wrong-SECRET")
    status, _, err = await inject("--env-file", str(file), stdin=NEW.encode())
    assert (status, "invalid_api_key" in err, "SECRET" in err) == (1, True, False)
    status, _, err = await inject("--url", "http://127.0.0.1:9", stdin=NEW.encode())
    assert (status, "cannot be reached" in err, "SECRET" in err) == (1, True, False)
    await rig.script("/admin/refresh-cookie", answer("<html>another program", 200, HTML))
    status, _, err = await inject("--url", rig.emulator_url, "--env-file", str(tmp_path / "none"), stdin=NEW.encode())
    assert (status, "right address" in err) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [(NEW,), ("--token", NEW), ("--url", f"http://{NEW}@x"), ("--url", "http://gateway.example"), ("--url",)],
)
async def test_the_cookie_is_never_an_argument_and_never_travels_in_clear(arguments: tuple[str, ...]) -> None:
    status, out, err = await inject(*arguments, stdin=NEW.encode())
    assert status in (1, 2)
    assert out == ""
    assert "SECRET" not in err
    assert "Traceback" not in err


class Terminal:
    """A terminal with the script in it."""

    def __init__(self, process: asyncio.subprocess.Process, master: int) -> None:
        self.process = process
        self._master = master

    async def read(self) -> bytes:
        """What the script's terminal shows by now."""
        return await asyncio.to_thread(os.read, self._master, 65536)

    def type(self, data: bytes) -> None:
        os.write(self._master, data)

    def echoes(self) -> bool:
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)


async def in_terminal(file: Path) -> tuple[Terminal, int]:
    master, slave = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        str(SCRIPT),
        "--env-file",
        str(file),
        env={"PATH": os.environ["PATH"]},
        stdin=slave,
        stdout=asyncio.subprocess.PIPE,
        stderr=slave,
    )
    os.close(slave)
    return Terminal(process, master), master


async def typed(file: Path, *lines: bytes) -> tuple[int, bytes, bytes, bool]:
    """The status, what stdout said, what the terminal showed, and whether it echoes again afterwards."""
    terminal, master = await in_terminal(file)
    shown = b""
    while b"Enter:" not in shown:
        shown += await terminal.read()
    assert not terminal.echoes()
    for line in lines:
        terminal.type(line)
    assert terminal.process.stdout is not None
    out = await asyncio.wait_for(terminal.process.stdout.read(), 60)
    status = await terminal.process.wait()
    echoes = terminal.echoes()
    with contextlib.suppress(OSError):  # nobody holds the other side any more
        shown += await terminal.read()
    os.close(master)
    return status, out, shown, echoes


async def test_a_prompt_shows_nothing_of_what_is_typed(tmp_path: Path, rig: Rig) -> None:
    status, out, shown, echoes = await typed(env_file(tmp_path, rig), b"x\x7f" + NEW.encode() + b"\n")
    assert status == 0
    assert b"in use" in out
    assert echoes
    assert b"SECRET" not in shown
    assert await newest(rig) == NEW


async def test_a_prompt_takes_a_cookie_longer_than_a_terminals_line(tmp_path: Path, rig: Rig) -> None:
    pasted = f"a={'y' * 3000}; {NAME}={NEW}~1~{'x' * 3000}; b=1".encode()
    halves = (pasted[:3500], pasted[3500:], b"\n")
    status, _, shown, _ = await typed(env_file(tmp_path, rig), *halves)
    assert status == 0
    assert b"SECRET" not in shown
    assert await newest(rig) == f"{NEW}~1~{'x' * 3000}"


async def test_a_prompt_takes_json_over_several_lines(tmp_path: Path, rig: Rig) -> None:
    pasted = json.dumps([{"name": NAME, "value": NEW}], indent=2).encode()
    status, _, shown, _ = await typed(env_file(tmp_path, rig), pasted + b"\n")
    assert status == 0
    assert b"SECRET" not in shown
    assert await newest(rig) == NEW


async def test_nothing_typed_or_an_interruption_changes_nothing(tmp_path: Path, rig: Rig) -> None:
    for keys in (b"\n", b"\x04"):
        status, out, shown, echoes = await typed(env_file(tmp_path, rig), keys)
        assert (status, out, echoes) == (1, b"", True)
        assert b"no cookie" in shown
    assert await newest(rig) != NEW
