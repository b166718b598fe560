"""What needs no server: forms with one file, questions and their answers, vectors."""

import math
from collections.abc import Sequence
from itertools import pairwise

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.decisions import ChoiceAnswer, Decided, DecisionAnswer, NoulAnswer, ScoreAnswer
from pplx_gateway.errors import GatewayError, InvalidRequest, RateLimited, TooLarge, UpstreamAuth, UpstreamError
from pplx_gateway.protocols.one_file import FileForm, OneFile
from pplx_gateway.protocols.openai import decision_questions, decisions
from pplx_gateway.protocols.openai.decision_questions import Question
from pplx_gateway.protocols.openai.embeddings import _WRITERS
from pplx_gateway.protocols.perplexity.errors import status_of
from pplx_gateway.receipts import Receipt
from tests.emulator_api.making import form

CONTENT = b"one\r\n--edge\x00two"


def read(content_type: str, parts: Sequence[bytes]) -> OneFile:
    reader = FileForm(content_type, ("purpose",), 1000)
    for part in parts:
        reader.feed(part)
    return reader.close()


def test_a_form_is_the_same_at_every_split() -> None:
    body, headers = form(CONTENT, "in.jsonl", purpose="batch")
    for split in range(len(body) + 1):
        found = read(headers["content-type"], [body[:split], body[split:]])
        assert (found.filename, found.content, found.fields) == ("in.jsonl", CONTENT, {"purpose": "batch"})


@given(st.binary(max_size=300))
def test_any_bytes_are_a_form_or_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read("multipart/form-data; boundary=edge", [body])


def test_a_file_is_bounded_while_it_comes() -> None:
    body, headers = form(bytes(2000))
    with pytest.raises(TooLarge):
        read(headers["content-type"], [body[start:end] for start, end in pairwise(range(0, len(body), 100))])


NAMES = st.none() | st.sampled_from(["a", "b", "0", "1", ""])
VALUES = st.lists(st.booleans() | st.sampled_from(["x", "y", "True", "1"]), min_size=2, max_size=4, unique_by=repr)
QUESTIONS = st.one_of(
    st.builds(lambda name: {"type": "predicate", "name": name, "instructions": "?"}, NAMES),
    st.builds(
        lambda name, values: {
            "type": "choice",
            "name": name,
            "instructions": "?",
            "choices": [{"value": value} for value in values],
        },
        NAMES,
        VALUES,
    ),
    st.builds(
        lambda name, labels: {
            "type": "score",
            "name": name,
            "instructions": "?",
            "levels": [{"label": label} for label in labels],
        },
        NAMES,
        st.lists(st.text(min_size=1, max_size=3), min_size=1, max_size=4),
    ),
)


@given(st.lists(QUESTIONS, min_size=1, max_size=6))
def test_every_question_gets_its_own_answer_back(asked: list[dict[str, object]]) -> None:
    questions = msgspec.convert(asked, list[Question])
    known = decision_questions.asked(questions)
    assert len(known) == len(questions)
    given_answers: dict[str, DecisionAnswer | None] = {}
    for place, (key, question) in enumerate(known.items()):
        criteria = getattr(question.upstream, "criteria", None)
        if isinstance(criteria, dict):
            option = list(criteria)[-1]
            given_answers[key] = ChoiceAnswer(choice=option, confidence=place, probabilities={option: place})
        elif isinstance(criteria, list):
            given_answers[key] = ScoreAnswer(score=place, confidence=1, probabilities={"0": place})
        else:
            given_answers[key] = NoulAnswer(noul=place)
    decided = Decided(model="m", answers=given_answers, body=b"", receipt=Receipt(key_name="k"))
    reply = msgspec.to_builtins(decisions._reply(decided, known))
    for place, (one, answer) in enumerate(zip(asked, reply["answers"], strict=True)):
        assert (answer["type"], answer["name"]) == (one["type"], one["name"])
        assert place in (answer.get("probability"), answer.get("score"), answer.get("confidence"))
        if one["type"] == "choice":
            last = one["choices"][-1]["value"]  # type: ignore[index]
            assert answer["choice"] is last or answer["choice"] == last
            assert type(answer["choice"]) is type(last)


@given(st.binary(min_size=1, max_size=64))
def test_both_ways_to_write_a_vector_say_the_same(vector: bytes) -> None:
    numbers = msgspec.json.decode(_WRITERS["float"](vector))
    packed = msgspec.json.decode(_WRITERS["base64"](vector), type=bytes)
    assert list(memoryview(packed).cast("f")) == pytest.approx(numbers, abs=1e-7)
    assert math.hypot(*numbers) == pytest.approx(1 if any(vector) else 0, abs=1e-6)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UpstreamError("a", upstream_status=500), 500),
        (UpstreamError("a", upstream_status=424), 424),
        (UpstreamError("a", upstream_status=302), 502),
        (UpstreamError("a", upstream_status=200), 502),
        (UpstreamError("a"), 502),
        (UpstreamAuth("a", upstream_status=401), 502),
        (UpstreamAuth("a", upstream_status=403), 502),
        (RateLimited("a"), 429),
        (InvalidRequest("a"), 400),
    ],
)
def test_a_status_is_the_upstreams_where_it_was_the_upstream_that_failed(error: GatewayError, status: int) -> None:
    assert status_of(error) == status
