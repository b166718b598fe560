from pplx_gateway.answer import SearchStep
from pplx_gateway.protocols.steps import ReasoningText
from tests.openai.fakes import LEIE, SCHELDT


def test_a_step_tells_its_text_its_queries_and_its_pages_line_by_line() -> None:
    step = SearchStep(kind="plan", text=" Find the rivers ", queries=("leie", "scheldt"), urls=("https://a.example",))
    text = ReasoningText(show_steps=True).step(step)
    assert text == "Find the rivers\nSearching: leie\nSearching: scheldt\nReading: https://a.example\n"


def test_an_empty_step_tells_nothing() -> None:
    assert ReasoningText(show_steps=True).step(SearchStep(kind="think", text="  ")) == ""


def test_steps_begin_on_a_fresh_line_and_thoughts_pass_as_they_are() -> None:
    writer = ReasoningText(show_steps=True)
    step = SearchStep(kind="search", queries=("q",))
    parts = [writer.thought("Hm"), writer.step(step), writer.thought("Ah\n"), writer.step(step), writer.thought("")]
    assert "".join(parts) == "Hm\nSearching: q\nAh\nSearching: q\n"


def test_sources_wait_for_what_comes_next_and_are_told_once() -> None:
    writer = ReasoningText(show_steps=True)
    writer.found((LEIE,))
    writer.found((LEIE, SCHELDT))
    assert writer.thought("So.") == f"Found: Leie ({LEIE.url})\nFound: Scheldt ({SCHELDT.url})\nSo."
    assert writer.text_begins() == ""


def test_sources_are_not_told_once_the_text_began() -> None:
    writer = ReasoningText(show_steps=True)
    assert writer.text_begins() == ""
    writer.found((LEIE,))
    assert writer.thought("So.") == "So."


def test_hidden_steps_leave_the_thoughts() -> None:
    writer = ReasoningText(show_steps=False)
    writer.found((LEIE,))
    parts = [writer.step(SearchStep(kind="search", queries=("q",))), writer.thought("Hm"), writer.text_begins()]
    assert "".join(parts) == "Hm"
