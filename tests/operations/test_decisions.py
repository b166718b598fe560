"""Decisions: questions there and answers back, splitting, images, odd answers, prices."""

import json

import pytest

from pplx_gateway.decisions import (
    Choice,
    ChoiceAnswer,
    Decision,
    DecisionQuestion,
    Noul,
    NoulAnswer,
    Score,
    ScoreAnswer,
)
from pplx_gateway.errors import InvalidRequest, ModelNotFound, RateLimited
from tests.emulator_api.making import image, png
from tests.operations.rig import Rig

MODEL = "pplx-decider-v1.1-27b"
PATH = "/v1/decisions"
INVOICE = "The invoice shows the wrong VAT and must be corrected today"
QUESTIONS: dict[str, DecisionQuestion] = {
    "billing": Noul(instructions="Is this about an invoice or VAT?"),
    "team": Choice(criteria={"billing": "invoice, VAT, money", "support": None}),
    "urgency": Score(criteria=["it can wait", "this week", "today, it must be corrected"]),
}


def decision(questions: dict[str, DecisionQuestion] | None = None, **fields: object) -> Decision:
    asked = {"model": MODEL, "state": INVOICE, "questions": questions or QUESTIONS, **fields}
    return Decision(**asked)  # type: ignore[arg-type]


async def test_each_kind_of_question_is_answered(rig: Rig) -> None:
    decided = await rig.does.decider.decide(decision(), rig.note)
    billing, team, urgency = decided.answers.values()
    assert list(decided.answers) == list(QUESTIONS)
    assert isinstance(billing, NoulAnswer)
    assert billing.noul > 0.5
    assert isinstance(team, ChoiceAnswer)
    assert team.choice == "billing"
    assert isinstance(urgency, ScoreAnswer)
    assert urgency.score > 1
    assert json.loads(decided.body)["answers"].keys() == QUESTIONS.keys()
    (request,) = await rig.requests(PATH)
    assert request["json"]["questions"]["billing"] == {
        "type": "noul",
        "instructions": "Is this about an invoice or VAT?",
    }
    assert request["json"]["questions"]["team"]["criteria"] == {"billing": "invoice, VAT, money", "support": None}


async def test_the_cost_is_worked_out_to_the_last_digit(rig: Rig) -> None:
    reply = '{"model":"pplx-decider-v1.1-27b","answers":{},"usage":{"input_tokens":301,"output_tokens":3}}'
    await rig.script(PATH, {"steps": [{"bytes": reply}]})
    receipt = (await rig.does.decider.decide(decision(), rig.note)).receipt
    assert rig.noted == [receipt]
    assert (receipt.input_tokens, receipt.output_tokens, receipt.computed) == (301, 3, True)
    assert receipt.cost is not None
    assert receipt.cost.total == 6.02e-06


@pytest.mark.parametrize(
    ("model", "price"),
    [("pplx-decider-v1.1-27b-20261006", 0.02), ("pplx-decider-flash-v1.2", 0.01), ("pplx-decider-v1.2", None)],
)
async def test_prices_go_by_family_and_unknown_ones_are_not_guessed(rig: Rig, model: str, price: float | None) -> None:
    receipt = (await rig.does.decider.decide(decision(model=model), rig.note)).receipt
    expected = None if price is None else pytest.approx(receipt.input_tokens * price / 1e6)
    assert (receipt.cost and receipt.cost.total) == expected
    assert receipt.request_id


async def test_four_hundred_questions_take_four_calls_and_one_answer(rig: Rig) -> None:
    many: dict[str, DecisionQuestion] = {f"q{number}": QUESTIONS["billing"] for number in range(400)}
    decided = await rig.does.decider.decide(decision(many), rig.note)
    assert list(decided.answers) == list(many)
    assert all(isinstance(answer, NoulAnswer) for answer in decided.answers.values())
    assert [len(r["json"]["questions"]) for r in await rig.requests(PATH)] == [128, 128, 128, 16]
    body = json.loads(decided.body)
    assert list(body["answers"]) == list(many)
    assert body["usage"]["input_tokens"] == sum(receipt.input_tokens for receipt in rig.noted)
    assert decided.receipt.input_tokens == body["usage"]["input_tokens"]
    assert body["model"] == MODEL


