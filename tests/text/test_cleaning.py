import pytest
from hypothesis import assume, given

from pplx_gateway.upstreams.session.cleaning import LIMIT, Cleaner
from tests.text.pieces import cut, every_cut, words


def clean(*pieces: str) -> str:
    cleaner = Cleaner()
    return "".join(cleaner.feed(piece) for piece in pieces) + cleaner.close()


CASES = [
    ("plain text", "plain text"),
    (
        'The Leie<grok:render card_id="c1" type="x">\n<argument name="n">3</argument></grok:render> flows.',
        "The Leie flows.",
    ),
    ("a<grok:x/>b", "ab"),
    ('a<grok:x id="1" />b', "ab"),
    ("a<grok:x></grok:x>b<grok:y>1</grok:y>c", "abc"),
    ("a<grok:x>1</grok:y>2</grok:x>b", "ab"),
    ("a<grok:x>1<grok:y/></grok:x>b", "ab"),
    ("<GROK:X>1</Grok:x >b", "b"),
    ('<?xml version="1.0" encoding="UTF-8"?>\n<response>Answer</response>', "\nAnswer"),
    ("<response >a</response >", "a"),
    ("a<script>alert(1 < 2)</script>b", "ab"),
    ('a<SCRIPT src="x">1</script\n>b', "ab"),
    ("1 < 2 and <b>bold</b>", "1 < 2 and <b>bold</b>"),
    ("<scripture>a</scripture>", "<scripture>a</scripture>"),
    ("<responses>a</responses>", "<responses>a</responses>"),
    ("<response kind='x'>", "<response kind='x'>"),
    ("<grok>a</grok>", "<grok>a</grok>"),
    ("<grok:>a", "<grok:>a"),
    ("<xml?>", "<xml?>"),
    ("ends with <", "ends with <"),
    ("ends with <gro", "ends with <gro"),
    ("ends with <grok:x", "ends with <grok:x"),
    ("<grok:x>never closed, and <grok:y/>more", "<grok:x>never closed, and more"),
    ("<<grok:x/><script", "<<script"),
    ("inline `<grok:x/>` code", "inline `<grok:x/>` code"),
    ("``<script>``<script>1</script>", "``<script>``"),
    ("```html\n<script>a</script>\n```\n<script>b</script>c", "```html\n<script>a</script>\n```\nc"),
    ("```\n<response>", "```\n<response>"),
    ("an open ` and <grok:x/>text", "an open ` and text"),
    ("<script>a = `b`</script> and `c`", " and `c`"),
    ("indent\n    kept <response>  \n\n", "indent\n    kept   \n\n"),
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_artefacts_go_and_everything_else_stays(text: str, expected: str) -> None:
    assert clean(text) == expected


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_every_cut_gives_the_same_text(text: str, expected: str) -> None:
    for pieces in every_cut(text):
        assert clean(*pieces) == expected


ANSWERS = words(
    *(
        "<grok:x",
        "<grok:x>",
        "</grok:x>",
        "<grok:y a='1'/>",
        "<?xml ",
        "?>",
        "<response>",
        "</response>",
        "<script>",
        "<script",
    ),
    *("</script>", "<", ">", "/>", "<gro", "a", " ", "\n", "\n\n", "`", "``", "```\n", "~~~\n", "é", "🚲"),
)


@given(cut(ANSWERS))
def test_the_sum_of_cleaned_deltas_is_the_cleaned_whole(case: tuple[str, list[str]]) -> None:
    whole, pieces = case
    assert clean(*pieces) == clean(whole) == clean(*whole)


@given(words("<grok:x>1</grok:x>", "<grok:x/>", "<script>2</script>", "<response>", "text ", "`<grok:x/>`", "\n"))
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(ANSWERS)
def test_text_in_a_fence_is_never_touched(text: str) -> None:
    assume("```" not in text)
    assert clean("```\n" + text) == "```\n" + text


def test_text_without_a_tag_passes_at_once() -> None:
    cleaner = Cleaner()
    for piece in ("Hello ", "`open", " 1 > 2\n", "```\n"):
        assert cleaner.feed(piece) == piece
    assert cleaner.close() == ""


def test_what_may_begin_an_artefact_is_held_back() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("The Leie<gro") == "The Leie"
    assert cleaner.feed("k:render>") == ""
    assert cleaner.feed("3</grok:render> flows") == " flows"


def test_what_turns_out_to_be_text_is_let_go_at_once() -> None:
    cleaner = Cleaner()
    assert cleaner.feed("a <") == "a "
    assert cleaner.feed("= b") == "<= b"


def test_an_element_that_does_not_end_is_let_through_at_the_limit() -> None:
    cleaner = Cleaner()
    text = "<grok:x>" + "y" * LIMIT
    assert "".join(map(cleaner.feed, text)) + cleaner.feed("z") == text + "z"


@pytest.mark.parametrize("over", [0, 1])
def test_the_cut_does_not_matter_at_the_limit(over: int) -> None:
    element = "<grok:x>" + "y" * (LIMIT + over - len("<grok:x></grok:x>")) + "</grok:x>"
    expected = "ab" if over == 0 else f"a{element}b"
    text = f"a{element}b"
    assert clean(text) == expected
    for place in range(LIMIT - 3, len(text)):
        assert clean(text[:place], text[place:]) == expected
