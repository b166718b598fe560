"""The session's life in the running program: health, a new cookie from the owner, two workers with one cookie."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME
from tests.life.waiting import until
from tests.rig import ASK_PATH, Reply, Rig, Stream, running

REFRESH = "/admin/refresh-cookie"
SESSION = "/api/auth/session"
ASK: dict[str, Any] = {"model": "gpt", "messages": [{"role": "user", "content": "Which two rivers meet in Ghent?"}]}
HTML = {"content-type": "text/html"}
JSON = {"content-type": "application/json"}


def answer(body: str, status: int = 200, headers: dict[str, str] = JSON, **more: Any) -> dict[str, Any]:
    return {"status": status, "headers": headers, "steps": [{"bytes": body}], **more}


SIGNED_OUT = answer("{}")
SIGNED_IN = answer('{"user": {"id": "u-1", "subscription_tier": "max"}, "expires": "2030-12-01T00:00:00.000Z"}')
CHALLENGE = answer("<!DOCTYPE html><title>Just a moment...</title>", 403, {**HTML, "cf-mitigated": "challenge"})
OUTAGE = answer("<html>no", 500, HTML)


@contextlib.asynccontextmanager
async def session(
    folder: Path, cookie: str | None = "emulator-max-SECRET-COOKIE", **settings: Any
) -> AsyncGenerator[Rig, None]:
    chosen = Secret(cookie) if cookie else None
    async with running(folder, order=("session",), **{"cookie": chosen, **settings}) as rig:
        yield rig


async def state_of(rig: Rig, wanted: str) -> dict[str, Any]:
    """What health shows once the session's state is `wanted`."""

    async def look() -> dict[str, Any] | None:
        found: dict[str, Any] = (await rig.get("/health")).json
        return found if found["session"] and found["session"]["state"] == wanted else None

    return await until(look)


async def give(rig: Rig, body: Any, **headers: str) -> Reply:
    return await rig.post(body, path=REFRESH, headers=headers)


async def cookies(rig: Rig, path: str) -> list[str]:
    """The tokens with which `path` was asked, in order."""
    found = await rig.requests(path)
    return [request["headers"]["cookie"].removeprefix(f"{NAME}=") for request in found]


# health


