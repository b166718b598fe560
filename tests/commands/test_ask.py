"""`ask` between pipes and on a terminal: what stands where, how it ends, and what an interruption leaves behind."""

import asyncio
import base64
import json
import signal
import sys
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.commands.drawing import split_blocks
from pplx_gateway.commands.screen import safe
from pplx_gateway.emulator.server import EmulatorServer
from tests.commands.shell import HELD, QUESTION, agent_frames, at, environ, interrupted, own, piped, started, terminal
from tests.rig import AGENT, ASK_PATH, running

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


async def test_in_a_pipe_the_answer_stands_alone_on_stdout(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        asked, bare, whole = await asyncio.gather(
            piped("ask", QUESTION, folder=tmp_path, **at(rig)),
            piped("ask", "--no-sources", "-m", "api/sonar", QUESTION, folder=tmp_path, **at(rig)),
            piped("ask", "--json", "-t", "-s", "academic,social", QUESTION, folder=tmp_path, **at(rig)),
        )
        sent = [r["json"]["params"] for r in await rig.requests(ASK_PATH)]
    assert asked.code == 0
    assert asked.out.startswith("Two rivers meet in Ghent: the **Leie**")
    assert "\x1b" not in asked.out + asked.err
    assert "https://" not in asked.out
    assert "[1] Rivers of Ghent" in asked.err
    assert "Leie" in bare.out
    assert "[1]" not in bare.out
    assert "Sources" not in bare.err
    response = json.loads(whole.out)
    assert response["status"] == "completed"
    assert response["search_results"][0]["url"].startswith("https://")
    assert any(item["type"] == "reasoning" for item in response["output"])
    assert ["scholar", "social"] in [sorted(params["sources"]) for params in sent]


async def test_what_is_piped_in_and_files_belong_to_the_question(tmp_path: Path) -> None:
    (tmp_path / "dot.png").write_bytes(PICTURE)
    (tmp_path / "notes.txt").write_text("tides are two")
    async with running(tmp_path) as rig:
        both, files = await asyncio.gather(
            piped("ask", "Shorten", "this:", folder=tmp_path, stdin=b"The Leie is a river.\n", **at(rig)),
            piped("ask", "-m", "api/sonar", "-f", "dot.png", "-f", "notes.txt", "What?", folder=tmp_path, **at(rig)),
        )
        (session,) = [r["json"]["query_str"] for r in await rig.requests(ASK_PATH)]
        (agent,) = [r["json"] for r in await rig.requests(AGENT)]
    assert (both.code, files.code) == (0, 0), files.err
    assert "Shorten this:\n\nThe Leie is a river." in session
    assert "data:image/png;base64," in json.dumps(agent)
    assert "notes.txt" in json.dumps(agent)


async def test_a_terminal_gets_markdown_links_and_colours(tmp_path: Path) -> None:
    async with running(tmp_path) as rig, terminal("ask", QUESTION, folder=tmp_path, **at(rig)) as screen:
        assert await screen.end() == 0
    assert "Two rivers meet in Ghent: the Leie" in screen.text
    assert "\x1b[1mLeie" in screen.raw
    assert "**" not in screen.text
    assert "\x1b]8;" in screen.raw
    assert "[1] Rivers of Ghent" in screen.text


async def test_no_color_and_narrow_windows_are_respected(tmp_path: Path) -> None:
    async with (
        running(tmp_path) as rig,
        terminal("ask", QUESTION, folder=tmp_path, columns=30, NO_COLOR="1", **at(rig)) as narrow,
        terminal("models", folder=tmp_path, columns=24, **at(rig)) as table,
    ):
        assert await narrow.end() == 0
        assert await table.end() == 0
    assert "\x1b[3" not in narrow.raw.replace("\x1b[3m", ""), "a colour"
    for line in (narrow.text + table.text).split("\n"):
        assert len(line.rpartition("\r")[2].rstrip()) <= 30, line


async def test_a_page_of_the_web_cannot_steer_the_terminal(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        evil = "fine \x1b]0;owned\x07\x1b[2J\u009b31m text\n\n"
        await rig.script(AGENT, [*agent_frames(evil), HELD])
        async with terminal("ask", "-m", "api/sonar", "x", folder=tmp_path, **at(rig)) as screen:
            await screen.see("fine ")
            screen.type("\x03")
            assert await screen.end() == 130
    assert "\x1b]0;" not in screen.raw
    assert "\x1b[2J" not in screen.raw
    assert safe("a\x1b\u009b\x00b\n\tc") == "ab\n\tc"


@pytest.mark.parametrize("model", ["gpt", "api/sonar"])
async def test_the_first_words_show_while_the_rest_is_still_to_come(model: str, tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        path = AGENT if model.startswith("api") else ASK_PATH
        question = ["ask", "-m", model, "x"]
        if path == AGENT:
            await rig.script(path, [*agent_frames("Half"), HELD], [*agent_frames("Half"), HELD])
        else:
            question[-1] = "slow: what are tides?"
        async with terminal(*question, folder=tmp_path, **at(rig)) as screen:
            process = await started(*question, folder=tmp_path, **at(rig))
            assert process.stdout is not None
            assert await asyncio.wait_for(process.stdout.read(4), 30)
            ended = await interrupted(process)
            await screen.see("Half" if path == AGENT else "tides")
            screen.type("\x03")
            assert await screen.end() == 130
        assert ended.code == 130
        await rig.wait(path, closed=True, count=2)


async def test_ctrl_c_before_the_first_byte_leaves_nothing_running(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.script(AGENT, [HELD], [HELD])
        await rig.script(ASK_PATH, [HELD])
        asked = [await started("ask", "-m", model, "x", folder=tmp_path, **at(rig)) for model in ("gpt", "api/sonar")]
        async with terminal("ask", "-m", "api/sonar", "x", folder=tmp_path, **at(rig)) as screen:
            await rig.wait(AGENT, count=2, seconds=30)
            await rig.wait(ASK_PATH, seconds=30)
            left = [await interrupted(process) for process in asked]
            screen.type("\x03")
            assert await screen.end() == 130
        assert [(done.code, done.out) for done in left] == [(130, "")] * 2
        await rig.wait(AGENT, closed=True, count=2)
        await rig.wait(ASK_PATH, closed=True)


FAILURES: list[tuple[list[str], int, str]] = [
    (["-m", "nope", "x"], 7, "pplx-gateway models"),
    (["fault:quota_gone"], 4, "quota"),
    (["fault:upstream_html"], 5, "pplx-gateway doctor"),
    (["-m", "api/sonar", "fault:midstream_drop"], 6, "in the middle of its answer"),
    (["-m", "api/sonar", "fault:upstream_402"], 4, "balance"),
    ([], 2, "There is no question"),
    (["--file", "none.pdf", "x"], 2, "none.pdf"),
    (["-s", "telepathy", "x"], 2, "telepathy"),
    (["--url", "ftp://x", "x"], 2, "PPLX_GATEWAY_URL"),
    (["--url", "http://127.0.0.1:9", "x"], 5, "pplx-gateway serve"),
]


async def test_each_failure_has_its_line_its_cure_and_its_code(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        runs = [piped("ask", *arguments, folder=tmp_path, **at(rig)) for arguments, _, _ in FAILURES]
        found = await asyncio.gather(*runs)
        logged_out = await piped("ask", "fault:logged_out", folder=tmp_path, **at(rig))
    for done, (arguments, code, said) in zip(found, FAILURES, strict=True):
        assert (done.code, said in done.err, "Sources" in done.err) == (code, True, False), (arguments, done)
    assert (logged_out.code, "pplx-gateway login" in logged_out.err) == (3, True)


async def test_a_wrong_key_is_told_with_the_variable_that_holds_it(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        done = await piped("ask", "x", folder=tmp_path, PPLX_GATEWAY_URL=rig.url, PPLX_GATEWAY_KEY="wrong-key-here")
    assert done.code == 3
    assert "PPLX_GATEWAY_KEY" in done.err
    assert "wrong-key-here" not in done.err


async def test_by_itself_it_asks_without_a_gateway_and_leaves_nothing_running(tmp_path: Path) -> None:
    async with EmulatorServer(Clock(), pace_seconds=0.0) as emulator:
        asked = await piped("ask", QUESTION, folder=tmp_path, **own(emulator.url))
        assert asked.code == 0, asked.err
        assert "Leie" in asked.out
        async with running(tmp_path / "rig") as rig:
            await rig.script(AGENT, [*agent_frames("Half"), HELD], [HELD])
            variables = own(rig.emulator_url)
            for wanted in ("Half", ""):
                process = await started("ask", "-m", "api/sonar", "x", folder=tmp_path, **variables)
                assert process.stdout is not None
                if wanted:
                    assert await asyncio.wait_for(process.stdout.readexactly(4), 30) == b"Half"
                else:
                    await rig.wait(AGENT, count=2, seconds=30)
                assert (await interrupted(process)).code == 130
            await rig.wait(AGENT, closed=True, count=2)
            cancelled = await rig.requests(f"{AGENT}/*")
            assert any(request["path"].endswith("/cancel") for request in cancelled)


async def test_a_signal_or_a_reader_that_leaves_stops_the_answer(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        await rig.script(AGENT, [*agent_frames("Half"), HELD], [*agent_frames("Half", *["word " * 4000] * 40), HELD])
        ended = await started("ask", "-m", "api/sonar", "x", folder=tmp_path, **at(rig))
        assert ended.stdout is not None
        await asyncio.wait_for(ended.stdout.readexactly(4), 30)
        assert (await interrupted(ended, signal.SIGTERM)).code == 143
        left = await started("ask", "-m", "api/sonar", "x", folder=tmp_path, **at(rig))
        left._transport.get_pipe_transport(1).close()  # type: ignore[attr-defined]
        assert await asyncio.wait_for(left.wait(), 30) == 141
        assert left.stderr is not None
        assert await left.stderr.read() == b""
        await rig.wait(AGENT, closed=True, count=2)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("one\n\ntwo", "one\n\n"),
        ("- a\n\n- b\n\nend", "- a\n\n- b\n\n"),
        ("- a\n\n  more", ""),
        ("```\na\n\nb\n```\n\nend", "```\na\n\nb\n```\n\n"),
        ("```\na\n\nb", ""),
        ("| a |\n| - |\n| b |", ""),
    ],
)
def test_blocks_are_cut_where_nothing_more_can_belong_to_them(text: str, whole: str) -> None:
    assert split_blocks(text) == (whole, text[len(whole) :])


_TELLS_OF_AN_IMPORT = """
import sys
from pplx_gateway.commands import main
class Teller:
    def find_spec(name, path, target=None):
        if name == "pplx_gateway.commands.ask":
            print(flush=True)
sys.meta_path.insert(0, Teller)
main(["ask", "x"])
"""


async def test_ctrl_c_while_a_command_is_still_imported_asks_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _TELLS_OF_AN_IMPORT, env=environ(tmp_path, **at(rig)), cwd=tmp_path,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        assert process.stdout is not None
        assert await asyncio.wait_for(process.stdout.readline(), 30) == b"\n"
        assert (await interrupted(process)).code == 130
        assert await rig.requests(ASK_PATH) == []
