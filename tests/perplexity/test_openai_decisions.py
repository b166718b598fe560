"""`/v1/decisions` as OpenAI's clients ask: typed answers in the order of the questions."""

import json
from typing import Any

import pytest
from openai import AsyncOpenAI, DefaultAsyncHttpx2Client

from tests.clients.sdk import checked
from tests.emulator_api.making import png
from tests.perplexity.calling import Caller, openai_error
from tests.rig import KEY

PATH = "/v1/decisions"
MODEL = "pplx-decider-v1.1-27b"
PREDICATE = {"type": "predicate", "name": "wet", "instructions": "Is it wet?"}
CHOICE = {
    "type": "choice",
    "name": "team",
    "instructions": "Who takes it?",
    "choices": [{"value": "billing", "description": "invoices, VAT"}, {"value": "support"}],
}
SCORE = {
    "type": "score",
    "instructions": "How urgent is it?",
    "levels": [{"label": "low", "description": "can wait"}, {"label": "high", "description": "today"}],
}
ASK = {"model": MODEL, "input": "The invoice has the wrong VAT", "questions": [PREDICATE]}


async def sent(caller: Caller) -> list[dict[str, Any]]:
    return [request["json"] for request in await caller.rig.requests(PATH)]


async def answer(caller: Caller, answers: dict[str, object]) -> None:
    """Scripts the decider's next answers."""
    body = {"model": MODEL, "answers": answers, "usage": {"input_tokens": 9, "output_tokens": 1}}
    step = {"headers": {"content-type": "application/json"}, "steps": [{"bytes": json.dumps(body)}]}
    await caller.rig.script(PATH, step)


async def test_the_sdk_gets_each_kind_of_answer_in_order(caller: Caller) -> None:
    http = DefaultAsyncHttpx2Client(trust_env=False)
    async with AsyncOpenAI(
        base_url=f"{caller.rig.url}/v1", api_key=KEY, max_retries=0, http_client=http, _strict_response_validation=True
    ) as client:
        asked: Any = {**ASK, "questions": [CHOICE, PREDICATE, SCORE]}
        made = checked(await client.decisions.create(**asked))
    answers: list[Any] = list(made.answers)
    choice, predicate, score = answers
    assert [each.type for each in made.answers] == ["choice", "predicate", "score"]
    assert [each.name for each in made.answers] == ["team", "wet", None]
    assert choice.choice == "billing"
    assert [each.value for each in choice.probabilities] == ["billing", "support"]
    assert 0 <= predicate.probability <= 1
    assert [(each.value, each.label) for each in score.probabilities] == [(0, "low"), (1, "high")]
    usage = made.usage
    assert usage.total_tokens == usage.input_tokens + usage.output_tokens > 0
    assert (usage.input_tokens_details.cached_tokens, usage.output_tokens_details.reasoning_tokens) == (0, 0)


async def test_the_upstream_is_asked_in_its_own_words(caller: Caller) -> None:
    reply = await caller.post(PATH, {**ASK, "questions": [PREDICATE, CHOICE, {**SCORE, "name": "urgency"}]})
    assert reply.json()["id"] == reply.headers["x-pplx-upstream-request-id"]
    assert await sent(caller) == [
        {
            "model": MODEL,
            "state": "The invoice has the wrong VAT",
            "questions": {
                "wet": {"type": "noul", "instructions": "Is it wet?"},
                "team": {
                    "type": "choice",
                    "instructions": "Who takes it?",
                    "criteria": {"billing": "invoices, VAT", "support": None},
                },
                "urgency": {
                    "type": "score",
                    "instructions": "How urgent is it?",
                    "criteria": ["low: can wait", "high: today"],
                },
            },
        }
    ]


async def test_names_that_repeat_or_lack_are_numbered_and_come_back(caller: Caller) -> None:
    nameless = {name: value for name, value in PREDICATE.items() if name != "name"}
    reply = await caller.post(PATH, {**ASK, "questions": [PREDICATE, nameless, PREDICATE]})
    assert [each["name"] for each in reply.json()["answers"]] == ["wet", None, "wet"]
    assert [each["type"] for each in reply.json()["answers"]] == ["predicate"] * 3
    (body,) = await sent(caller)
    assert list(body["questions"]) == ["0", "1", "2"]


