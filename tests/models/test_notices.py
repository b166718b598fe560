from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.answer import Annotation, Batch, Citations, Finished, Source, TextDelta
from pplx_gateway.notices import cleaned, with_notices, without_notices
from pplx_gateway.question import FunctionTool, JsonObjectFormat, Message, Question, TextPart
from tests.models.helping import asked, asking, bodies, health_shows, session
from tests.rig import ASK_PATH

TURN = Message("user", (TextPart("Why?"),))
QUESTION = Question(model="gpt", turns=(TURN,))


def ending(text: str = "It is so.", question: Question = QUESTION, **facts: object) -> str:
    """The text with whatever was appended to it."""
    finished = Finished(reason="stop", **facts)  # type: ignore[arg-type]
    batch = with_notices([TextDelta(text), finished], question, text)
    assert batch[-1] is finished
    return "".join(event.text for event in batch if isinstance(event, TextDelta))


@pytest.mark.parametrize("left", [0, 1, 4, 5, 10, 195])
def test_a_notice_stands_in_its_own_paragraph(left: int) -> None:
    assert ending(remaining_pro=left, took_pro=True) == f"It is so.\n\n[Remaining Pro Search: {left}]"


@pytest.mark.parametrize("left", [6, 7, 9, 11, 199])
def test_other_counts_have_no_notice(left: int) -> None:
    assert ending(remaining_pro=left, took_pro=True) == "It is so."


def test_an_answer_that_took_nothing_has_no_notice() -> None:
    assert ending(remaining_pro=5) == "It is so."


def test_a_count_that_is_not_known_has_no_notice() -> None:
    assert ending(took_pro=True) == "It is so."


def test_a_substitution_is_told_before_the_count() -> None:
    told = ending(substituted_by="grok45low", remaining_pro=5, took_pro=True)
    assert told == "It is so.\n\n[Substituted by Perplexity with grok45low]\n\n[Remaining Pro Search: 5]"


def test_a_name_cannot_break_out_of_its_notice() -> None:
    assert ending(substituted_by="x]\n[y](z)").endswith("[Substituted by Perplexity with x y (z)]")


@pytest.mark.parametrize(
    "question",
    [
        Question(model="gpt", turns=(TURN,), format=JsonObjectFormat()),
        Question(model="gpt", turns=(TURN,), functions=(FunctionTool(name="f"),)),
    ],
)
def test_structured_answers_have_no_notice(question: Question) -> None:
    assert ending('{"a": 1}', question, remaining_pro=5, took_pro=True) == '{"a": 1}'


def test_a_notice_never_lands_in_code_that_was_left_open() -> None:
    assert ending("See:\n\n```python\nx = 1", remaining_pro=5, took_pro=True) == "See:\n\n```python\nx = 1"
    assert ending("```\nx\n```", remaining_pro=5, took_pro=True).endswith("```\n\n[Remaining Pro Search: 5]")


def test_a_notice_comes_before_the_citations() -> None:
    found = Citations((Annotation(start=0, end=2, source=Source(id=1, url="https://a.example")),))
    batch: Batch = [found, Finished(reason="stop", remaining_pro=5, took_pro=True)]
    kinds = [type(event) for event in with_notices(batch, QUESTION, "It is so.")]
    assert kinds == [TextDelta, Citations, Finished]


@given(st.text(alphabet="ab \n`[]", max_size=40), st.integers(0, 5), st.booleans())
def test_cleaning_gives_back_what_was_there_before_the_notice(text: str, left: int, substituted: bool) -> None:
    told = ending(text, remaining_pro=left, took_pro=True, substituted_by="grok45low" if substituted else None)
    assert cleaned(told) == text


@pytest.mark.parametrize(
    "text",
    [
        "`[Remaining Pro Search: 5]`",
        "```\n[Remaining Pro Search: 5]\n```",
        "Perplexity writes [Remaining Pro Search: 5] below answers.",
        "[Remaining Pro Search: many]",
    ],
)
def test_what_is_no_notice_of_ours_stays(text: str) -> None:
    assert cleaned(text) == text


