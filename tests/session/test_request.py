"""What is sent to the site (docs/wire-session.md 1)."""

import json
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import msgspec
import pytest

from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import (
    TURNS,
    FilePart,
    FunctionCall,
    FunctionResult,
    ImagePart,
    Location,
    Message,
    Question,
    Search,
    TextPart,
    Turn,
)
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.prompts import prompt
from pplx_gateway.upstreams.session.request import QUERY_LIMIT_CHARACTERS, Ask, compose
from pplx_gateway.upstreams.session.threads import Handle
from pplx_gateway.upstreams.session.transcript import Transcript, transcript
from pplx_gateway.upstreams.session.transcript import Turn as Spoken

FULL = SessionOptions(system_prompts="full")
UUID_1, UUID_2 = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"


def model(name: str = "gpt") -> Model:
    found = Catalogue.built_in().find("session", name)
    assert found is not None
    return found


def message(role: Any, *texts: str) -> Message:
    return Message(role, tuple(TextPart(text) for text in texts))


def user(*texts: str) -> Message:
    return message("user", *texts)


def assistant(*texts: str) -> Message:
    return message("assistant", *texts)


def system(*texts: str) -> Message:
    return message("system", *texts)


def question(*turns: Turn, **more: Any) -> Question:
    return Question(model="gpt", turns=turns or (user("How tall is the Zugspitze?"),), **more)


def ask(asked: Question, name: str = "gpt", options: SessionOptions | None = None, handle: Handle | None = None) -> Ask:
    numbers = count(1)
    return compose(
        asked, model(name), options or SessionOptions(), new_uuid=lambda: UUID(int=next(numbers)), handle=handle
    )


def body(asked: Question, name: str = "gpt", **more: Any) -> dict[str, Any]:
    sent: dict[str, Any] = json.loads(ask(asked, name, **more).body)
    return sent


