import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from pplx_gateway.answer import Source
from pplx_gateway.citations import (
    CitationFilter,
    Marks,
    annotations,
    citation_urls,
    escaped_url,
    source_list,
)
from tests.text.pieces import cut, every_cut, words

LEIE = Source(id=1, url="https://a.example/leie", title="Leie")
SCHELDT = Source(id=2, url="https://b.example/scheldt", title="Scheldt")
BOTH = {1: LEIE, 2: SCHELDT}


def sources(*ids: int) -> dict[int, Source]:
    return {number: Source(id=number, url=f"https://s{number}.example/") for number in ids}


def send(
    marks: Marks, known: dict[int, Source], *pieces: str, expect: bool = True
) -> tuple[str, list[tuple[int, int, int]]]:
    """The text as sent and its annotations as (start, end, id)."""
    cites = CitationFilter(marks, known, expect_sources=expect)
    text = "".join(map(cites.feed, pieces)) + cites.close()
    return text, [(note.start, note.end, note.source.id) for note in cites.annotations()]


def spans(text: str, known: dict[int, Source]) -> list[tuple[str, int]]:
    return [(text[note.start : note.end], note.source.id) for note in annotations(text, known)]


def test_annotations_cover_the_marks() -> None:
    text = "The Leie[1] meets the Scheldt[2]."
    assert [(note.start, note.end, note.source) for note in annotations(text, BOTH)] == [
        (8, 11, LEIE),
        (29, 32, SCHELDT),
    ]


def test_a_mark_names_an_id_not_a_position() -> None:
    text = "Founded in 1830[2]; renamed later[web:4]."
    known = {4: Source(id=4, url="https://four.example"), 2: Source(id=2, url="https://two.example")}
    found = [(note.start, note.end, note.source.url) for note in annotations(text, known)]
    assert found == [(15, 18, "https://two.example"), (33, 40, "https://four.example")]
    assert citation_urls(known.values()) == ["", "https://two.example", "", "https://four.example"]


MARKS = [
    ("a[1][2]b", ["[1]", "[2]"]),
    ("[1]", ["[1]"]),
    ("a [web:12]", ["[web:12]"]),
    ("Wow![1] [2]?", ["[1]", "[2]"]),
    ("see [sic][1]", ["[1]"]),
    ("(see [1])", ["[1]"]),
    ("as in [1]: it", ["[1]"]),
    ("unknown [7] stays", []),
    ("`code[1]`", []),
    ("```\narr[1]\n```\nprose[2]", ["[2]"]),
    ("~~~\narr[1]", []),
    ("a `b` c[1] `d[2]`", ["[1]"]),
    ("an open ` c[1]", ["[1]"]),
    ("a[1]`b`", ["[1]"]),
    ("[1](https://x.example)", []),
    ("![1](https://x.example)", []),
    ("[see [1]](https://x.example)", []),
    ("[[1]](https://x.example)", []),
    ("[a](https://x.example/[1]?b[2])", []),
    ("[a](https://x.example/(b)[1]) c[2]", ["[2]"]),
    ("[a](b c[1])", ["[1]"]),
    ("[1]: https://x.example", []),
    ("a\n  [1]: https://x.example\n> - [2]: b", []),
    ("[^1] and [^2]: note", []),
    ("[[1],[2]]", ["[2]"]),
    ("\\[1] and \\[1\\]", []),
    ("\\\\[1]", ["[1]"]),
    ("[01] [1 ] [ 1] [1-2] [1,2] [web:] [Web:1]", []),
    ("[web:1](https://x.example)", []),
    ("https://x.example/a[1]", ["[1]"]),
    ("🚲[1] 東京[2]", ["[1]", "[2]"]),
    ("[1]]", ["[1]"]),
    ("[1]](x)", []),
    ("[12345]", []),
    ("[1][2]: x", ["[1]", "[2]"]),
    ("[a](x`y`[1]", ["[1]"]),
]
KNOWN = sources(1, 2, 12, 12345)


