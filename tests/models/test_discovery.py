import asyncio
import json
from pathlib import Path

from pplx_gateway.settings import Secret
from tests.models.helping import (
    asked,
    asking,
    beside,
    control,
    discover,
    entries,
    eventually,
    health_shows,
    listed,
    session,
    update,
)
from tests.rig import ASK_PATH, Rig

CONFIG = "/rest/models/config"


async def test_a_dead_model_is_upgraded_kept_and_told(tmp_path: Path) -> None:
    async with session(tmp_path, "pro") as rig:
        await control(rig, dead_models=["gpt56_terra"], added_models={"gpt66_terra": "pro"})
        report = await discover(rig)
        assert report["upgraded"] == {"gpt": {"old": "gpt56_terra", "new": "gpt66_terra"}}
        assert report["dead"] == ["gpt"]
        probed = [name for name in await asked(rig) if name.startswith("gpt") and name.endswith("_terra")]
        assert probed == ["gpt56_terra", "gpt56_terra", *(f"gpt{number}_terra" for number in range(57, 67))]
        shown = (await entries(rig))["gpt"]
        assert shown["upstream_id"] == "gpt66_terra"
        assert shown["thinking_id"] == "gpt66_terra_thinking"
        assert shown["name"] == "GPT-6.6 Terra"
        assert shown["source"] == "discovery"
        assert "model upgraded" in rig.log.getvalue()
        assert (await rig.chat(asking("How high is it?", "gpt"))).status == 200
        assert (await asked(rig))[-1] == "gpt66_terra"
        async with beside(rig, tmp_path) as later:
            assert (await entries(later))["gpt"]["upstream_id"] == "gpt66_terra"