async def test_a_missing_or_odd_answer_is_none_and_the_others_stay(rig: Rig) -> None:
    asked: dict[str, DecisionQuestion] = {
        "gone": Noul(instructions="fault:empty Is this about VAT?"),
        "odd": Noul(instructions="fault:substituted Is this about VAT?"),
        "fine": QUESTIONS["billing"],
    }
    answers = (await rig.does.decider.decide(decision(asked), rig.note)).answers
    assert (answers["gone"], answers["odd"]) == (None, None)
    assert isinstance(answers["fine"], NoulAnswer)


@pytest.mark.parametrize(
    "answer",
    [
        '{"type":"choice","choice":"sales","confidence":1,"probabilities":{"billing":1}}',
        '{"type":"choice","choice":"billing","confidence":1,"probabilities":{"sales":1}}',
        '{"type":"choice","choice":"billing","confidence":"high","probabilities":{}}',
        '{"type":"noul","noul":1}',
        "7",
        "null",
    ],
)
async def test_an_answer_that_was_not_offered_is_none(rig: Rig, answer: str) -> None:
    await rig.script(PATH, {"steps": [{"bytes": f'{{"answers":{{"team":{answer}}}}}'}]})
    decided = await rig.does.decider.decide(decision({"team": QUESTIONS["team"]}), rig.note)
    assert decided.answers == {"team": None}


@pytest.mark.parametrize(
    ("questions", "param"),
    [
        ({"a": Noul()}, "questions.a"),
        ({"a": Noul(criteria={"true": None})}, "questions.a"),
        ({"a": Choice(criteria={})}, "questions.a.criteria"),
        ({"a": Choice(criteria={f"o{n}": None for n in range(256)})}, "questions.a.criteria"),
        ({"a": Score(criteria=[])}, "questions.a.criteria"),
        ({"a": Score(criteria=["x"] * 11)}, "questions.a.criteria"),
    ],
)
async def test_bad_questions_are_refused_by_name(rig: Rig, questions: dict[str, DecisionQuestion], param: str) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.decider.decide(decision(questions), rig.note)
    assert refused.value.param == param
    assert await rig.requests() == []


async def test_no_question_is_refused(rig: Rig) -> None:
    with pytest.raises(InvalidRequest):
        await rig.does.decider.decide(Decision(model=MODEL, state="a", questions={}), rig.note)


@pytest.mark.parametrize(
    "state",
    [
        {"picture": image(png(1, 1))},
        [{"role": "user", "picture": image(png(1, 1))}],
        [image(png(1, 1))] * 9,
        [image(png(2049, 32 * 32))],
    ],
)
async def test_images_that_would_be_billed_as_text_or_stall_are_refused(rig: Rig, state: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await rig.does.decider.decide(decision(state=state), rig.note)
    assert refused.value.param == "state"
    assert await rig.requests() == []


async def test_images_in_a_list_are_taken_and_remote_ones_left_to_the_api(rig: Rig) -> None:
    good = [INVOICE, image(png(2048, 32 * 32)), {"role": "user", "content": [image(png(9, 9))]}]
    assert (await rig.does.decider.decide(decision(state=good), rig.note)).answers["team"]
    with pytest.raises(InvalidRequest, match="data URL"):
        await rig.does.decider.decide(decision(state=[image("https://a.example/a.png")]), rig.note)


async def test_errors_of_every_shape_are_ours(rig: Rig) -> None:
    with pytest.raises(ModelNotFound):
        await rig.does.decider.decide(decision(model="pplx-decider-v9"), rig.note)
    with pytest.raises(InvalidRequest, match="tokens"):
        await rig.does.decider.decide(decision(state="x" * 4 * 262_144), rig.note)
    with pytest.raises(RateLimited):
        await rig.does.decider.decide(decision(state="fault:upstream_429 a"), rig.note)