@pytest.mark.parametrize(("text", "marks"), MARKS)
def test_what_is_a_mark_and_what_is_not(text: str, marks: list[str]) -> None:
    assert [mark for mark, _ in spans(text, KNOWN)] == marks


@pytest.mark.parametrize(("text", "marks"), MARKS)
def test_every_cut_strips_the_same_marks(text: str, marks: list[str]) -> None:
    expected = list(text)
    found = annotations(text, KNOWN)
    for note in reversed(found):
        del expected[note.start : note.end]
    assert len(found) == len(marks)
    for pieces in every_cut(text):
        assert send("strip", KNOWN, *pieces)[0] == "".join(expected)


def test_stripped_marks_are_annotated_where_they_stood() -> None:
    for pieces in every_cut("🚲 The Leie[1] meets[2][1]."):
        assert send("strip", BOTH, *pieces) == ("🚲 The Leie meets.", [(10, 10, 1), (16, 16, 2), (16, 16, 1)])


def test_linked_marks_are_annotated_as_a_whole() -> None:
    text = "🚲[1] and `[2]` and [web:2], not [3]."
    sent = "🚲[1](https://a.example/leie) and `[2]` and [web:2](https://b.example/scheldt), not [3]."
    for pieces in every_cut(text):
        assert send("link", BOTH, *pieces) == (sent, [(1, 28, 1), (43, 77, 2)])
    assert (sent[1:28], sent[43:77]) == ("[1](https://a.example/leie)", "[web:2](https://b.example/scheldt)")


def test_a_mark_behind_an_exclamation_does_not_become_an_image() -> None:
    assert send("link", BOTH, "Wow![1]") == ("Wow![1]", [(4, 7, 1)])


def test_only_web_addresses_are_linked() -> None:
    bad = {1: Source(id=1, url="javascript:alert(1)")}
    assert send("link", bad, "a[1]") == ("a[1]", [(1, 4, 1)])


HARD_URLS = [
    "https://x.example/a(b)_(c",
    "https://x.example/a b\tc\nd",
    "https://x.example/<b>\"'`|\\",
    "https://x.example/a%20b?c=[1]&d=*_#e",
    "https://例え.example/東京/🚲\u2028\u00a0\u200b",
]


@pytest.mark.parametrize("url", HARD_URLS)
def test_an_address_is_escaped_so_that_the_link_holds_it_whole(url: str) -> None:
    sent, found = send("link", {1: Source(id=1, url=url)}, "a[1] b")
    assert sent == f"a[1]({escaped_url(url)}) b"
    assert found == [(1, len(sent) - 2, 1)]
    children = MarkdownIt("commonmark").parseInline(sent)[0].children or []
    assert [token.type for token in children] == ["text", "link_open", "text", "link_close", "text"]
    assert children[-1].content == " b"


def test_escaping_leaves_an_ordinary_address_alone() -> None:
    url = "https://x.example/a%20b/?c=d&e=[f]#g;h,i:@!$*+~'"
    assert escaped_url(url) == url


def test_where_no_source_is_known_yet_strip_takes_plausible_marks() -> None:
    text = "a[1] b[99] c[100] d[0] e[web:0] f[web:7] `g[1]`"
    assert send("strip", {}, text) == ("a b c[100] d[0] e f `g[1]`", [])


def test_where_no_source_is_expected_nothing_is_stripped() -> None:
    assert send("strip", {}, "arr[0] x[1] [web:1]", expect=False) == ("arr[0] x[1] [web:1]", [])


def test_sources_that_come_late_still_annotate_stripped_marks() -> None:
    known: dict[int, Source] = {}
    cites = CitationFilter("strip", known)
    sent = cites.feed("The Leie[1] meets[5].") + cites.close()
    known.update(BOTH)
    assert sent == "The Leie meets."
    assert [(note.start, note.end, note.source) for note in cites.annotations()] == [(8, 8, LEIE)]