def test_only_the_assistants_turns_are_cleaned() -> None:
    noticed = "So.\n\n[Remaining Pro Search: 5]"
    turns = (Message("user", (TextPart(noticed),)), Message("assistant", (TextPart(noticed),)), TURN)
    question = without_notices(Question(model="gpt", turns=turns))
    assert [turn.text for turn in question.turns if isinstance(turn, Message)] == [noticed, "So.", "Why?"]


# the running program


async def test_a_caller_sees_the_count_in_text_field_and_header(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left6-n") as rig:
        await health_shows(rig, remaining_pro=6)
        plain = await rig.chat(asking("How high is the Zugspitze?"))
        assert plain.content.endswith("\n\n[Remaining Pro Search: 5]")
        assert plain.json["pplx"]["remaining_pro"] == 5
        assert plain.headers["x-pplx-remaining-pro"] == "5"
        streamed = await rig.stream(asking("How long is the Danube river?"))
        assert streamed.content.endswith("\n\n[Remaining Pro Search: 4]")
        assert streamed.finish["pplx"]["remaining_pro"] == 4
        assert streamed.headers["x-pplx-remaining-pro"] == "5"


async def test_annotations_still_point_at_their_places(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left3-n", citation_marks="keep") as rig:
        await health_shows(rig, remaining_pro=3)
        reply = await rig.chat(asking("How high is the Zugspitze?"))
        message = reply.json["choices"][0]["message"]
        assert message["content"].endswith("[Remaining Pro Search: 2]")
        places = [found["url_citation"] for found in message["annotations"]]
        assert places
        for place in places:
            mark = message["content"][place["start_index"] : place["end_index"]]
            assert mark.startswith("[")
            assert mark.strip("[]").isdigit()


async def test_a_substitution_is_told_and_notices_can_be_turned_off(tmp_path: Path) -> None:
    async with session(tmp_path / "on") as rig:
        reply = await rig.chat(asking("fault:substituted How high is the Zugspitze?"))
        assert reply.content.endswith("\n\n[Substituted by Perplexity with grok45low]")
        assert reply.json["pplx"]["substituted_by"] == "grok45low"
    async with session(tmp_path / "off", "pro-left3-n", notices=False) as rig:
        await health_shows(rig, remaining_pro=3)
        reply = await rig.chat(asking("fault:substituted How high is the Zugspitze?"))
        assert "[Remaining" not in reply.content
        assert "[Substituted" not in reply.content
        assert reply.json["pplx"]["substituted_by"] == "grok45low"
        assert reply.json["pplx"]["remaining_pro"] == 2


async def test_a_noticed_answer_continues_its_thread(tmp_path: Path) -> None:
    async with session(tmp_path, "pro-left4-n") as rig:
        await health_shows(rig, remaining_pro=4)
        first = asking("How high is the Zugspitze?")
        reply = await rig.chat(first)
        assert "[Remaining Pro Search: 3]" in reply.content
        turns = [
            {"role": "user", "content": "How high is the Zugspitze?"},
            {"role": "assistant", "content": reply.content},
            {"role": "user", "content": "And in feet?"},
        ]
        assert (await rig.chat({"model": "gpt", "messages": turns})).status == 200
        follow_up = (await bodies(rig, ASK_PATH))[-1]
        assert follow_up["params"]["query_source"] == "followup"
        assert follow_up["query_str"] == "And in feet?"
        await rig.chat({"model": "grok", "messages": turns})
        whole = (await bodies(rig, ASK_PATH))[-1]
        assert "How high is the Zugspitze?" in whole["query_str"]
        assert "Remaining Pro Search" not in whole["query_str"]
        assert await asked(rig) == ["gpt56_terra", "gpt56_terra", "grok46low"]