async def test_booleans_keep_their_type(caller: Caller) -> None:
    await answer(
        caller,
        {"a": {"type": "choice", "choice": "false", "confidence": 0.9, "probabilities": {"false": 0.9, "true": 0.1}}},
    )
    question = {**CHOICE, "name": "a", "choices": [{"value": True}, {"value": False}]}
    (found,) = (await caller.post(PATH, {**ASK, "questions": [question]})).json()["answers"]
    assert found["choice"] is False
    assert found["probabilities"] == [{"value": True, "probability": 0.1}, {"value": False, "probability": 0.9}]


async def test_an_answer_that_lacks_or_does_not_fit_is_a_refusal(caller: Caller) -> None:
    await answer(
        caller,
        {
            "wet": {"type": "noul", "noul": 0.7},
            "team": {"type": "choice", "choice": "sales", "confidence": 1, "probabilities": {"sales": 1}},
        },
    )
    reply = await caller.post(PATH, {**ASK, "questions": [CHOICE, PREDICATE, {**PREDICATE, "name": "cold"}]})
    assert reply.json()["answers"] == [
        {"type": "refusal", "name": "team"},
        {"type": "predicate", "name": "wet", "probability": 0.7},
        {"type": "refusal", "name": "cold"},
    ]


async def test_four_hundred_questions_are_asked_in_several_calls(caller: Caller) -> None:
    questions = [{**PREDICATE, "name": f"q{number}"} for number in range(400)]
    reply = await caller.post(PATH, {**ASK, "questions": questions})
    assert [each["name"] for each in reply.json()["answers"]] == [f"q{number}" for number in range(400)]
    assert [len(body["questions"]) for body in await sent(caller)] == [128, 128, 128, 16]
    assert (
        openai_error(await caller.post(PATH, {**ASK, "questions": questions + questions[:1]}), 400)["param"]
        == "questions"
    )


async def test_a_conversation_with_images_and_calls_is_the_state(caller: Caller) -> None:
    picture = png(8, 8)
    items = [
        {"role": "developer", "content": "Look closely."},
        {
            "role": "user",
            "type": "message",
            "content": [
                {"type": "input_text", "text": "What is it?"},
                {"type": "input_image", "image_url": picture, "detail": "low"},
                {"type": "input_json", "data": {"colour": "black"}},
            ],
        },
        {"role": "assistant", "content": [{"type": "output_text", "text": "Let me see."}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "dark"}]},
    ]
    reply = await caller.post(PATH, {**ASK, "input": items, "prompt_cache_key": "k"})
    assert reply.status_code == 200, reply.text
    assert reply.headers["x-pplx-dropped"] == "prompt_cache_key"
    (body,) = await sent(caller)
    assert body["state"] == [
        {"role": "developer", "content": "Look closely."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is it?"},
                {"type": "image_url", "image_url": {"url": picture}},
                {"colour": "black"},
            ],
        },
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "dark"},
    ]


async def test_an_image_that_a_function_gave_stands_where_the_decider_sees_it(caller: Caller) -> None:
    items: list[dict[str, Any]] = [
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        {
            "type": "function_call_output",
            "call_id": "c1",
            "output": [{"type": "input_text", "text": "dark"}, {"type": "input_image", "image_url": png(64, 64)}],
        },
    ]
    without = [items[0], {**items[1], "output": "dark"}]
    seen = await caller.post(PATH, {**ASK, "input": items})
    unseen = await caller.post(PATH, {**ASK, "input": without})
    more = seen.json()["usage"]["input_tokens"] - unseen.json()["usage"]["input_tokens"]
    assert more == 4 + 100  # tiles of 32 x 32, and 100 for the image


