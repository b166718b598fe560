"""`POST /v1/decisions`: answers that follow from the state, limits, images, and the three shapes of an error."""

from typing import Any

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.threads import serving
from tests.emulator.caller import Caller, Json, Reply
from tests.emulator_api.making import image, png

MODEL = "pplx-decider-v1.1-27b"
INVOICE = "The invoice shows the wrong VAT and must be corrected today"
QUESTIONS: Json = {
    "billing": {"type": "noul", "instructions": "Is this about an invoice or VAT?"},
    "team": {"type": "choice", "criteria": {"billing": "invoice, VAT, money", "support": "crashes and logins"}},
    "urgency": {"type": "score", "criteria": ["it can wait", "this week", "today, it must be corrected"]},
}


def ask(caller: Caller, **fields: object) -> Reply:
    body = {"model": MODEL, "state": INVOICE, "questions": QUESTIONS, **fields}
    return caller.send("POST", "/v1/decisions", body)


def decide(caller: Caller, **fields: object) -> Json:
    reply = ask(caller, **fields)
    assert reply.status == 200, reply.body
    return dict(reply.json)


def test_answers_follow_from_the_state(caller: Caller) -> None:
    whole = decide(caller)
    assert whole.keys() == {"model", "answers", "usage"}
    billing, team, urgency = (whole["answers"][name] for name in QUESTIONS)
    assert billing.keys() == {"type", "noul"}
    assert billing["noul"] > 0.5
    assert (team["type"], team["choice"]) == ("choice", "billing")
    assert team["confidence"] == team["probabilities"]["billing"] > 0.5
    assert urgency["legend"] == {"0": "it can wait", "1": "this week", "2": "today, it must be corrected"}
    assert urgency["score"] == pytest.approx(sum(int(k) * p for k, p in urgency["probabilities"].items()), abs=0.001)
    assert urgency["score"] > 1
    other = decide(caller, state="The screen stays black after the login, it can wait")["answers"]
    assert other["team"]["choice"] == "support"
    assert other["billing"]["noul"] < 0.5
    assert other["urgency"]["score"] < 1


def test_probabilities_add_up_for_the_most_options(caller: Caller) -> None:
    options = {f"option {number}": None for number in range(255)}
    answer = decide(caller, questions={"a": {"type": "choice", "criteria": options}})["answers"]["a"]
    assert list(answer["probabilities"]) == list(options)
    assert sum(answer["probabilities"].values()) == pytest.approx(1)


def test_a_question_costs_a_floor_and_a_single_option_nothing(caller: Caller) -> None:
    one, two = (dict.fromkeys(names, QUESTIONS["billing"]) for names in ("a", "ab"))
    first, second = (decide(caller, questions=questions)["usage"] for questions in (one, two))
    assert first["input_tokens"] >= 116
    assert second["input_tokens"] - first["input_tokens"] >= 92
    assert (first["output_tokens"], second["output_tokens"]) == (1, 2)
    settled = decide(caller, questions={"a": {"type": "choice", "criteria": {"only": None}}})
    assert settled["answers"]["a"]["confidence"] == 1.0
    assert settled["usage"] == {"input_tokens": 0, "output_tokens": 0}


def test_states_may_be_objects_and_lists_with_images(caller: Caller) -> None:
    plain = decide(caller, state=[INVOICE])["usage"]["input_tokens"]
    parts = [{"role": "user", "content": [{"type": "text", "text": INVOICE}, image(png(64, 33))]}]
    for state in ([INVOICE, image(png(64, 33))], parts):
        whole = decide(caller, state=state)
        assert whole["usage"]["input_tokens"] == plain + 4 + 100
        assert whole["answers"]["team"]["choice"] == "billing"
    assert decide(caller, state={"ticket": {"text": INVOICE}})["answers"]["team"]["choice"] == "billing"


def test_the_request_has_its_id_in_a_header_alone(caller: Caller) -> None:
    reply = ask(caller)
    assert len(reply.headers["x-request-id"]) == 36
    assert reply.headers["x-ratelimit-limit"] == "10"
    assert "id" not in reply.json