async def test_a_successor_that_the_site_lists_is_tried_first(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        document = {
            "models": {},
            "config": [
                {
                    "label": "GPT-6.3",
                    "subscription_tier": "pro",
                    "non_reasoning_model": "gpt63_terra",
                    "reasoning_model": "gpt63_way",
                }
            ],
        }
        await rig.script(
            CONFIG, {"headers": {"content-type": "application/json"}, "steps": [{"bytes": json.dumps(document)}]}
        )
        await control(rig, dead_models=["gpt56_terra"], added_models={"gpt58_terra": "pro", "gpt63_terra": "pro"})
        report = await discover(rig)
        assert report["upgraded"]["gpt"]["new"] == "gpt63_terra"
        assert (await entries(rig))["gpt"]["thinking_id"] == "gpt63_way"  # the site's word beats the table's spelling


async def test_a_dead_model_without_a_successor_stays(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        before = await listed(rig)
        await control(rig, dead_models=["claude50sonnet", "grok46low"])
        report = await discover(rig)
        assert report["dead"] == ["sonnet", "grok"]
        assert report["upgraded"] == {}
        assert before <= await listed(rig)
        assert (await entries(rig))["sonnet"]["upstream_id"] == "claude50sonnet"


async def test_a_known_family_that_is_missing_is_added_and_a_disabled_one_never_asked(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        assert "gpt-mini" not in await listed(rig)
        await control(
            rig, added_models={"claude45haiku": "pro", "gemini31flashlite": "pro", "grok420multiagent": "pro"}
        )
        report = await discover(rig)
        assert report["added"] == {"gpt-mini": "gpt5_mini", "gpt-nano": "gpt5_nano", "gemini-flash": "gemini38flash"}
        assert {"gpt-mini", "gpt-nano", "gemini-flash"} <= await listed(rig)
        assert report["skipped"] == {"opus": "needs a max account", "gpt-sol": "needs a max account"}
        names = await asked(rig)
        assert not {"claude45haiku", "gemini31flashlite", "grok420multiagent", "pplx_alpha", "pplx_pro"} & set(names)
        assert (await entries(rig))["gemini-flash"]["thinking_id"] is None  # as the site's list has it


async def test_pinned_and_removed_models_are_left_alone(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await update(rig, {"gpt": ["copilot", "gpt55"], "grok": None})
        await control(rig, dead_models=["gpt55"], added_models={"gpt57_terra": "pro"})
        await discover(rig)
        assert (await entries(rig))["gpt"]["upstream_id"] == "gpt55"
        assert "grok" not in await listed(rig)
        assert "gpt55" not in await asked(rig)


async def test_a_substitution_is_no_death(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await rig.script(ASK_PATH, *(_answered_by("grok45low") for _ in range(2)))
        report = await discover(rig)
        assert report["unclear"] == {"gpt": "grok45low answered", "sonnet": "grok45low answered"}
        assert "gpt57_terra" not in await asked(rig)
        assert (await entries(rig))["gpt"]["upstream_id"] == "gpt56_terra"


def _answered_by(model: str) -> list[dict[str, object]]:
    frame = {
        "backend_uuid": "b",
        "status": "COMPLETED",
        "final": True,
        "final_sse_message": True,
        "display_model": model,
        "user_selected_model": "gpt56_terra",
        "blocks": [
            {
                "intended_usage": "ask_text",
                "markdown_block": {
                    "progress": "DONE",
                    "chunks": ["Four."],
                    "chunk_starting_offset": 0,
                    "answer": "Four.",
                },
            }
        ],
    }
    return [{"bytes": f"event: message\r\ndata: {json.dumps(frame)}\r\n\r\nevent: end_of_stream\r\ndata: {{}}\r\n\r\n"}]


async def test_a_passing_fault_costs_nothing_that_was_there(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        before = await entries(rig)
        broken = {"status": 500, "steps": [{"bytes": "oops"}], "repeat": "forever"}
        await rig.script(ASK_PATH, broken)
        await rig.script(CONFIG, broken)
        report = await discover(rig)
        assert not report["picker_read"]
        assert report["dead"] == []
        assert await entries(rig) == before


async def test_an_expired_session_is_not_probed(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-expired") as rig:
        report = await discover(rig)
        assert "expired" in report["stopped"]
        assert report["picker_read"]
        assert await asked(rig) == []


async def test_a_challenge_ends_the_run(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await rig.script(
            ASK_PATH, {"status": 403, "headers": {"content-type": "text/html", "cf-mitigated": "challenge"}}
        )
        report = await discover(rig)
        assert "challenge" in report["stopped"]
        assert len(await asked(rig)) == 1


async def test_the_searches_of_a_day_are_limited(tmp_path: Path) -> None:
    async with session(tmp_path, probes_per_day=3) as rig:
        report = await discover(rig)
        assert report["searches"] == 3
        assert "a day" in report["stopped"]
        assert await asked(rig) == ["gpt56_terra", "claude50sonnet", "gemini31pro_high"]
        report = await discover(rig)
        assert report["probes"] == 0


async def test_the_last_ten_searches_are_the_owners(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left12-d") as rig:
        await health_shows(rig, remaining_pro=12)
        report = await discover(rig)
        assert report["searches"] == 2
        assert "the last 10" in report["stopped"]
        await health_shows(rig, remaining_pro=10)


async def test_those_that_were_not_asked_come_first_the_next_time(tmp_path: Path) -> None:
    async with session(tmp_path, probes_per_day=3) as rig:
        await discover(rig)
        plan = (await rig.post({}, path="/admin/discover-models?wait=1")).json["probes"]
        assert [step["id"] for step in plan[:2]] == ["grok", "kimi"]


async def test_on_demand_it_runs_behind_the_answer(tmp_path: Path) -> None:
    async with session(tmp_path) as rig:
        await eventually(lambda: _valid(rig))
        reply = await rig.post({}, path="/admin/discover-models")
        assert reply.status == 202
        assert reply.json["status"] == "started"
        assert reply.json["probes"][0] == {"id": "gpt", "upstream_id": "gpt56_terra", "missing": False}
        await eventually(lambda: _ended(rig))
        told = (await rig.get("/admin/models")).json["discovery"]
        assert told["last"]["alive"]
        assert told["next_at"] is not None


async def _valid(rig: Rig) -> bool:
    health = (await rig.get("/health")).json
    return bool(health["session"]["state"] == "valid")


async def _ended(rig: Rig) -> bool:
    return (await rig.get("/admin/models")).json["discovery"]["last"] is not None


async def test_two_workers_run_it_once(tmp_path: Path) -> None:
    async with session(tmp_path) as rig, beside(rig, tmp_path) as other:
        path = "/admin/discover-models?wait=1"
        replies = await asyncio.gather(*(each.post({}, path=path) for each in (rig, other)))
        statuses = sorted(reply.json["status"] for reply in replies)
        assert statuses == ["done", "running elsewhere"]
        names = await asked(rig)
        assert len(names) == len(set(names))


async def test_it_runs_by_itself_after_an_interval(tmp_path: Path) -> None:
    hours = {"probe_interval_hours": 1.0, "keepalive_hours": 1000.0}
    async with session(tmp_path, "pro", factor=2000.0, probes_per_day=1000, **hours) as rig:
        await control(rig, dead_models=["gpt56_terra"], added_models={"gpt57_terra": "pro"})
        assert await asked(rig) == []  # a fresh installation's list is fresh as well
        await eventually(lambda: _upgraded(rig))
        assert (await entries(rig))["gpt"]["upstream_id"] == "gpt57_terra"


async def _upgraded(rig: Rig) -> bool:
    return "model upgraded" in rig.log.getvalue()


async def test_what_changed_is_told_by_an_alert(tmp_path: Path) -> None:
    async with session(tmp_path / "site", cookie=None) as site:
        await site.script("/", {"headers": {"content-type": "application/json"}, "steps": [{"bytes": "{}"}]})
        told = {"ntfy_url": site.emulator_url, "ntfy_topic": Secret("topic-1")}
        await control(site, dead_models=["gpt56_terra"], added_models={"gpt57_terra": "pro"})
        async with beside(site, tmp_path / "own", "pro", **told) as rig:
            await discover(rig)
            (request,) = await site.wait("/", ended=True)
            message = request["json"]["message"]
            assert "gpt: gpt56_terra is gone, gpt57_terra takes its place." in message
            assert "gpt-mini: new, asks gpt5_mini." in message
