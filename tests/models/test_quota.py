import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.environment import check
from pplx_gateway.settings import Settings, SettingsError
from tests.models.helping import (
    QUOTA,
    STATUS,
    account,
    asked,
    asking,
    beside,
    control,
    eventually,
    health_shows,
    page,
    session,
)
from tests.rig import ASK_PATH, Rig

SOLVER = "/v1"


async def refused(rig: Rig, model: str = "gpt") -> bool:
    reply = await rig.chat(asking("How high is the Zugspitze?", model))
    if reply.status == 429:
        assert reply.error["code"] == "quota_exhausted"
        assert reply.error["type"] == "insufficient_quota"
        assert reply.headers["x-should-retry"] == "false"
    return reply.status == 429


async def test_the_last_search_is_counted_and_the_next_question_is_not_asked(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left2-q") as rig:
        await health_shows(rig, remaining_pro=2, remaining_research=20)
        assert not await refused(rig)
        assert not await refused(rig, "grok")
        assert await refused(rig)
        stream = await rig.stream(asking("How high is the Zugspitze?", "sonnet"))
        assert stream.status == 429
        assert await asked(rig) == ["gpt56_terra", "grok46low"]
        await health_shows(rig, remaining_pro=0)
        assert not await refused(rig, "auto")
        reply = await rig.chat(asking("Hello there, my friend", "auto"))
        assert reply.json["pplx"]["remaining_pro"] == 0
        assert "[Remaining" not in reply.content


async def test_research_has_a_count_of_its_own(tmp_path: Path) -> None:
    async with session(tmp_path, cookie=None) as rig:
        token = account("pro-left50-q").reveal()
        await control(rig, research_seconds=0.0, left={token: {"research": 1}})
        await rig.post({"session_token": token}, path="/admin/refresh-cookie")
        await health_shows(rig, remaining_pro=50, remaining_research=1)
        reply = await rig.chat(asking("How high is the Zugspitze?", "deep-research"))
        assert reply.status == 200
        assert "[Remaining" not in reply.content
        await health_shows(rig, remaining_pro=50, remaining_research=0)
        assert await refused(rig, "deep-research")
        assert not await refused(rig)


async def test_zeros_that_were_never_positive_refuse_nobody(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-unknown-q") as rig:
        await rig.wait(STATUS, ended=True)
        assert not await refused(rig)
        health = (await rig.get("/health")).json
        assert health["remaining_pro"] is None
        assert health["remaining_research"] is None


async def test_a_plan_that_is_spent_is_known_by_the_sites_own_word(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-spent-q") as rig:
        await health_shows(rig, remaining_pro=0, remaining_research=0)
        assert await refused(rig)
        assert await refused(rig, "deep-research")
        assert not await refused(rig, "auto")
        assert await asked(rig) == ["pplx_pro"]


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 500, "steps": [{"bytes": "oops"}]},
        {"status": 403, "headers": {"content-type": "text/html", "cf-mitigated": "challenge"}, "steps": []},
        {"headers": {"content-type": "application/json"}, "steps": [{"bytes": '{"remaining_pro": null}'}]},
        {"headers": {"content-type": "application/json"}, "steps": [{"bytes": '{"remaining_pro": "many"}'}]},
        {"headers": {"content-type": "application/json"}, "steps": [{"bytes": '{"remaining_pro": -1}'}]},
        {"headers": {"content-type": "application/json"}, "steps": [{"bytes": "[]"}]},
    ],
)
async def test_a_reading_that_tells_nothing_refuses_nobody(tmp_path: Path, answer: dict[str, Any]) -> None:
    async with session(tmp_path, "pro-left0-q", cookie=None) as rig:
        await rig.script(QUOTA, {**answer, "repeat": "forever"})
        await rig.post({"session_token": "emulator-pro-left0-q"}, path="/admin/refresh-cookie")
        await rig.get("/health")
        await rig.wait(QUOTA, ended=True)
        assert (await rig.get("/health")).json["remaining_pro"] is None
        reply = await rig.chat(asking("How high is the Zugspitze?"))
        assert len(await asked(rig)) == 1  # the site itself is asked, and says what it says
        assert reply.status == 429


