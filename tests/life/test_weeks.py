"""Three weeks of a session in a few seconds: the clock runs so fast that a day takes less than half a second.

What is waited for is always a number of checks, never a time: a day is four of them, an hour is part of one.
"""

import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.server import EmulatorServer
from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME
from tests.life.programs import inject
from tests.life.test_running import ASK, CHALLENGE, OUTAGE, REFRESH, SESSION, SIGNED_OUT, answer, cookies
from tests.life.waiting import until
from tests.rig import ASK_PATH, KEY, Rig, running

FACTOR = 200_000.0
CHECKS_A_DAY = 4
TOPIC = "a-topic-of-SECRETS"
NTFY = "/"
FOR_EVER = 1e9  # patience with the wire, which does not run faster than it does


@contextlib.asynccontextmanager
async def weeks(folder: Path, token: str, **more: Any) -> AsyncGenerator["Weeks", None]:
    patience = dict.fromkeys(
        (
            "connect_timeout_seconds",
            "first_byte_timeout_seconds",
            "idle_timeout_seconds",
            "research_timeout_seconds",
            "body_timeout_seconds",
            "keep_alive_seconds",
        ),
        FOR_EVER,
    )
    async with EmulatorServer(Clock()) as ntfy:
        chosen: dict[str, Any] = {
            "cookie": Secret(token),
            "total_timeout_seconds": 0.0,
            "cookie_max_age_hours": FOR_EVER,
            "probe_interval_hours": FOR_EVER,
            "ntfy_url": ntfy.url,
            "ntfy_topic": Secret(TOPIC),
            "ntfy_cooldown_secs": FOR_EVER,  # longer than any of these stories
            **patience,
            **more,
        }
        async with running(folder, order=("session",), factor=FACTOR, **chosen) as rig:
            life = Weeks(rig, ntfy.url)
            await life.listen()
            yield life


class Weeks:
    """`ntfy` is an emulator that plays the ntfy server."""

    def __init__(self, rig: Rig, ntfy: str) -> None:
        self.rig = rig
        self._ntfy = ntfy

    async def listen(self) -> None:
        script = {"path": NTFY, "answers": [answer("{}", repeat="forever")]}
        assert (await self.rig.client.post(f"{self._ntfy}/_emulator/script", json=script)).status_code == 200

    async def site(self, *answers: dict[str, Any]) -> None:
        """The next checks are answered like this; none = as the account deserves."""
        await self.rig.client.request("DELETE", f"{self.rig.emulator_url}/_emulator/script")
        if answers:
            await self.rig.script(SESSION, *answers)

    async def pass_by(self, checks: int) -> None:
        """Waits until the session was checked so many times more, and answered."""
        seen = len(await self.rig.requests(SESSION))
        await self.rig.wait(SESSION, ended=True, count=seen + checks, seconds=40)

    async def alarms(self, at_least: int = 0) -> list[dict[str, Any]]:
        """What the owner's phone got, once there are so many."""
        params = {"path": NTFY, "count": str(at_least), "timeout": "40"}
        reply = await self.rig.client.get(f"{self._ntfy}/_emulator/wait", params=params)
        assert reply.status_code == 200
        return [request["json"] for request in reply.json()["requests"]]

    async def state(self) -> str:
        found: str = (await self.rig.get("/health")).json["session"]["state"]
        return found

    async def becomes(self, wanted: str) -> None:
        async def look() -> bool:
            return await self.state() == wanted

        await until(look)


