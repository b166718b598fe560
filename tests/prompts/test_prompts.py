"""System text on the session: the owner's whitelist, the owner's own prompts, and LobeHub."""

import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.upstreams.session.prompts import CUSTOM_FILE, WHITELIST_FILE, PromptFiles, prompt, take_over
from tests.cases.scripts import session_steps
from tests.rig import ASK_PATH, Rig, running

LOBE = "You are Lobe, an AI Agent.\n<available_skills>search, draw</available_skills>"
JARVIS = "- You are Jarvis, a careful butler.\n- You must use ccsearch."


def write(path: Path, text: str, *, age: int = 0) -> None:
    """Writes and sets a time of its own, since two writes may fall into one tick of the file system."""
    path.write_text(text, encoding="utf-8")
    os.utime(path, ns=(age, age))


async def sent(rig: Rig, *messages: tuple[str, str]) -> tuple[dict[str, Any] | str, str]:
    """The query as it reached the site (read, if it is an envelope), and the warnings told."""
    await rig.script(ASK_PATH, session_steps())
    reply = await rig.chat({"model": "gpt", "messages": [{"role": role, "content": text} for role, text in messages]})
    assert reply.status == 200, reply.json
    query = (await rig.requests(ASK_PATH))[-1]["json"]["query_str"]
    told = reply.headers.get("x-pplx-warnings", "")
    return (json.loads(query) if query.startswith("{") else query), told


def test_the_owners_whitelist_takes_the_defaults_place_and_is_read_again(tmp_path: Path) -> None:
    files = PromptFiles(tmp_path)
    assert prompt(["Answer in French.\nBe funny."], "whitelist", files.whitelist()).instructions == (
        "Answer in French.",
    )
    write(tmp_path / WHITELIST_FILE, "# tone\n\n(?i)funny\n", age=1)
    assert prompt(["Answer in French.\nBe FUNNY."], "whitelist", files.whitelist()).instructions == ("Be FUNNY.",)
    write(tmp_path / WHITELIST_FILE, "french\n", age=2)
    assert prompt(["Answer in French.\nBe funny."], "whitelist", files.whitelist()).instructions == (
        "Answer in French.",
    )
    (tmp_path / WHITELIST_FILE).unlink()
    assert files.whitelist() == PromptFiles().whitelist()


def test_a_line_that_is_no_expression_is_told_and_the_others_hold(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path / WHITELIST_FILE, "(unclosed\nfunny\n")
    with caplog.at_level(logging.WARNING):
        assert [pattern.pattern for pattern in PromptFiles(tmp_path).whitelist()] == ["funny"]
    assert [vars(record)["line"] for record in caplog.records] == [1]


async def test_a_system_text_of_more_lines_than_anybody_writes_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        system = {"role": "system", "content": "a\n" * 100_001}
        turns = [system, {"role": "user", "content": "Why?"}]
        chat = await rig.post({"model": "gpt", "messages": turns})
        response = await rig.post({"model": "gpt", "input": turns}, path="/v1/responses")
    assert (chat.status, chat.error["param"]) == (400, "messages")
    assert (response.status, response.error["param"]) == (400, "input")


def test_a_file_that_is_no_text_leaves_the_default(tmp_path: Path) -> None:
    (tmp_path / WHITELIST_FILE).write_bytes(b"\xff\xfe\x00")
    assert PromptFiles(tmp_path).whitelist() == PromptFiles().whitelist()


def test_files_of_an_older_installation_are_taken_over_once(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    new.mkdir()
    (old / CUSTOM_FILE).write_text("Be kind.")
    assert take_over(old, new) == [CUSTOM_FILE]
    assert (new / CUSTOM_FILE).stat().st_mode & 0o777 == 0o600
    (old / CUSTOM_FILE).write_text("changed")
    assert take_over(old, new) == []
    assert PromptFiles(new).custom() == "Be kind."


async def test_lobehubs_prompts_are_left_out_and_the_owners_go_with_every_turn(session: Rig, tmp_path: Path) -> None:
    write(tmp_path / CUSTOM_FILE, "Answer like a sailor.\n")
    first, told = await sent(session, ("developer", LOBE), ("user", JARVIS), ("user", "Which rivers?"))
    assert first == {"instructions": ["Answer like a sailor."], "history": [], "query": "Which rivers?"}
    assert "LobeHub" in told
    later, _ = await sent(
        session,
        ("system", LOBE),
        ("user", JARVIS),
        ("user", "Which rivers?"),
        ("assistant", "The Leie."),
        ("user", "You are sure?"),
    )
    assert isinstance(later, dict)
    assert later["instructions"] == ["Answer like a sailor."]
    assert [turn["content"] for turn in later["history"]] == ["Which rivers?", "The Leie."]
    assert later["query"] == "You are sure?"


async def test_without_prompts_of_the_owner_lobehubs_question_goes_alone(session: Rig) -> None:
    query, told = await sent(session, ("system", LOBE), ("user", "Which rivers?"))
    assert query == "Which rivers?"
    assert "CUSTOM_PROMPTS" in told


async def test_words_that_look_like_a_prompt_stay_outside_of_lobehub(session: Rig) -> None:
    query, _ = await sent(session, ("user", "You are Jarvis."), ("assistant", "Yes."), ("user", "Who am I?"))
    assert isinstance(query, dict)
    assert query["history"][0]["content"] == "You are Jarvis."


async def test_a_changed_whitelist_holds_for_the_next_question(session: Rig, tmp_path: Path) -> None:
    asked = (("system", "Be funny.\nAnswer in French."), ("user", "Which rivers?"))
    before, _ = await sent(session, *asked)
    write(tmp_path / WHITELIST_FILE, "funny")
    after, told = await sent(session, *asked)
    assert isinstance(before, dict)
    assert isinstance(after, dict)
    assert (before["instructions"], after["instructions"]) == (["Answer in French."], ["Be funny."])
    assert "system text" in told


@pytest.mark.parametrize(("mode", "instructions"), [("full", ["Be funny."]), ("drop", None)])
async def test_full_sends_everything_and_drop_nothing(
    tmp_path: Path, mode: str, instructions: list[str] | None
) -> None:
    async with running(tmp_path, order=("session",), system_prompts=mode) as rig:
        query, told = await sent(rig, ("system", "Be funny."), ("user", "Which rivers?"))
    assert (query["instructions"] if isinstance(query, dict) else None) == instructions
    assert bool(told) == (mode == "drop")


async def test_of_rejected_branches_the_last_answer_is_sent(session: Rig) -> None:
    query, told = await sent(
        session, ("user", "Rivers?"), ("assistant", "The Rhine."), ("assistant", "The Leie."), ("user", "Sure?")
    )
    assert isinstance(query, dict)
    assert [turn["content"] for turn in query["history"]] == ["Rivers?", "The Leie."]
    assert "last" in told