@pytest.mark.parametrize("marks", ["strip", "link"])
def test_marks_left_in_the_text_are_annotated_if_their_source_comes_late(marks: Marks) -> None:
    known = sources(7)
    cites = CitationFilter(marks, known)
    sent = cites.feed("a[1] b") + cites.close()
    known.update(sources(1))
    assert sent == "a[1] b"
    assert [(note.start, note.end) for note in cites.annotations()] == [(1, 4)]


def test_only_what_may_become_a_mark_is_held_back() -> None:
    cites = CitationFilter("strip", BOTH)
    assert cites.feed("the Scheldt[") == "the Scheldt"
    assert cites.feed("2") == ""
    assert cites.feed("]") == ""
    assert cites.feed(". And [a") == ". And [a"
    assert cites.feed("b] [web:") == "b] "
    assert cites.feed("x") == "[web:x"
    assert cites.feed("[1]") == ""
    assert cites.feed("]") == ""
    assert cites.feed("(") == "[1]]("


@given(st.text(alphabet="[]web:0123456789(", max_size=60))
def test_no_more_than_a_few_characters_are_ever_held_back(text: str) -> None:
    cites = CitationFilter("link", {})
    sent = len(cites.feed("a"))
    for count, char in enumerate(text, 2):
        sent += len(cites.feed(char))
        assert count - sent <= len("[web:1234]]")


def test_close_lets_out_half_a_mark() -> None:
    for tail in ("[", "[12", "[web:", "\\", "]"):
        assert send("strip", BOTH, "a" + tail) == ("a" + tail, [])


def test_markdown_links_to_a_known_source_are_citations() -> None:
    text = "The [Leie](https://a.example/leie), [`x`[1]](<https://b.example/scheldt>) and [c](https://c.example)."
    expected = [("[Leie](https://a.example/leie)", 1), ("[`x`[1]](<https://b.example/scheldt>)", 2)]
    assert spans(text, BOTH) == expected
    for marks in ("strip", "link"):
        sent, found = send(marks, BOTH, *text)
        assert sent == text
        assert [(sent[start:end], number) for start, end, number in found] == expected


def test_the_lowest_id_of_a_page_stands_for_a_link_to_it() -> None:
    known = {4: Source(id=4, url="https://a.example"), 3: Source(id=3, url="https://a.example")}
    assert spans("[a](https://a.example) [4]", known) == [("[a](https://a.example)", 3), ("[4]", 4)]


@pytest.mark.parametrize(
    "text", ["](https://a.example/leie)", "[a](https://a.example/leie", "[a\n](https://a.example/leie)", "[]()"]
)
def test_broken_links_are_no_citations(text: str) -> None:
    assert spans(text, {**BOTH, 3: Source(id=3, url="")}) == []


def test_an_address_without_an_end_does_not_hide_later_marks() -> None:
    text = "[a](" + "x" * 5000 + "[1]"
    assert spans(text, BOTH) == [("[1]", 1)]
    assert spans("[a](x\nb[1])", BOTH) == [("[1]", 1)]
    assert send("strip", BOTH, *text) == send("strip", BOTH, text)


PROSE = words(
    *(
        "[1]",
        "[2]",
        "[3]",
        "[web:2]",
        "[",
        "]",
        "](",
        "(",
        ")",
        "1",
        "web:",
        ":",
        "\n",
        " ",
        "\\",
        "`",
        "``",
        "```\n",
        "~~~\n",
    ),
    *("a", "🚲", "!", "[a](https://s1.example/)", "> ", "- "),
)


@given(st.sampled_from(["strip", "link"]), cut(PROSE), st.sampled_from([(), (1, 2)]), st.booleans())
@example("strip", ("[1]](a[2])", ["[1]", "]", "(a[2])"]), (1, 2), True)
def test_the_cut_does_not_matter(marks: Marks, case: tuple[str, list[str]], ids: tuple[int, ...], expect: bool) -> None:
    whole, pieces = case
    expected = send(marks, sources(*ids), whole, expect=expect)
    assert send(marks, sources(*ids), *pieces, expect=expect) == expected
    assert send(marks, sources(*ids), *whole, expect=expect) == expected