GATEWAY_REFUSALS: list[Any] = [
    {"stream": True},
    {"questions": {}},
    {"questions": {f"q{n}": QUESTIONS["billing"] for n in range(129)}},
    {"questions": {"a": {"type": "noul"}}},
    {"questions": {"a": {"type": "noul", "criteria": {}}}},
    {"questions": {"a": {"type": "noul", "instructions": "?", "weight": 1}}},
    {"questions": {"a": {"type": "noul", "criteria": {"true": "yes", "maybe": "no"}}}},
    {"questions": {"a": {"type": "predicate", "instructions": "?"}}},
    {"questions": {"a": {"type": "choice", "criteria": {}}}},
    {"questions": {"a": {"type": "choice", "criteria": {f"o{n}": None for n in range(256)}}}},
    {"questions": {"a": {"type": "score", "criteria": []}}},
    {"questions": {"a": {"type": "score", "criteria": ["x"] * 11}}},
    {"model": "pplx-decider"},
    {"state": None},
]


@pytest.mark.parametrize("fields", GATEWAY_REFUSALS)
def test_the_gateways_refusals_have_no_code(caller: Caller, fields: Json) -> None:
    reply = ask(caller, **fields)
    assert reply.status == 400
    assert reply.error["code"] is None
    assert reply.error["param"] is None
    assert len(reply.headers["x-request-id"]) == 36


@pytest.mark.parametrize(
    ("state", "code"),
    [
        ([image("https://pictures.example/a.png")], "invalid_image"),
        ([image("data:image/gif;base64,R0lGODlh")], "invalid_image"),
        ([image("data:image/png;base64,!")], "invalid_image"),
        ([image("data:image/png;base64,aGk=")], "invalid_image"),
        ([image(png(1, 1))] * 9, "too_many_images"),
        ("x" * 4 * 262_144, "context_length"),
    ],
)
def test_the_model_servers_refusals_have_a_word_and_the_model(caller: Caller, state: object, code: str) -> None:
    reply = ask(caller, state=state)
    assert reply.status == 400
    assert (reply.error["code"], reply.error["model"]) == (code, MODEL)


def test_an_image_of_too_many_tiles_ends_in_a_page_after_silence(caller: Caller) -> None:
    assert ask(caller, state=[INVOICE, image(png(64 * 32, 32 * 32))]).status == 200, "2048 tiles are the most"
    with serving(Clock(50), hold_seconds=0.0) as url:
        stalled = ask(Caller(url), state=[INVOICE, image(png(64 * 32 + 1, 32 * 32))])
    assert (stalled.status, stalled.headers["content-type"]) == (504, "text/html")


def test_a_bad_key_has_a_number_and_a_throttle_none(caller: Caller) -> None:
    refused = ask(caller.with_key("pplx-bad"))
    assert (refused.error["code"], refused.headers["x-request-id"]) == (401, None)
    throttled = ask(caller, state="fault:upstream_429 tides")
    assert (throttled.status, throttled.error["code"], throttled.headers["retry-after"]) == (429, None, "1")
    wrong_method = caller.send("GET", "/v1/decisions")
    assert (wrong_method.status, wrong_method.body) == (405, b"")


def test_single_answers_can_be_made_to_miss_or_to_be_of_another_kind(caller: Caller) -> None:
    questions = {
        "gone": {"type": "noul", "instructions": "fault:empty Is this about VAT?"},
        "odd": {"type": "noul", "instructions": "fault:substituted Is this about VAT?"},
        "fine": QUESTIONS["billing"],
    }
    answers = decide(caller, questions=questions)["answers"]
    assert answers.keys() == {"odd", "fine"}
    assert answers["odd"]["type"] not in ("noul", "choice", "score")
    assert decide(caller, state="fault:empty tides")["answers"] == {}


def test_a_script_is_not_used_for_what_would_be_refused(caller: Caller) -> None:
    caller.script("/v1/decisions", {"status": 500, "steps": []})
    assert ask(caller, stream=True).status == 400
    assert ask(caller).status == 500
    assert caller.requests("path=/v1/decisions")[0]["refusal"]