def params(asked: Question, name: str = "gpt", **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = body(asked, name, **more)["params"]
    return found


def query(asked: Question, options: SessionOptions = FULL) -> Any:
    text = body(asked, options=options)["query_str"]
    return json.loads(text) if text.startswith("{") else text


def test_the_whole_body_of_a_lone_question() -> None:
    assert body(question()) == {
        "query_str": "How tall is the Zugspitze?",
        "params": {
            "version": "2.18",
            "source": "default",
            "mode": "copilot",
            "model_preference": "gpt56_terra",
            "search_focus": "internet",
            "sources": ["web"],
            "search_recency_filter": None,
            "skip_search_enabled": False,
            "language": "en-US",
            "timezone": "Etc/UTC",
            "is_incognito": True,
            "frontend_uuid": UUID_1,
            "frontend_context_uuid": UUID_2,
            "last_backend_uuid": None,
            "read_write_token": None,
            "query_source": "home",
            "prompt_source": "user",
            "attachments": [],
            "use_schematized_api": True,
            "send_back_text_in_streaming_api": False,
            "supported_block_use_cases": ["answer_modes", "preserve_latex"],
            "is_related_query": False,
            "is_sponsored": False,
            "is_nav_suggestions_disabled": False,
            "client_coordinates": None,
            "mentions": [],
        },
    }


@pytest.mark.parametrize(
    ("name", "effort", "mode", "preference"),
    [
        ("auto", None, "concise", "pplx_pro"),
        ("gpt", None, "copilot", "gpt56_terra"),
        ("gpt", "none", "copilot", "gpt56_terra"),
        ("gpt", "minimal", "copilot", "gpt56_terra_thinking"),
        ("sonnet", "high", "copilot", "claude50sonnetthinking"),
        ("grok", "low", "copilot", "grok46medium"),
        ("nemotron", "high", "copilot", "nv_nemotron_3_ultra"),
        ("deep-research", None, "copilot", "pplx_alpha"),
    ],
)
def test_model_and_effort_choose_the_preference(name: str, effort: Any, mode: str, preference: str) -> None:
    sent = params(question(effort=effort), name)
    assert (sent["mode"], sent["model_preference"]) == (mode, preference)


@pytest.mark.parametrize(
    ("search", "sent"),
    [
        (Search(sources=("academic",)), {"search_focus": "internet", "sources": ["scholar"]}),
        (Search(sources=("web", "social", "finance")), {"sources": ["web", "social", "edgar", "finance"]}),
        (Search(enabled=True), {"search_focus": "internet", "sources": ["web"], "skip_search_enabled": False}),
        (
            Search(enabled=False, sources=("web",), recency="day"),
            {"search_focus": "writing", "sources": [], "search_recency_filter": None, "skip_search_enabled": True},
        ),
        (Search(recency="hour"), {"search_recency_filter": "hour"}),
        (Search(recency="day"), {"search_recency_filter": "DAY"}),
        (Search(recency="week"), {"search_recency_filter": "WEEK"}),
        (Search(recency="month"), {"search_recency_filter": "MONTH"}),
        (Search(recency="year"), {"search_recency_filter": "YEAR"}),
        (Search(language="nl-BE"), {"language": "nl-BE"}),
        (
            Search(location=Location(latitude=51.05, longitude=3.72, city="Ghent", country="BE")),
            {"client_coordinates": {"location_lat": 51.05, "location_lng": 3.72, "name": "Ghent, BE"}},
        ),
        (Search(images=True), {"supported_block_use_cases": ["answer_modes", "preserve_latex", "media_items"]}),
        (
            Search(related_questions=True),
            {"supported_block_use_cases": ["answer_modes", "preserve_latex", "pending_followups"]},
        ),
    ],
)
def test_search_options_are_passed_on(search: Search, sent: dict[str, Any]) -> None:
    found = params(question(search=search))
    assert {key: found[key] for key in sent} == sent


def test_a_place_without_coordinates_is_left_out_and_told() -> None:
    sent = ask(question(search=Search(location=Location(country="BE"))))
    assert json.loads(sent.body)["params"]["client_coordinates"] is None
    assert "latitude" in sent.warnings[0].sentence


def test_settings_reach_the_body() -> None:
    options = SessionOptions(api_version="2.19", language="de-DE", incognito=False)
    sent = params(question(), options=options)
    assert (sent["version"], sent["language"], sent["is_incognito"]) == ("2.19", "de-DE", False)


def test_every_request_has_ids_of_its_own() -> None:
    first = compose(question(), model(), FULL, new_uuid=uuid4, handle=None)
    second = compose(question(), model(), FULL, new_uuid=uuid4, handle=None)
    assert first.id != second.id
    assert json.loads(first.body)["params"]["frontend_uuid"] == first.id


def test_a_followup_names_the_turn_before_and_sends_the_last_turn_alone() -> None:
    handle = Handle(backend_uuid="b-1", model="gpt", read_write_token="rw-1", context_uuid="c-1")
    sent = body(question(user("One?"), assistant("One."), user("Two?")), handle=handle)
    assert sent["query_str"] == "Two?"
    found = sent["params"]
    assert found["last_backend_uuid"] == "b-1"
    assert found["read_write_token"] == "rw-1"
    assert found["query_source"] == "followup"
    assert found["followup_source"] == "link"
    assert "frontend_context_uuid" not in found


# turns


def test_a_conversation_is_an_envelope() -> None:
    asked = question(system("Be brief."), user("Hi ", "there"), assistant("Hello."), user("Go on"))
    assert query(asked) == {
        "instructions": ["Be brief."],
        "history": [{"role": "user", "content": "Hi there"}, {"role": "assistant", "content": "Hello."}],
        "query": "Go on",
    }


def test_neighbouring_user_turns_are_joined_and_an_assistant_may_begin() -> None:
    asked = question(assistant("Hello, how can I help?"), user("I moved to Lyon."), user("Best parks?"))
    assert query(asked) == {
        "instructions": [],
        "history": [{"role": "assistant", "content": "Hello, how can I help?"}],
        "query": "I moved to Lyon.\n\nBest parks?",
    }


def test_of_neighbouring_assistant_turns_the_last_holds() -> None:
    asked = question(user("One?"), assistant("First try."), assistant("Second try."), user("Two?"))
    assert query(asked)["history"][1:] == [{"role": "assistant", "content": "Second try."}]


def test_empty_turns_leave_no_trace() -> None:
    asked = question(user("One?"), assistant(""), user("Two?"))
    assert query(asked) == "One?\n\nTwo?"


def test_a_late_system_turn_is_hoisted() -> None:
    assert query(question(user("One?"), system("Be brief."))) == {
        "instructions": ["Be brief."],
        "history": [],
        "query": "One?",
    }


@pytest.mark.parametrize("mode", ["full", "whitelist", "drop"])
def test_a_system_text_alone_is_the_question(mode: Any) -> None:
    sent = ask(question(system("Give a title")), options=SessionOptions(system_prompts=mode))
    assert json.loads(sent.body)["query_str"] == "Give a title"
    assert sent.warnings == ()


def test_closing_system_turns_after_an_answer_are_the_question() -> None:
    asked = question(system("Be brief."), user("One?"), assistant("One."), system("Give a"), system("title"))
    assert transcript(asked) == Transcript(
        ("Be brief.",), (Spoken("user", "One?"), Spoken("assistant", "One."), Spoken("user", "Give a\n\ntitle"))
    )


@pytest.mark.parametrize(
    "turns",
    [
        (user("One?"), assistant("One.")),
        (assistant("One."),),
        (user(""),),
        (user("  \n"),),
        (system("  "),),
        (user("One?"), assistant("One."), user("")),
        (FunctionCall("c", "f", "{}"), FunctionResult("c", "1")),
        (user("One?"), FunctionResult("c", "1")),
        (Message("user", (TextPart("What is it?"), ImagePart("https://a.example/x.png"))),),
        (Message("user", (FilePart(url="https://a.example/x.pdf"),)),),
    ],
)
def test_what_cannot_be_asked_is_refused_by_name(turns: tuple[Turn, ...]) -> None:
    with pytest.raises(InvalidRequest) as raised:
        ask(question(*turns))
    assert raised.value.param == TURNS
    assert raised.value.status == 400


# length


def test_exactly_the_limit_passes_and_one_more_is_refused_with_the_count() -> None:
    assert ask(question(user("é" * QUERY_LIMIT_CHARACTERS))).query_characters == 96_000
    with pytest.raises(InvalidRequest, match="96001 characters") as raised:
        ask(question(user("é" * QUERY_LIMIT_CHARACTERS + "x")))
    assert raised.value.param == TURNS


def test_code_points_are_counted_not_bytes_or_units() -> None:
    assert ask(question(user("🚲" * QUERY_LIMIT_CHARACTERS))).query_characters == 96_000


def test_the_envelope_counts_too() -> None:
    empty = ask(question(user("a"), assistant("b"), user("c"))).query_characters
    room = QUERY_LIMIT_CHARACTERS - empty
    assert ask(question(user("a" + "x" * room), assistant("b"), user("c"))).query_characters == 96_000
    with pytest.raises(InvalidRequest, match="96001"):
        ask(question(user("a" + "x" * (room + 1)), assistant("b"), user("c")))
    quote = 'a"' + "x" * (room - 1)  # the escaped quotation mark takes two
    with pytest.raises(InvalidRequest, match="96001"):
        ask(question(user(quote), assistant("b"), user("c")))


def test_nothing_is_cut_at_the_limit() -> None:
    text = "x" * (QUERY_LIMIT_CHARACTERS - 1) + "!"
    assert body(question(user(text)))["query_str"] == text


def test_a_followup_counts_only_what_it_sends() -> None:
    handle = Handle(backend_uuid="b-1", model="gpt")
    asked = question(user("x" * 90_000), assistant("y" * 90_000), user("Two?"))
    assert ask(asked, handle=handle).query_characters == 4
    with pytest.raises(InvalidRequest):
        ask(asked)


# system text

SYSTEM = "You are Ada, a helpful assistant.\nAlways answer in Dutch.\nUse Markdown tables.\nWrite formulas in LaTeX."


def test_by_default_only_lines_that_shape_the_answer_pass() -> None:
    sent = ask(question(system(SYSTEM), user("One?")))
    assert json.loads(json.loads(sent.body)["query_str"])["instructions"] == [
        "Always answer in Dutch.\nUse Markdown tables.\nWrite formulas in LaTeX."
    ]
    (warned,) = sent.warnings
    assert warned.left_out == "system"
    assert warned.sentence == (
        "1 of 4 lines of the system text were left out, because Perplexity searches the web for them "
        "(PPLX_SYSTEM_PROMPTS=whitelist; full sends everything)."
    )


@pytest.mark.parametrize(
    ("line", "passes"),
    [
        ("Respond in the user's language.", True),
        ("You must always reply, whatever happens, in fluent Brazilian Portuguese", True),
        ("Use English.", True),
        ("請用繁體中文回答", True),
        ("Format: bulleted list", True),
        ("Write code blocks with a language tag", True),
        ("Put formulas between $$", True),
        ("You are an assistant called Ada.", False),
        ("Never mention the company's rivals.", False),
        ("Today is 3 May 2026.", False),
    ],
)
def test_the_whitelist_line_by_line(line: str, passes: bool) -> None:
    found = prompt([f"You are Ada.\n{line}"], "whitelist")
    assert found.instructions == ((line,) if passes else ())


def test_a_system_text_of_which_nothing_passes_leaves_a_plain_question() -> None:
    sent = ask(question(system("You are Ada."), user("One?")))
    assert json.loads(sent.body)["query_str"] == "One?"
    assert "1 of 1 lines" in sent.warnings[0].sentence


def test_full_sends_the_system_text_and_drop_leaves_it_out() -> None:
    assert query(question(system(SYSTEM), user("One?")), FULL)["instructions"] == [SYSTEM]
    sent = ask(question(system(SYSTEM), user("One?")), options=SessionOptions(system_prompts="drop"))
    assert json.loads(sent.body)["query_str"] == "One?"
    assert "left out" in sent.warnings[0].sentence


def test_a_warning_does_not_repeat_the_text() -> None:
    sent = ask(question(system("Secret plan of Ada."), user("One?")))
    assert "Ada" not in " ".join(warned.sentence for warned in sent.warnings)


def test_representations_show_neither_question_nor_token() -> None:
    sent = ask(question(), handle=Handle(backend_uuid="b", model="gpt", read_write_token="rw-SECRET"))
    assert "Zugspitze" not in repr(sent)
    assert "SECRET" not in repr(sent)
    assert "SECRET" not in repr(Handle(backend_uuid="b", model="gpt", read_write_token="rw-SECRET"))


def test_a_model_of_the_api_is_a_mistake_of_ours() -> None:
    api = Catalogue.built_in().find("api", "sonar")
    assert api is not None
    with pytest.raises(ValueError, match="not a model of the session"):
        compose(question(), msgspec.structs.replace(api), FULL, new_uuid=lambda: UUID(int=1), handle=None)
