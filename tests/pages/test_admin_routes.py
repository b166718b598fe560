"""What `/admin` reads beside the other routes of the owner's: the quota's history, the settings, the report."""

from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.settings import Secret
from pplx_gateway.store import Database
from pplx_gateway.store.quota_history import MOST_READINGS, QuotaHistory
from tests.models.helping import asking, beside, control, discover, eventually, health_shows, session
from tests.rig import COOKIE, KEY, running

ROUTES = ("/admin/quota", "/admin/settings", "/admin/report")


class Ticking(Clock):
    """Each look at it is a second later."""

    def __init__(self, start: float) -> None:
        super().__init__()
        self._now = start

    def now(self) -> float:
        self._now += 1
        return self._now


async def test_the_page_is_for_anybody_and_what_it_reads_for_the_owner(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        page = await rig.client.get(f"{rig.url}/admin")
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-cache")
        assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
        assert (await rig.client.get(f"{rig.url}/admin/")).status_code == 200
        made = (await rig.post({"name": "phone"}, path="/admin/caller-keys")).json["secret"]
        for path in ROUTES:
            assert (await rig.get(path, key=None)).status == 401
            assert (await rig.get(path, key="wrong")).status == 401
            assert (await rig.get(path, key=made)).status == 403
            reply = await rig.get(path)
            assert (reply.status, reply.headers["cache-control"]) == (200, "no-store")


async def test_each_reading_of_the_quota_is_kept_and_a_restart_keeps_them(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left50-h") as rig:
        await health_shows(rig, remaining_pro=50)
        first = (await rig.get("/admin/quota")).json
        assert (first["remaining_pro"], first["remaining_research"]) == (50, 20)
        assert [(one["pro"], one["research"]) for one in first["readings"]] == [(50, 20)]
        async with beside(rig, tmp_path, "pro-left50-h") as later:
            assert (await later.get("/admin/quota?days=1")).json["readings"] == first["readings"]


@pytest.mark.parametrize("query", ["days=0", "days=91", "days=x", "days=-1", "days=99999999", "day=1"])
async def test_a_wrong_query_names_its_parameter(tmp_path: Path, query: str) -> None:
    async with session(tmp_path) as rig:
        reply = await rig.get(f"/admin/quota?{query}")
        assert (reply.status, reply.error["param"]) == (400, query.partition("=")[0])


async def test_without_a_session_there_is_no_quota(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        assert (await rig.get("/admin/quota")).status == 404
        assert "not in PPLX_UPSTREAMS" in (await rig.get("/admin/report")).json["text"]


async def test_the_history_is_bounded_by_time_and_number(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "store.sqlite")
    old, new = QuotaHistory(database, Ticking(1e9)), QuotaHistory(database, Ticking(2e9))
    await old.add(pro=1, research=None)
    for count in range(MOST_READINGS + 20):
        await new.add(pro=count, research=0)
    kept = await new.since(0)
    assert len(kept) == MOST_READINGS
    assert [one.pro for one in (kept[0], kept[-1])] == [20, MOST_READINGS + 19]
    await database.close()
    with pytest.raises(StoreUnavailable):
        await new.since(0)


async def test_a_run_that_goes_on_is_seen_from_every_worker(tmp_path: Path) -> None:
    async with session(tmp_path) as rig, beside(rig, tmp_path) as other:
        held = {"headers": {"content-type": "text/event-stream"}, "steps": [{"sleep": 1}, {"abort": True}]}
        await rig.script("/rest/sse/perplexity_ask", held, held)
        assert (await rig.post({}, path="/admin/discover-models")).status == 202

        async def seen() -> bool:
            discovery = (await other.get("/admin/models")).json["discovery"]
            return bool(discovery["under_way"] and discovery["plan"])

        await eventually(seen)
        report = await discover(rig)
        assert report["alive"]
        assert (await rig.get("/admin/models")).json["discovery"]["under_way"] is None


async def test_a_run_that_fails_does_not_seem_to_go_on(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await control(rig, dead_models=["gpt56_terra"], added_models={"gpt57_terra": "pro"})
        await _without_models(tmp_path)
        await rig.post({}, path="/admin/discover-models?wait=1")

        async def over() -> bool:
            return (await rig.get("/admin/models")).json["discovery"]["under_way"] is None

        await eventually(over)
        assert (await rig.get("/admin/models")).json["discovery"]["last"] is None


async def test_the_report_counts_and_names_nobody(tmp_path: Path) -> None:
    async with running(tmp_path, default_model="sonnet", language="nl-BE", keepalive_hours=3.0) as rig:
        await rig.post({"name": "my laptop"}, path="/admin/caller-keys")
        await rig.post({"name": "my work key", "value": "env.MY_EMPLOYER"}, path="/admin/keys")
        assert (await rig.post(asking("A secret question of mine", "nothing"))).status == 404
        lines = (await rig.get("/admin/report")).json["text"].splitlines()
        for line in ("state: valid", "keys: 2", "  unusable: 1", "  model_not_found: 1", "KEEPALIVE_HOURS: 3.0"):
            assert line in lines, line
        for line in ("PPLX_LANGUAGE: set", "PPLX_PROXY_API_KEY: set", "ACCOUNT_TYPE: max"):
            assert line in lines, line
        told = "\n".join(lines)
        for word in (KEY, COOKIE, "SECRET", rig.emulator_url, "laptop", "EMPLOYER", "question", "nl-BE", str(tmp_path)):
            assert word not in told, word


async def test_the_report_names_the_cause_and_the_cure_of_what_is_wrong(tmp_path: Path) -> None:
    async with running(tmp_path, cookie=Secret("emulator-max-expired-SECRET"), data_dir=tmp_path / "kept") as rig:
        bad = {"name": "my laptop", "value": "pplx-bad-SECRET-0123"}
        await rig.post(bad, path="/admin/keys")
        await rig.post({"name": "my work key", "value": "env.MY_EMPLOYER"}, path="/admin/keys")
        reply = await rig.get("/admin/report?checks=1")
        wrong = [await rig.get(f"/admin/report?{query}") for query in ("checks=2", "check=1")]
    text = reply.json["text"]
    checks = text.partition("[program]")[0].splitlines()
    for line in (
        "[checks]",
        "ok      data folder: the data folder can be written",
        "ok      site: a host of the owner's answers",
        "BAD     session: Nobody is signed in with the cookie any more.",
        "        cure: Sign in at perplexity.ai, copy the cookie, and give it: pplx-gateway login",
        "ok      api key: 'key 1' is accepted",
        "note    api key: 'key 3' is not in use: its value cannot be found.",
    ):
        assert line in checks, (line, checks)
    (refused,) = [line for line in checks if line.startswith("BAD     api key")]
    assert "'key 2'" in refused
    for word in (KEY, COOKIE, "SECRET", rig.emulator_url[7:], "laptop", "EMPLOYER", str(tmp_path)):
        assert word not in text, word
    assert [(each.status, each.error["param"]) for each in wrong] == [(400, "checks"), (400, "check")]
    bad_ones = {each["check"]: each["cause"] for each in reply.json["checks"] if each["state"] == "bad"}
    assert bad_ones == {"session": "logged_out", "api key": "wrong_key"}
    assert not any(word in str(reply.json["checks"]) for word in ("SECRET", "laptop", str(tmp_path)))


async def test_settings_hold_no_secret(tmp_path: Path) -> None:
    async with running(tmp_path, ntfy_topic=Secret("TOPIC-SECRET")) as rig:
        rows = {row["name"]: row for row in (await rig.get("/admin/settings")).json["settings"]}
        assert {rows[name]["value"] for name in ("PPLX_COOKIE", "PPLX_PROXY_API_KEY", "NTFY_TOPIC")} == {"(set)"}
        assert rows["ACCOUNT_TYPE"]["value"] == "max"
        assert not any(secret in str(rows) for secret in (KEY, COOKIE, "TOPIC-SECRET"))


async def test_a_reading_that_cannot_be_kept_is_still_told(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left50-k") as rig:
        await _broken(tmp_path)
        await rig.post({"session_token": "emulator-pro-left31-k"}, path="/admin/refresh-cookie")
        await health_shows(rig, remaining_pro=31)
        assert (await rig.get("/admin/quota")).status == 503


async def _without_models(folder: Path) -> None:
    """From now on the list of models cannot be written."""
    database = await Database.open(folder / "gateway.sqlite")
    for change in ("insert", "update"):
        refuse = f"create trigger no_{change} before {change} on facts when new.name = 'models'"
        await database.write((f"{refuse} begin select raise(abort, 'no'); end", ()))
    await database.close()


async def _broken(folder: Path) -> None:
    database = await Database.open(folder / "gateway.sqlite")
    await database.write(("drop table quota_readings", ()))
    await database.close()