async def test_health_tells_everybody_only_that_it_lives(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        for key in (None, "wrong"):
            reply = await rig.get("/health", key=key)
            assert (reply.status, set(reply.json)) == (200, {"status", "service", "version"})
            assert reply.headers["cache-control"] == "no-store"


async def test_health_tells_the_owner_how_the_session_stands(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        found = await state_of(rig, "valid")
        assert found["status"] == "ok"
        assert found["session"]["account_type"] == "max"
        assert 0 <= found["session"]["checked_seconds_ago"] < 60
        assert 0 <= found["cookie_age_hours"] < 1
        assert (found["session"]["cookie_old"], found["session"]["cookie_kept"]) == (False, True)
        assert {"remaining_pro", "remaining_research", "quota_age_seconds"} <= set(found)


async def test_a_setting_shows_all_of_it_to_everybody(tmp_path: Path) -> None:
    async with session(tmp_path, public_health=True) as rig:
        await state_of(rig, "valid")
        assert (await rig.get("/health", key=None)).json["session"]["state"] == "valid"


@pytest.mark.parametrize("word", ["expired", "blocked"])
async def test_health_is_degraded_while_no_question_can_be_answered(tmp_path: Path, word: str) -> None:
    async with session(tmp_path, f"emulator-pro-{word}") as rig:
        assert (await state_of(rig, word))["status"] == "degraded"
        public = await rig.get("/health", key=None)
        assert (public.status, public.json["status"]) == (200, "degraded")


async def test_health_without_a_session_is_well(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        found = (await rig.get("/health")).json
        assert (found["status"], found["session"], found["cookie_age_hours"]) == ("ok", None, None)


async def test_health_comes_from_memory_while_the_site_hangs(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        await rig.script("/*", {"status": 200, "headers": JSON, "steps": [], "delay": 600, "repeat": "forever"})
        assert (await rig.get("/health")).json["session"]["state"] == "valid"


# who may rule


async def test_only_the_key_lets_in(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        for key in (None, "wrong"):
            assert (await rig.post({"session_token": "x"}, path=REFRESH, key=key)).status == 401
        assert (await rig.get(REFRESH)).status == 405


async def test_without_a_key_only_this_machine_rules_and_no_proxy(tmp_path: Path) -> None:
    async with session(tmp_path, api_key=None, allow_open=True) as rig:
        for header in ("x-forwarded-for", "forwarded", "via", "x-real-ip"):
            reply = await rig.post({"session_token": "x"}, path=REFRESH, headers={header: "192.0.2.1"}, key=None)
            assert (reply.status, reply.error["code"]) == (403, "forbidden")
            health = await rig.client.get(rig.url + "/health", headers={header: "192.0.2.1"})
            assert set(health.json()) == {"status", "service", "version"}
        assert (await rig.post({"session_token": "emulator-pro-new"}, path=REFRESH, key=None)).status == 200
        assert (await rig.get("/health", key=None)).json["session"]["state"] == "valid"


# a new cookie


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ({"session_token": "emulator-pro-new"}, "application/json"),
        ({"session_token": f"{NAME}=emulator-pro-new; other=1"}, "application/json"),
        ({"session_token": {NAME: "emulator-pro-new"}}, "application/json"),
        ({"session_token": [{"name": NAME, "value": "emulator-pro-new"}]}, "application/json"),
        ([{"name": NAME, "value": "emulator-pro-new", "domain": "www.perplexity.ai"}], "application/json"),
        ({f"{NAME}.0": "emulator-", f"{NAME}.1": "pro-new"}, "application/json"),
        ("emulator-pro-new", "text/plain"),
        (f"Cookie: {NAME}=emulator-pro-new", "text/plain"),
        ("emulator-pro-new", ""),
    ],
)
async def test_every_way_to_paste_it_is_taken(tmp_path: Path, body: Any, kind: str) -> None:
    async with session(tmp_path) as rig:
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        reply = await give(rig, content, **{"content-type": kind})
        assert reply.status == 200
        assert reply.json["session"]["state"] == "valid"
        assert reply.json["session"]["account_type"] == "pro"
        assert (await rig.chat(ASK)).status == 200
        assert (await cookies(rig, ASK_PATH)) == ["emulator-pro-new"]


async def test_a_dead_session_is_healed_without_a_restart(tmp_path: Path) -> None:
    async with session(tmp_path, "emulator-max-expired") as rig:
        await state_of(rig, "expired")
        for _ in range(3):
            reply = await rig.chat(ASK)
            assert (reply.status, reply.error["code"]) == (503, "session_expired")
            assert "inject-cookie" in reply.error["message"]
        assert await rig.requests(ASK_PATH) == [], "no question goes to a site that would answer it anonymously"
        assert (await give(rig, {"session_token": "emulator-max-new"})).status == 200
        assert (await rig.chat(ASK)).status == 200
        assert (await rig.get("/health")).json["status"] == "ok"


async def test_a_dead_cookie_without_a_check_yet_answers_nothing_either(tmp_path: Path) -> None:
    """The question comes before the first check has ended: the answer waits for it, and is then not shown."""
    async with session(tmp_path, "emulator-max-expired") as rig:
        await rig.script(SESSION, answer("{}", delay=0.3))
        reply = await rig.chat({**ASK, "model": "auto"})
        assert (reply.status, reply.error["code"]) == (503, "session_expired")
        stream = await rig.stream({**ASK, "model": "auto"})
        assert stream.status == 503


@pytest.mark.parametrize(
    ("token", "site", "status", "code"),
    [
        ("emulator-max-expired", None, 400, "cookie_refused"),
        ("emulator-max-blocked", None, 503, "session_blocked"),
        ("emulator-max-new", OUTAGE, 502, "upstream_error"),
        ("emulator-max-new", answer("<html>maintenance", 200, HTML), 502, "upstream_error"),
        ("two words", None, 400, "invalid_request"),
    ],
)
async def test_a_cookie_that_is_not_good_leaves_the_old_one(
    tmp_path: Path, token: str, site: dict[str, Any] | None, status: int, code: str
) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        if site:
            await rig.script(SESSION, site)
        reply = await give(rig, {"session_token": token})
        assert (reply.status, reply.error["code"]) == (status, code)
        assert token not in reply.error["message"]
        assert (await rig.chat(ASK)).status == 200
        assert (await cookies(rig, ASK_PATH)) == ["emulator-max-SECRET-COOKIE"]
        assert (await rig.get("/health")).json["session"]["state"] == "valid"


@pytest.mark.parametrize(
    "body", [b"", b" \n", b"\xff\xfe", b'{"session_token": null}', b'{"session_token": ""}', b"{}", b"[]"]
)
async def test_a_body_that_holds_no_cookie_is_a_400(tmp_path: Path, body: bytes) -> None:
    async with session(tmp_path) as rig:
        reply = await give(rig, body)
        assert (reply.status, reply.error["param"]) == (400, "session_token")


async def test_without_a_session_upstream_there_is_nothing_to_renew(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        assert (await give(rig, {"session_token": "x"})).status == 404


async def test_the_first_cookie_may_be_given_while_it_runs_and_outlives_a_restart(tmp_path: Path) -> None:
    async with session(tmp_path, cookie=None) as rig:
        assert (await rig.get("/v1/models")).json["data"] == []
        assert (await rig.chat(ASK)).status == 502
        assert (await rig.get("/health")).json["session"] is None
        assert (await give(rig, {"session_token": "emulator-max-first"})).status == 200
        assert (await rig.chat(ASK)).status == 200
        assert (await rig.get("/v1/models")).json["data"]
    async with session(tmp_path, cookie=None) as rig:
        await rig.wait(SESSION)
        assert await cookies(rig, SESSION) == ["emulator-max-first"]


async def test_with_an_api_key_alone_the_session_does_not_answer_until_it_has_a_cookie(tmp_path: Path) -> None:
    async with running(tmp_path, cookie=None) as rig:
        assert (await rig.chat({**ASK, "model": "sonar"})).headers["x-pplx-upstream"] == "api"
        await give(rig, {"session_token": "emulator-max-first"})
        assert (await rig.chat({**ASK, "model": "sonar"})).headers["x-pplx-upstream"] == "session"


# an answer for strangers


def fault(word: str, **more: Any) -> dict[str, Any]:
    return {**ASK, "messages": [{"role": "user", "content": f"fault:{word} Which two rivers meet in Ghent?"}], **more}


def refused(stream: Stream, code: str) -> bool:
    """The sign may come as late as the last frame, so that text is there already; an end it never gets."""
    return stream.error is not None and stream.error["code"] == code and not stream.done


@pytest.mark.parametrize("model", ["gpt", "auto"])
async def test_right_after_a_false_alarm_an_anonymous_answer_is_still_not_shown(tmp_path: Path, model: str) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        assert (await rig.chat(fault("upstream_401", model=model))).status == 503
        found = await state_of(rig, "valid")
        assert found["session"]["checked_seconds_ago"] < 60, "the site said a moment ago that all is well"
        reply = await rig.chat(fault("logged_out", model=model))
        assert (reply.status, reply.error["code"]) == (503, "session_expired")
        await rig.chat(fault("upstream_401", model=model))
        stream = await rig.stream(fault("logged_out", model=model))
        assert refused(stream, "session_expired")


@pytest.mark.parametrize("word", ["logged_out", "upstream_401"])
async def test_a_fault_of_one_question_is_over_with_the_next(tmp_path: Path, word: str) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        for _ in range(2):
            assert (await rig.chat(fault(word))).status == 503
            assert (await rig.chat(ASK)).status == 200
        assert (await rig.get("/health")).json["session"]["state"] == "valid"


@pytest.mark.parametrize("site", [SIGNED_IN, CHALLENGE, OUTAGE])
async def test_an_anonymous_answer_is_an_error_whatever_the_site_says_of_the_session(
    tmp_path: Path, site: dict[str, Any]
) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        await rig.script(SESSION, {**site, "repeat": "forever"})
        reply = await rig.chat(fault("logged_out"))
        assert (reply.status, reply.error["code"]) == (502, "upstream_error")
        assert "not signed in" in reply.error["message"]
        assert reply.headers["x-should-retry"] == "false"
        stream = await rig.stream(fault("logged_out"))
        assert refused(stream, "upstream_error")
        assert (await rig.chat(ASK)).status == 200, "it says nothing of other answers"


async def test_many_anonymous_answers_at_once_cost_few_checks_and_none_is_shown(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await state_of(rig, "valid")
        await rig.script(SESSION, {**SIGNED_IN, "delay": 0.5, "repeat": "forever"})
        before = len(await rig.requests(SESSION))
        replies = await asyncio.gather(*(rig.chat(fault("logged_out")) for _ in range(20)))
        assert [reply.status for reply in replies] == [502] * 20
        assert len(await rig.requests(SESSION)) - before <= 3


# the plan


@pytest.mark.parametrize(
    ("token", "account_type", "status"),
    [("emulator-free-a", None, 403), ("emulator-free-a", "pro", 200), ("emulator-pro-a", "free", 403)],
)
async def test_the_owners_word_on_the_plan_wins_and_else_the_sites(
    tmp_path: Path, token: str, account_type: str | None, status: int
) -> None:
    async with session(tmp_path, token, account_type=account_type) as rig:
        await state_of(rig, "valid")
        reply = await rig.chat({**ASK, "model": "gpt"})
        assert (reply.status == 403) is (status == 403)
        assert ("ACCOUNT_TYPE rules" in rig.log.getvalue()) is (account_type is not None)


async def test_a_plan_above_what_is_assumed_opens_its_models(tmp_path: Path) -> None:
    async with session(tmp_path, "emulator-max-a", account_type=None) as rig:
        await state_of(rig, "valid")
        assert (await rig.chat({**ASK, "model": "opus"})).status == 200


# two workers


async def test_a_cookie_that_is_renewed_in_one_worker_is_used_by_the_other(tmp_path: Path) -> None:
    """Each check renews the cookie: one at each start, and one of the cookie that holds, when it is given once more."""
    token = "emulator-max-rotate"
    async with session(tmp_path, token) as one:
        await state_of(one, "valid")

        async def uses(asker: Rig, newest: str) -> None:
            async def used() -> bool:
                await asker.chat(ASK)
                return (await cookies(one, ASK_PATH))[-1] == newest

            await until(used)

        async with session(tmp_path, token, session_url=one.emulator_url, api_url=one.emulator_url) as two:
            await one.wait(SESSION, ended=True, count=2)
            await uses(two, f"{token}~2")
            for number, (renewing, other) in enumerate(((one, two), (two, one)), 2):
                assert (await give(renewing, {"session_token": f"{token}~{number}"})).status == 200
                await uses(other, f"{token}~{number + 1}")
            assert len(await one.requests(SESSION)) == 4
            assert (await two.get("/health")).json["session"]["state"] == "valid"


async def test_a_new_cookie_in_one_worker_heals_the_other(tmp_path: Path) -> None:
    async with session(tmp_path, "emulator-max-expired") as one:
        await state_of(one, "expired")
        async with session(
            tmp_path, "emulator-max-expired", session_url=one.emulator_url, api_url=one.emulator_url
        ) as two:
            assert (await two.chat(ASK)).error["code"] == "session_expired"
            assert (await give(one, {"session_token": "emulator-max-new"})).status == 200

            async def healed() -> bool:
                return (await two.chat(ASK)).status == 200

            await until(healed)


# secrets


async def test_no_secret_is_logged_or_shown(tmp_path: Path) -> None:
    """Rotated in pieces, asked about, refused, echoed by the site in an error."""
    token = "emulator-max-rotate-chunked-rotateask-SECRETWORD"
    async with session(tmp_path, token) as rig:
        await state_of(rig, "valid")
        assert (await rig.chat(ASK)).status == 200
        newest = (await cookies(rig, ASK_PATH))[-1]
        await rig.script(ASK_PATH, answer(json.dumps({"error": {"message": f"bad {newest} {token}"}}), 500))
        shown = [(await rig.chat(ASK)).error, (await rig.get("/health")).json]
        await rig.script(SESSION, CHALLENGE, SIGNED_OUT)
        refused = {"session_token": "emulator-max-SECRETWORD"}
        shown += [(await give(rig, refused)).error, (await give(rig, refused)).error]
        assert "SECRETWORD" not in json.dumps(shown)
        assert "SECRETWORD" not in rig.log.getvalue()