@given(PROSE)
def test_kept_marks_are_where_the_annotations_say(text: str) -> None:
    known = sources(1, 2)
    assert send("keep", known, *text)[0] == text
    for span, number in spans(text, known):
        assert re.fullmatch(rf"\[(web:)?{number}\]", span) or span.endswith(f"](https://s{number}.example/)")


@given(PROSE)
def test_marks_put_back_at_their_offsets_give_the_original(text: str) -> None:
    text = text.replace("web:", "")
    sent, found = send("strip", sources(1, 2), text)
    for start, end, number in reversed(found):
        if start == end:
            sent = sent[:start] + f"[{number}]" + sent[end:]
    assert sent == text


@given(PROSE)
def test_links_taken_back_give_the_original(text: str) -> None:
    text = text.replace("web:", "")
    sent, found = send("link", sources(1, 2), text)
    for start, end, number in reversed(found):
        if sent[start:end] == f"[{number}](https://s{number}.example/)":
            sent = sent[:start] + f"[{number}]" + sent[end:]
    assert sent == text


@given(PROSE)
def test_code_is_never_changed(text: str) -> None:
    if "```" in text:
        return
    fenced = "```\n" + text
    for marks in ("strip", "link"):
        assert send(marks, sources(1, 2), *fenced) == (fenced, [])


def test_offsets_go_on_after_a_close_in_between() -> None:
    cites = CitationFilter("strip", BOTH)
    sent = cites.feed("a[1] b[") + cites.close() + cites.feed("2] c[2]") + cites.close()
    assert sent == "a b[2] c"
    assert [(note.start, note.end, note.source.id) for note in cites.annotations()] == [(1, 1, 1), (8, 8, 2)]


def test_an_address_does_not_go_on_after_a_close_in_between() -> None:
    cites = CitationFilter("strip", BOTH)
    assert cites.feed("[a](x") + cites.close() + cites.feed("y[1]") + cites.close() == "[a](xy"


def test_citation_urls_never_shift() -> None:
    assert citation_urls([]) == []
    assert citation_urls(sources(3, 1).values()) == ["https://s1.example/", "", "https://s3.example/"]
    assert citation_urls(sources(-1, 0, 2, 201, 10**9).values()) == ["", "https://s2.example/"]
    assert len(citation_urls(sources(200).values())) == 200


@given(st.dictionaries(st.integers(-5, 250), st.uuids().map(str)))
def test_every_citation_stands_at_its_own_id(urls: dict[int, str]) -> None:
    listed = citation_urls(Source(id=number, url=url) for number, url in urls.items())
    assert {n: url for n, url in enumerate(listed, 1) if url} == {n: url for n, url in urls.items() if 1 <= n <= 200}


def test_the_source_list_names_each_page_once_in_order_of_its_first_id() -> None:
    pages = [SCHELDT, Source(id=5, url=LEIE.url, title=""), Source(id=7, url="https://c.example/x_(y)"), LEIE]
    assert source_list(pages) == (
        "\n\nSources:\n\n"
        "- [1][5] [Leie](https://a.example/leie)\n"
        "- [2] [Scheldt](https://b.example/scheldt)\n"
        "- [7] <https://c.example/x_%28y%29>"
    )


def test_the_source_list_of_nothing_is_nothing() -> None:
    assert source_list([]) == ""


def test_titles_cannot_break_the_source_list() -> None:
    pages = [
        Source(id=1, url="https://a.example", title="a]\n(b) <script> [c] `d` \\"),
        Source(id=2, url="javascript:1", title="t"),
    ]
    assert source_list(pages).splitlines()[-2:] == [
        "- [1] [a\\] (b) \\<script\\> \\[c\\] \\`d\\` \\\\](https://a.example)",
        "- [2] t javascript:1",
    ]
