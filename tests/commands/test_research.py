"""`research`, `jobs` and `chat`: what goes on when its owner leaves, and what does not."""

import asyncio
import json
import re
from pathlib import Path

from tests.commands.shell import HELD, QUESTION, agent_frames, at, interrupted, own, piped, started, terminal
from tests.rig import AGENT, ASK_PATH, running

_ID = re.compile(r"resp_[0-9a-f]+")


async def test_research_survives_ctrl_c_and_is_collected_by_its_id(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        process = await started("research", "-m", "gpt", "slow: tides", folder=tmp_path, **at(rig))
        assert process.stderr is not None
        begun = (await asyncio.wait_for(process.stderr.readline(), 30)).decode()
        (found,) = _ID.findall(begun)
        await rig.wait(ASK_PATH)
        left = await interrupted(process)
        assert left.code == 130
        assert f"research --resume {found}" in left.err
        assert await rig.requests(f"{ASK_PATH}") != []
        collected, whole = await asyncio.gather(
            piped("research", "--resume", found, folder=tmp_path, **at(rig)),
            piped("research", "--resume", found, "--json", folder=tmp_path, **at(rig)),
        )
        assert len(await rig.requests(ASK_PATH)) == 1
        shown, listed = await asyncio.gather(
            piped("jobs", "show", found, folder=tmp_path, **at(rig)), piped("jobs", folder=tmp_path, **at(rig))
        )
        forgotten = await piped("jobs", "forget", found, folder=tmp_path, **at(rig))
        gone = await piped("research", "--resume", found, folder=tmp_path, **at(rig))
    assert (collected.code, whole.code) == (0, 0)
    assert "tides" in collected.out
    assert "Searching" in collected.err
    assert json.loads(whole.out)["id"] == found
    assert collected.out.strip() == shown.out.strip()
    row = listed.out.splitlines()[1].split("\t")
    assert (row[0], row[1], row[4]) == (found, "completed", "slow: tides")
    assert (forgotten.code, gone.code) == (0, 7)


async def test_by_itself_the_apis_research_goes_on_upstream_and_is_found_again(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        variables = own(rig.emulator_url, PPLX_CLOCK_FACTOR="100")
        process = await started("research", "-m", "high", "slow: tides", folder=tmp_path, **variables)
        assert process.stderr is not None
        (found,) = _ID.findall((await asyncio.wait_for(process.stderr.readline(), 30)).decode())
        await asyncio.wait_for(process.stderr.readline(), 30)
        await rig.wait(AGENT)
        left = await interrupted(process)
        assert left.code == 130
        assert found in left.err
        collected = await piped("research", "--resume", found, folder=tmp_path, **variables)
        assert collected.code == 0, collected
        assert "tides" in collected.out
        assert len(await rig.requests(AGENT)) == 1


async def test_by_itself_the_sessions_research_ends_with_the_command_and_says_so(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        variables = own(rig.emulator_url)
        process = await started("research", "slow: tides", folder=tmp_path, **variables)
        await rig.wait(ASK_PATH, seconds=30)
        left = await interrupted(process)
        assert left.code == 130
        assert "is stopped" in left.err
        await rig.wait(ASK_PATH, closed=True)
        refused = await piped("research", "--detach", "slow: tides", folder=tmp_path, **variables)
    assert refused.code == 2
    assert "PPLX_GATEWAY_URL" in refused.err


async def test_research_left_running_can_be_cancelled(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        await rig.script(AGENT, [*agent_frames("Half"), HELD])
        begun = await piped("research", "--detach", "-m", "high", "tides", folder=tmp_path, **at(rig))
        assert _ID.fullmatch(begun.out.strip())
        ended = await piped("jobs", "cancel", begun.out.strip(), folder=tmp_path, **at(rig))
        again = await piped("research", "--resume", begun.out.strip(), folder=tmp_path, **at(rig))
    assert "cancelled" in ended.out
    assert (again.code, "cancelled" in again.err) == (1, True)


async def test_what_others_began_is_not_listed_and_can_be_shown_by_its_id(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        body = {"model": "api/sonar", "input": QUESTION, "background": True}
        begun = (await rig.post(body, path="/v1/responses")).json["id"]
        assert (await piped("research", "--resume", begun, folder=tmp_path, **at(rig))).code == 0
        listed, helped, shown = await asyncio.gather(
            piped("jobs", folder=tmp_path, **at(rig)),
            piped("jobs", "--help", folder=tmp_path),
            piped("jobs", "show", begun, folder=tmp_path, **at(rig)),
        )
    assert (listed.code, listed.out) == (0, "")
    assert "on this machine" in " ".join(helped.out.split())
    assert (shown.code, "Leie" in shown.out) == (0, True)


async def test_a_conversation_brings_what_was_said_and_outlives_ctrl_c(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "gateway") as rig,
        terminal("chat", "-m", "api/sonar", folder=tmp_path, **at(rig)) as screen,
    ):
        place = await screen.see("> ")
        screen.type(f"{QUESTION}\r")
        place = await screen.see("> ", after=await screen.see("Sources", after=place))
        await rig.script(AGENT, [*agent_frames("Half"), HELD])
        screen.type("And then?\r")
        place = await screen.see("Half", after=place)
        screen.type("\x03")
        place = await screen.see("> ", after=await screen.see("Stopped.", after=place))
        await rig.wait(AGENT, closed=True)
        screen.type("/save said.md\r")
        place = await screen.see("> ", after=await screen.see("Written", after=place))
        screen.type("/model nope\r")
        place = await screen.see("> ", after=await screen.see("nope.", after=place))
        screen.type("x\r")
        place = await screen.see("> ", after=await screen.see("does not exist", after=place))
        screen.type("/what\r")
        place = await screen.see("> ", after=await screen.see("/undo", after=place))
        screen.type("\x04")
        assert await screen.end() == 0
        second = (await rig.requests(AGENT))[1]["json"]
    assert "Leie" in json.dumps(second["input"])
    assert (tmp_path / "said.md").read_text().count("## ") == 2


async def test_each_line_of_a_pipe_is_a_turn(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        done = await piped("chat", "-m", "api/sonar", folder=tmp_path, stdin=b"One?\n\nTwo?\n", **at(rig))
        asked = [len(request["json"]["input"]) for request in await rig.requests(AGENT)]
        broken = await piped("chat", "-m", "nope", folder=tmp_path, stdin=b"One?\n", **at(rig))
    assert (done.code, broken.code) == (0, 7)
    assert asked[1] > asked[0]
