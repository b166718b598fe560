"""`research`, `jobs` and `chat`: what goes on when its owner leaves, and what does not."""

import asyncio
import json
import re
import signal
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send

from tests.commands.shell import HELD, QUESTION, agent_frames, at, interrupted, own, piped, started, terminal
from tests.rig import AGENT, ASK_PATH, KEY, Rig, running

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


class Held:
    """Stands before a gateway, and keeps what begins a response until it may go on."""

    def __init__(self, app: ASGIApp) -> None:
        self.came, self.goes = asyncio.Event(), asyncio.Event()
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (scope.get("method"), scope.get("path")) == ("POST", "/v1/responses"):
            self.came.set()
            await self.goes.wait()
        await self._app(scope, receive, send)


async def test_research_that_is_left_while_it_begins_still_tells_its_id(tmp_path: Path) -> None:
    held: list[Held] = []

    def around(app: ASGIApp) -> ASGIApp:
        held.append(Held(app))
        return held[0]

    async with running(tmp_path / "gateway", around=around) as rig:
        process = await started("research", "-m", "gpt", QUESTION, folder=tmp_path, **at(rig))
        await asyncio.wait_for(held[0].came.wait(), 30)
        process.send_signal(signal.SIGINT)
        held[0].goes.set()
        _, told = await asyncio.wait_for(process.communicate(), 30)
        (found, *_) = _ID.findall(told.decode())
        assert process.returncode == 130
        assert f"research --resume {found}" in told.decode()
        collected = await piped("research", "--resume", found, folder=tmp_path, **at(rig))
        assert (collected.code, "Leie" in collected.out) == (0, True), collected
        assert len(await rig.requests(ASK_PATH)) == 1


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


async def test_runs_are_listed_wherever_they_were_begun_and_others_runs_never(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        ada = (await rig.post({"name": "ada"}, path="/admin/caller-keys")).json["secret"]
        body = {"model": "api/sonar", "input": QUESTION, "background": True}
        mine, hers = [(await rig.post(body, path="/v1/responses", key=key)).json["id"] for key in (KEY, ada)]
        await rig.post({**body, "background": False}, path="/v1/responses")
        for found, key in ((mine, KEY), (hers, ada)):
            there = {**at(rig), "PPLX_GATEWAY_KEY": key}
            assert (await piped("research", "--resume", found, folder=tmp_path, **there)).code == 0
        listed, of_ada, shown, pages = await asyncio.gather(
            piped("jobs", "--json", folder=tmp_path, **at(rig)),
            piped("jobs", folder=tmp_path, **{**at(rig), "PPLX_GATEWAY_KEY": ada}),
            piped("jobs", "show", mine, folder=tmp_path, **at(rig)),
            _pages(rig),
        )
    (row,) = json.loads(listed.out)
    assert (row["id"], row["status"], row["model"], row["question"]) == (mine, "completed", "sonar", QUESTION)
    assert [line.split("\t")[0] for line in of_ada.out.splitlines()] == ["id", hers]
    assert (shown.code, "Leie" in shown.out) == (0, True)
    assert pages == [[mine], []]


async def _pages(rig: Rig) -> list[list[str]]:
    """Of the owner's list, one a page, and what an id of nobody's and a limit of nothing are told."""
    first = (await rig.get("/v1/responses?limit=1")).json
    second = (await rig.get(f"/v1/responses?after={first['last_id']}")).json
    wrong = [await rig.get(f"/v1/responses?{query}") for query in ("after=resp_none", "limit=0")]
    assert [(reply.status, reply.error["param"]) for reply in wrong] == [(400, "after"), (400, "limit")]
    return [[each["id"] for each in page["data"]] for page in (first, second)]


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


async def test_ctrl_c_in_a_conversation_before_the_first_byte_and_at_the_prompt(tmp_path: Path) -> None:
    async with (
        running(tmp_path / "gateway") as rig,
        terminal("chat", "-m", "api/sonar", folder=tmp_path, **at(rig)) as screen,
    ):
        await rig.script(AGENT, [HELD])
        place = await screen.see("> ")
        place = await screen.interrupted("> ", after=place)
        screen.type("x\r")
        await rig.wait(AGENT)
        screen.type("\x03")
        place = await screen.see("> ", after=await screen.see("Stopped.", after=place))
        await rig.wait(AGENT, closed=True)
        screen.type(f"{QUESTION}\r")
        await screen.see("> ", after=await screen.see("Sources", after=place))
        screen.process.send_signal(signal.SIGTERM)
        assert await screen.end() == -signal.SIGTERM, "nothing runs at the prompt that wants ending"


async def test_a_signal_ends_a_conversations_answer_upstream_too(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        await rig.script(AGENT, [*agent_frames("Half"), HELD])
        variables = own(rig.emulator_url)
        async with terminal("chat", "-m", "api/sonar", folder=tmp_path, **variables) as screen:
            await screen.see("> ")
            screen.type("x\r")
            await screen.see("Half")
            screen.process.send_signal(signal.SIGTERM)
            assert await screen.end() == 143
        await rig.wait(AGENT, closed=True)
        assert any(request["path"].endswith("/cancel") for request in await rig.requests(f"{AGENT}/*"))


async def test_each_line_of_a_pipe_is_a_turn(tmp_path: Path) -> None:
    async with running(tmp_path / "gateway") as rig:
        done = await piped("chat", "-m", "api/sonar", folder=tmp_path, stdin=b"One?\n\nTwo?\n", **at(rig))
        asked = [len(request["json"]["input"]) for request in await rig.requests(AGENT)]
        broken = await piped("chat", "-m", "nope", folder=tmp_path, stdin=b"One?\n", **at(rig))
    assert (done.code, broken.code) == (0, 7)
    assert asked[1] > asked[0]
