"""The model `router` in the running program."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.caller_keys.calling import make
from tests.ledger.asking import requests
from tests.rig import AGENT, ASK_PATH, Rig, running

DECISIONS = "/v1/decisions"
EASY = "How high is the belfry?"
MIDDLING = "Compare the two rivers."
HARD = "Analyse and compare the economies of both towns, step by step, since 1830."
TIERS: dict[str, Any] = {
    "router_simple": ("perplexity/sonar",),
    "router_medium": ("low",),
    "router_complex": ("openai/gpt-6-luna:high",),
}
JSON = {"content-type": "application/json"}


def ask(text: str, model: str = "router", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": text}], **more}


def rating(place: float) -> dict[str, Any]:
    answer = {"type": "score", "score": place, "confidence": 0.9, "legend": {}, "probabilities": {"0": 1.0}}
    usage = {"input_tokens": 301, "output_tokens": 3}
    body = {"model": "pplx-decider-v1.1-27b", "answers": {"complexity": answer}, "usage": usage}
    return {"headers": JSON, "steps": [{"bytes": json.dumps(body)}]}


async def asked(rig: Rig) -> list[tuple[str | None, str | None, str | None]]:
    """Model, level and effort of each run, in order."""
    bodies = [request["json"] for request in await rig.requests(AGENT)]
    return [(body.get("model"), body.get("effort"), (body.get("reasoning") or {}).get("effort")) for body in bodies]


@pytest.mark.parametrize(
    ("place", "tier", "run"),
    [
        (0.4, "simple", ("perplexity/sonar", None, None)),
        (1.5, "medium", (None, "low", None)),
        (2.9, "complex", ("openai/gpt-6-luna", None, "high")),
    ],
)
async def test_the_decider_picks_the_tier(
    tmp_path: Path, place: float, tier: str, run: tuple[str | None, str | None, str | None]
) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        await rig.script(DECISIONS, rating(place))
        reply = await rig.chat(ask(EASY))
        (decision,) = await rig.requests(DECISIONS)
        assert await asked(rig) == [run]
    assert reply.status == 200
    assert reply.headers["x-pplx-router-tier"] == tier
    assert reply.headers["x-pplx-router-reason"] == f"decider: {place / 3:.2f}"
    assert reply.headers["x-pplx-requested-model"] == "router"
    assert reply.json["pplx"]["router"] == {
        "tier": tier,
        "score": place / 3,
        "reason": reply.headers["x-pplx-router-reason"],
    }
    assert reply.json["model"] != "router"
    sent = decision["json"]
    assert (sent["model"], sent["state"]) == ("pplx-decider-v1.1-27b", EASY)


async def test_a_stream_tells_the_tier_before_its_text(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        await rig.script(DECISIONS, rating(2.9))
        stream = await rig.stream(ask(EASY))
    assert stream.headers["x-pplx-router-tier"] == "complex"
    assert stream.finish["pplx"]["router"]["tier"] == "complex"


async def test_responses_are_routed_too(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        await rig.script(DECISIONS, rating(1.5))
        reply = await rig.post({"model": "router", "input": EASY}, path="/v1/responses")
        assert await asked(rig) == [(None, "low", None)]
    assert (reply.status, reply.headers["x-pplx-router-tier"]) == (200, "medium")
    assert reply.json["pplx"]["router"]["tier"] == "medium"


async def test_the_emulated_decider_rates_too(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        reply = await rig.chat(ask(EASY))
        assert len(await rig.requests(DECISIONS)) == 1
    assert reply.headers["x-pplx-router-reason"].startswith("decider: ")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ({"status": 429, "headers": JSON, "steps": [{"bytes": "{}"}], "repeat": "forever"}, "rate_limit_exceeded"),
        ({"status": 500, "headers": JSON, "steps": [{"bytes": "{}"}]}, "upstream_error"),
        ({"headers": JSON, "steps": [{"bytes": "[]"}]}, "upstream_error"),
        ({"headers": JSON, "steps": [], "delay": 600}, "too slow"),
    ],
)
async def test_a_decider_that_fails_leaves_the_rule(tmp_path: Path, answer: dict[str, Any], why: str) -> None:
    async with running(tmp_path, order=("api",), factor=20.0, **TIERS) as rig:
        await rig.script(DECISIONS, answer)
        reply = await rig.chat(ask(HARD))
    assert (reply.status, reply.headers["x-pplx-router-tier"]) == (200, "complex")
    assert reply.headers["x-pplx-router-reason"].startswith("rule: ")
    assert why in reply.headers["x-pplx-router-reason"]


async def test_without_leave_to_spend_the_rule_decides_and_the_session_answers(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        for text, tier in ((EASY, "simple"), (MIDDLING, "medium"), (HARD, "complex")):
            reply = await rig.chat(ask(text))
            assert (reply.status, reply.headers["x-pplx-router-tier"]) == (200, tier)
            assert "may not spend" in reply.headers["x-pplx-router-reason"]
            assert reply.headers["x-pplx-upstream"] == "session"
        asked_for = [request["json"]["params"]["model_preference"] for request in await rig.requests(ASK_PATH)]
        assert await rig.requests(AGENT) == await rig.requests(DECISIONS) == []
    assert asked_for == ["pplx_pro", "gpt56_terra", "gpt56_terra_thinking"]


@pytest.mark.parametrize(
    ("model", "settings"), [("router", {"allow_spending": True}), ("api/router", {}), ("perplexity/router", {})]
)
async def test_with_leave_to_spend_the_decider_is_asked(tmp_path: Path, model: str, settings: dict[str, Any]) -> None:
    async with running(tmp_path, **settings) as rig:
        await rig.script(DECISIONS, rating(0.1))
        reply = await rig.chat(ask(HARD, model))
    assert reply.headers["x-pplx-router-reason"] == "decider: 0.03"
    assert reply.headers["x-pplx-upstream"] == ("session" if model == "router" else "api")


async def test_what_the_owner_names_as_paid_is_paid(tmp_path: Path) -> None:
    async with running(tmp_path, router_simple=("api/fast",)) as rig:
        assert (await rig.chat(ask(EASY))).headers["x-pplx-upstream"] == "api"
        assert (await rig.chat(ask(EASY, "session/router"))).headers["x-pplx-upstream"] == "session"


async def test_the_callers_own_effort_wins(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        await rig.script(DECISIONS, rating(2.9))
        await rig.chat(ask(EASY, reasoning_effort="low"))
        assert await asked(rig) == [("openai/gpt-6-luna", None, "low")]


async def test_the_decider_stands_in_the_ledger_in_a_row_of_its_own(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        await rig.script(DECISIONS, rating(0.4))
        await rig.chat(ask(EASY))
        chat, decision = await requests(rig)
    assert (decision["operation"], decision["requested_model"], decision["served_model"]) == (
        "decisions",
        "router",
        "pplx-decider-v1.1-27b",
    )
    assert (decision["cost"], decision["cost_source"]) == (Decimal("0.00000602"), "computed")
    assert (chat["operation"], chat["requested_model"], chat["served_model"]) == (
        "chat/completions",
        "router",
        "perplexity/sonar",
    )


async def test_a_target_that_is_gone_leaves_it_to_the_next(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",), router_simple=("nobody", "opus"), account_type="pro") as rig:
        reply = await rig.chat(ask(EASY))
        assert reply.json["model"] == "gpt", "neither exists for this account, so the tier above answers"
        assert reply.headers["x-pplx-router-tier"] == "simple"


async def test_a_target_that_nobody_knows_is_told_of_at_start(tmp_path: Path) -> None:
    async with running(tmp_path, router_simple=("sonra", "gpt:low", "api/sonar", "openai/gpt-6-luna:high")) as rig:
        log = rig.log.getvalue()
    assert "PPLX_ROUTER_SIMPLE names 'sonra'" in log
    assert log.count("which no upstream knows") == 1


async def test_without_any_target_the_router_is_not_there(tmp_path: Path) -> None:
    nothing: dict[str, Any] = dict.fromkeys(("router_simple", "router_medium", "router_complex"), ("nobody",))
    async with running(tmp_path, order=("session",), **nothing) as rig:
        reply = await rig.chat(ask(EASY))
        assert (reply.status, reply.error["code"]) == (404, "model_not_found")
        assert "PPLX_ROUTER_SIMPLE" in reply.error["message"]
        assert "router" not in {model["id"] for model in (await rig.get("/v1/models")).json["data"]}


async def test_the_router_is_listed(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        listed = {model["id"]: model for model in (await rig.get("/v1/models")).json["data"]}
        one = await rig.get("/v1/models/router")
    assert listed["router"]["owned_by"] == "pplx-gateway"
    assert (one.status, one.json["id"]) == (200, "router")


async def test_a_key_for_the_router_alone_may_ask_it_and_nothing_else(tmp_path: Path) -> None:
    async with running(tmp_path, allow_spending=True) as rig:
        _, secret = await make(rig, models=["router"], upstreams=["session"])
        assert (await rig.post(ask(EASY), key=secret)).headers["x-pplx-upstream"] == "session"
        assert (await rig.post(ask(EASY, "auto"), key=secret)).status == 403
        assert {model["id"] for model in (await rig.get("/v1/models", key=secret)).json["data"]} == {"router"}


async def test_who_does_not_ask_for_the_router_never_meets_it(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",), **TIERS) as rig:
        reply = await rig.chat(ask(HARD, "sonar"))
        assert await rig.requests(DECISIONS) == []
    assert not [name for name in reply.headers if name.startswith("x-pplx-router")]
    assert "router" not in reply.json["pplx"]


@pytest.mark.parametrize(
    ("effort", "level"), [(None, "low"), ("minimal", "fast"), ("medium", "medium"), ("xhigh", "xhigh")]
)
async def test_a_preset_as_model_means_that_the_level_rules(tmp_path: Path, effort: str | None, level: str) -> None:
    more = {"reasoning_effort": effort} if effort else {}
    async with running(tmp_path, order=("api",)) as rig:
        assert (await rig.chat(ask(EASY, "perplexity/preset", **more))).status == 200
        ((model, asked_level, _),) = await asked(rig)
    assert (model, asked_level) == (None, level)