async def test_instructions_in_parts_are_joined(caller: Caller) -> None:
    parts = [{"type": "input_text", "text": "Is it"}, {"type": "input_text", "text": "wet?"}]
    more = [*parts, {"type": "input_json", "data": {"unit": "ml"}}]
    questions = [{**PREDICATE, "instructions": parts}, {**PREDICATE, "name": "b", "instructions": more}]
    assert (await caller.post(PATH, {**ASK, "questions": questions})).status_code == 200
    (body,) = await sent(caller)
    assert [question["instructions"] for question in body["questions"].values()] == [
        "Is it\nwet?",
        ["Is it", "wet?", {"unit": "ml"}],
    ]


def _asked(**fields: object) -> dict[str, object]:
    return {"questions": [PREDICATE, {**CHOICE, **fields}]}


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": " "}, "input"),
        ({"input": []}, "input"),
        ({"input": 7}, "input"),
        ({"input": [{"role": "king", "content": "a"}]}, "input[0].role"),
        ({"input": [{"content": "a"}]}, "input[0].role"),
        ({"input": [{"role": "user"}]}, "input[0].content"),
        ({"input": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "input[0].content[0].type"),
        ({"input": [{"type": "computer_call"}]}, "input[0].type"),
        ({"input": [{"type": "function_call_output", "call_id": "c", "output": "a"}]}, "input[0].call_id"),
        (
            {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "ftp://a"}]}]},
            "input[0].content[0].image_url",
        ),
        ({"questions": []}, "questions"),
        ({"questions": {"a": PREDICATE}}, "questions"),
        ({"questions": [{**PREDICATE, "type": "noul"}]}, "questions[0].type"),
        ({"questions": [{**PREDICATE, "instructions": ""}]}, "questions[0].instructions"),
        ({"questions": [{**PREDICATE, "instructions": []}]}, "questions[0].instructions"),
        (
            {"questions": [{**PREDICATE, "instructions": [{"type": "input_image", "image_url": png(8, 8)}]}]},
            "questions[0].instructions[0]",
        ),
        (_asked(choices=[{"value": "a"}]), "questions[1].choices"),
        (_asked(choices=[{"value": "a"}, {"value": "a"}]), "questions[1].choices"),
        (_asked(choices=[{"value": True}, {"value": "true"}]), "questions[1].choices"),
        (_asked(choices=[{"value": 1}, {"value": 2}]), "questions[1].choices[0].value"),
        ({"questions": [{**SCORE, "levels": [{"label": str(n)} for n in range(11)]}]}, "questions[0].levels"),
        ({"state": "both"}, "state"),
    ],
)
async def test_a_mistake_is_named(caller: Caller, fields: dict[str, object], param: str) -> None:
    assert openai_error(await caller.post(PATH, {**ASK, **fields}), 400)["param"] == param
    assert await caller.rig.requests(PATH) == []


async def test_another_model_is_a_404(caller: Caller) -> None:
    error = openai_error(await caller.post(PATH, {**ASK, "model": "gpt-6-luna"}), 404)
    assert MODEL in error["message"]


async def test_a_body_with_a_state_is_perplexitys_own(caller: Caller) -> None:
    asked = {"model": MODEL, "state": "A river", "questions": {"wet": {"type": "noul", "instructions": "Is it wet?"}}}
    reply = await caller.post(PATH, asked)
    assert set(reply.json()["answers"]["wet"]) == {"type", "noul"}
    assert await sent(caller) == [asked]
    error = openai_error(await caller.post(PATH, {**asked, "questions": {"wet": {"type": "noul"}}}), 400)
    assert error["param"] == "questions.wet"


async def test_neither_input_nor_state_is_a_400(caller: Caller) -> None:
    assert openai_error(await caller.post(PATH, {"model": MODEL, "questions": [PREDICATE]}), 400)["param"] == "input"


async def test_what_it_cost_stands_in_the_ledger(caller: Caller) -> None:
    usage = (await caller.post(PATH, ASK)).json()["usage"]
    (row,) = [row for row in (await caller.get("/admin/requests")).json()["data"] if row["operation"] == "decisions"]
    assert row["input_tokens"] == usage["input_tokens"]
    assert row["cost"] == pytest.approx(usage["input_tokens"] * 0.02 / 1e6)
    assert row["cost_source"] == "computed"