async def test_three_weeks_of_rotation_and_the_newest_cookie_is_used(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max-rotate-toggle") as life:
        await life.site()
        await life.pass_by(21 * CHECKS_A_DAY)
        assert (await life.rig.chat(ASK)).status == 200
        checked = await _numbers(life.rig, SESSION)
        assert checked == list(range(len(checked))), (
            "every check went out with the cookie that the one before it brought"
        )
        assert (await _numbers(life.rig, ASK_PATH))[0] >= 21 * CHECKS_A_DAY
        assert await life.alarms() == []
    async with weeks(tmp_path, "emulator-max-rotate-toggle") as life:
        await life.pass_by(1)
        assert (await _numbers(life.rig, SESSION))[0] >= len(checked)


async def test_a_challenge_of_a_day_and_an_outage_of_an_hour_alarm_nobody_and_stop_nothing(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max-rotate") as life:
        await life.site()
        await life.pass_by(2)
        for trouble, checks, state in ((CHALLENGE, CHECKS_A_DAY, "blocked"), (OUTAGE, 1, "unknown")):
            await life.site({**trouble, "repeat": "forever"})
            await life.becomes(state)
            await life.pass_by(checks)
            assert (await life.rig.chat(ASK)).status == 200, "what the site answers is not refused"
            await life.site()
            await life.becomes("valid")
        await life.pass_by(1)
        assert await life.alarms() == []


async def test_an_expiry_alarms_once_and_a_new_cookie_heals_both_ways(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max-first-SECRET") as life:
        await life.site()
        await life.pass_by(2)
        for number, heal in enumerate((_by_admin, _by_script), 1):
            await life.site({**SIGNED_OUT, "repeat": "forever"})
            await life.becomes("expired")
            await life.pass_by(CHECKS_A_DAY)
            asked = len(await life.rig.requests(ASK_PATH))
            reply = await life.rig.chat(ASK)
            assert (reply.status, reply.error["code"]) == (503, "session_expired")
            assert len(await life.rig.requests(ASK_PATH)) == asked, (
                "it was refused here, not answered anonymously there"
            )
            assert len(await life.alarms(1)) == 1
            await life.site()
            await heal(life, f"emulator-max-new{number}-SECRET")
            assert await life.state() == "valid"
            assert (await life.rig.chat(ASK)).status == 200
            assert (await cookies(life.rig, ASK_PATH))[-1] == f"emulator-max-new{number}-SECRET"
        (alarm,) = await life.alarms()
        assert alarm["topic"] == TOPIC
        assert "expired" in alarm["title"]
        told = {name: value for name, value in alarm.items() if name != "topic"}
        assert "SECRET" not in json.dumps(told)
        assert "SECRET" not in life.rig.log.getvalue()


async def test_alarms_come_again_after_the_cooldown(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max", ntfy_cooldown_secs=24 * 3600.0) as life:
        await life.site({**SIGNED_OUT, "repeat": "forever"})
        assert len(await life.alarms(3)) >= 3


async def test_a_cookie_that_is_never_renewed_is_told_of_once(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max", cookie_max_age_hours=168.0, ntfy_cooldown_secs=0.0) as life:
        (alarm,) = await life.alarms(1)
        assert "old" in alarm["title"]
        health = (await life.rig.get("/health")).json
        assert health["session"]["cookie_old"]
        assert health["cookie_age_hours"] > 168
        await life.pass_by(3 * CHECKS_A_DAY)
        assert len(await life.alarms()) == 1


async def test_an_ntfy_that_is_down_hurts_nothing(tmp_path: Path) -> None:
    async with weeks(tmp_path, "emulator-max", ntfy_url="http://127.0.0.1:9") as life:
        await life.site({**SIGNED_OUT, "repeat": "forever"})
        await life.becomes("expired")
        await life.pass_by(CHECKS_A_DAY)
        await life.site()
        await _by_admin(life, "emulator-max-new")
        assert (await life.rig.chat(ASK)).status == 200
        assert "SECRETS" not in life.rig.log.getvalue()


async def _by_admin(life: Weeks, token: str) -> None:
    assert (await life.rig.post({"session_token": token}, path=REFRESH)).status == 200


async def _by_script(life: Weeks, token: str) -> None:
    host, _, port = life.rig.url.removeprefix("http://").partition(":")
    environ = {"PPLX_PROXY_API_KEY": KEY, "PPLX_PROXY_HOST": host, "PPLX_PROXY_PORT": port}
    status, out, err = await inject(stdin=f"{NAME}={token}\n".encode(), **environ)
    assert (status, err) == (0, "")
    assert "valid" in out
    assert token not in out


async def _numbers(rig: Rig, path: str) -> list[int]:
    """How many rotations led to the cookies with which `path` was asked, in order."""
    found = []
    for request in await rig.requests(path):
        pairs = (part.partition("=") for part in request["headers"]["cookie"].split("; "))
        token = "".join(value for name, _, value in pairs if name.startswith(NAME))
        found.append(int(token.split("~")[1]) if "~" in token else 0)
    return found