async def test_the_sites_refusal_holds_for_the_next_question(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left9-q") as rig:
        await health_shows(rig, remaining_pro=9)
        spent = {"left": {"emulator-pro-left9-q": {"pro": 0}}}
        await rig.client.post(rig.emulator_url + "/_emulator/session", json=spent)
        reply = await rig.chat(asking("How high is the Zugspitze?"))
        assert reply.status == 429
        assert await refused(rig)
        assert len(await asked(rig)) == 1
        assert not await refused(rig, "auto")


async def test_a_refusal_that_the_next_reading_takes_back_is_over(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left9-q") as rig:
        await health_shows(rig, remaining_pro=9)
        assert (await rig.chat(asking("fault:quota_gone How high is the Zugspitze?"))).status == 429
        await health_shows(rig, remaining_pro=9)
        assert not await refused(rig)


async def test_what_is_not_an_answer_is_not_counted(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left9-q") as rig:
        await health_shows(rig, remaining_pro=9)
        assert (await rig.chat(asking("fault:upstream_500 How high is it?"))).status == 502
        assert (await rig.chat(asking("fault:empty How high is it?"))).status == 502
        reply = await rig.chat(asking("How high is the Zugspitze?"))
        assert reply.json["pplx"]["remaining_pro"] in (7, 8)  # the empty answer was one for the site


async def test_two_workers_count_together(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left90-q") as rig, beside(rig, tmp_path, "pro-left90-q") as other:
        await health_shows(rig, remaining_pro=90)
        await health_shows(other, remaining_pro=90)
        counts = []
        for number in range(6):
            reply = await (rig, other)[number % 2].chat(asking(f"How high is mountain {number}?"))
            counts.append(reply.json["pplx"]["remaining_pro"])
        assert counts == [89, 88, 87, 86, 85, 84]
        await health_shows(rig, remaining_pro=84)
        await health_shows(other, remaining_pro=84)
        assert len(await rig.requests(QUOTA)) == 1


async def test_a_restart_knows_the_counts(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left8-q") as rig:
        await health_shows(rig, remaining_pro=8)
        async with beside(rig, tmp_path, "pro-left8-q") as other:
            await health_shows(other, remaining_pro=8)
            assert len(await rig.requests(QUOTA)) == 1


async def test_another_cookie_brings_another_quota(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left1-q") as rig:
        await health_shows(rig, remaining_pro=1)
        assert not await refused(rig)
        assert await refused(rig)
        renewed = await rig.post({"session_token": "emulator-pro-left33-q"}, path="/admin/refresh-cookie")
        assert renewed.status == 200
        assert not await refused(rig)
        await health_shows(rig, remaining_pro=33 - 1)


async def test_it_is_read_every_hour_and_behind_old_answers(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left80-q", factor=3600.0, keepalive_hours=1000.0) as rig:
        await rig.wait(QUOTA, count=3)  # an hour passes in a second
        assert await asked(rig) == []


# through FlareSolverr


def solved(response: str, cookies: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    solution = {"url": "https://x.example", "status": 200, "headers": {}, "response": response}
    document = {"status": "ok", "message": "Challenge solved!", "solution": {**solution, "cookies": cookies or []}}
    return {"headers": {"content-type": "application/json"}, "steps": [{"bytes": json.dumps(document)}]}


@contextlib.asynccontextmanager
async def solver(folder: Path, *answers: dict[str, Any]) -> AsyncGenerator[tuple[Rig, Rig], None]:
    """The site and the solver in one (`rig`), and a gateway that reads its quota through the solver."""
    async with session(folder / "site", cookie=None) as rig:
        await rig.script(SOLVER, *answers)
        async with beside(rig, folder / "own", "pro-solver", flaresolverr_url=rig.emulator_url) as other:
            await rig.wait(SOLVER, ended=True)
            yield rig, other


DOCUMENT = {"remaining_pro": 41, "remaining_research": 3, "note": '<&"'}


@pytest.mark.parametrize("response", [page(DOCUMENT), json.dumps(DOCUMENT)])
async def test_the_quota_comes_through_the_owners_solver(tmp_path: Path, response: str) -> None:
    async with solver(tmp_path, solved(response)) as (rig, other):
        await health_shows(other, remaining_pro=41, remaining_research=3)
        (request,) = await rig.requests(SOLVER)
        sent = request["json"]
        assert sent["cmd"] == "request.get"
        assert sent["url"] == rig.emulator_url + QUOTA
        assert sent["maxTimeout"] == 20000
        assert [cookie["name"] for cookie in sent["cookies"]] == ["__Secure-next-auth.session-token"]
        assert sent["cookies"][0]["value"] == "emulator-pro-solver"
        assert await rig.requests(QUOTA) == []
        assert (await other.chat(asking("How high is the Zugspitze?"))).json["pplx"]["remaining_pro"] == 40
        assert len(await rig.requests(SOLVER)) == 1  # no question goes that way


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 500, "steps": [{"bytes": '{"status":"error","message":"Error: emulator-pro-solver timed out"}'}]},
        {"status": 200, "steps": [{"bytes": "<html>no json</html>"}]},
        solved("<html><body>Just a moment...</body></html>"),
        solved("<html><body><pre>not json</pre></body></html>"),
        solved("[1, 2]"),
        {"steps": [{"bytes": '{"status":"ok"}'}]},
        {"steps": [{"abort": True}]},
    ],
)
async def test_a_solver_that_fails_leaves_the_count_unknown(tmp_path: Path, answer: dict[str, Any]) -> None:
    async with solver(tmp_path, answer) as (rig, other):
        await eventually(lambda: _logged(rig, "the quota cannot be read"))
        assert "emulator-pro-solver" not in rig.log.getvalue()
        assert (await other.get("/health")).json["remaining_pro"] is None
        assert not await refused(other)


async def test_only_the_sessions_renewed_cookie_is_taken_from_the_solver(tmp_path: Path) -> None:
    name = "__Secure-next-auth.session-token"
    cookies = [
        {"name": "cf_clearance", "value": "c", "domain": ".perplexity.ai"},
        {"name": name, "value": "", "domain": ".perplexity.ai"},
        {"name": name, "value": "emulator-pro-stranger", "domain": ".evil.example"},
        {"name": name, "value": "emulator-pro-solver~7", "domain": ".perplexity.ai"},
    ]
    async with solver(tmp_path, solved(page(DOCUMENT), cookies)) as (rig, other):
        await health_shows(other, remaining_pro=41)
        await other.chat(asking("How high is the Zugspitze?"))
        (request,) = await rig.requests(ASK_PATH)
        assert request["headers"]["cookie"] == f"{name}=emulator-pro-solver~7"


async def _logged(rig: Rig, words: str) -> bool:
    return words in rig.log.getvalue()


@pytest.mark.parametrize(
    "url", ["http://flaresolverr:8191", "http://127.0.0.1:8191/", "http://10.0.0.9:8191", "https://solver.example/v1"]
)
def test_a_private_solver_is_taken(url: str) -> None:
    check(Settings(flaresolverr_url=url))


@pytest.mark.parametrize("url", ["http://solver.example:8191", "http://8.8.8.8", "ftp://localhost", "localhost:8191"])
def test_a_solver_out_in_the_open_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match="FLARESOLVERR_URL"):
        check(Settings(flaresolverr_url=url))
