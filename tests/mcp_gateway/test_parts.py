"""What holds for any answer: its parts join to the whole, every source is listed, and no key is logged."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st
from pplx_agent_mcp import MAX_ANSWER

from pplx_gateway.protocols.mcp.answers import Kept, read
from pplx_gateway.protocols.mcp.parts import MOST_OF_SOURCES, part_at
from pplx_gateway.protocols.mcp.path_keys import redacted
from pplx_gateway.protocols.mcp.rendering import told
from pplx_gateway.protocols.mcp.runs import State
from pplx_gateway.protocols.mcp.stages import Stages

WORDS = st.lists(st.sampled_from(["tide", "Ostend[3]", "\n\n", "\n", "🚲" * 40, "x" * 3000]), max_size=60)
URLS = st.integers(0, 300).map(lambda number: f"https://{number}.example")
PAGES = st.lists(st.fixed_dictionaries({"id": st.integers(0, 400), "url": URLS}), max_size=300)


def kept(words: list[str], pages: list[dict[str, object]], status: str = "completed") -> bytes:
    message = {"type": "message", "content": [{"type": "output_text", "text": " ".join(words)}]}
    titled = [{**page, "title": "A page " * 20} for page in pages]
    response = {"id": "resp_1", "status": status, "model": "gpt", "output": [message], "search_results": titled}
    return msgspec.json.encode(response)


@given(WORDS.map(lambda words: words * 12), PAGES)
def test_parts_join_to_the_whole_and_list_every_source(words: list[str], pages: list[dict[str, object]]) -> None:
    whole = read(kept(words, pages))
    joined, listed, cursor = "", [], 0
    while True:
        part = part_at(whole, cursor)
        assert part is not None
        assert part.end - part.start <= MAX_ANSWER
        assert len("".join(source.line() for source in part.sources)) <= MOST_OF_SOURCES + 400 * (whole.cited + 1)
        assert cited(whole) <= {source.url for source in part.sources} or cursor >= len(whole.answer)
        joined += whole.answer[part.start : part.end]
        listed += [source.url for source in part.sources]
        part.body(whole).encode()
        if part.following is None:
            break
        assert part.following > cursor
        cursor = part.following
    assert joined == whole.answer
    assert set(listed) == {page["url"] for page in pages}
    assert part_at(whole, len(whole.answer) + len(whole.sources) + 1) is None


def cited(whole: Kept) -> set[str]:
    return {source.url for source in whole.sources if 3 in source.numbers} if "[3]" in whole.answer else set()


@given(WORDS, PAGES, st.sampled_from(["completed", "incomplete", "failed", "cancelled"]), st.integers(0, 10_000))
def test_whatever_is_kept_is_told_in_text_and_structure_alike(
    words: list[str], pages: list[dict[str, object]], status: str, cursor: int
) -> None:
    result = told(State("resp_1", False, kept(words, pages, status)), cursor)
    assert result.structured
    assert result.structured["text"] == result.text
    assert result.structured["response_id"] == "resp_1"
    assert result.is_error is ("error" in result.structured)
    if status == "incomplete" and not result.is_error:
        assert "INCOMPLETE" in result.text


@given(
    st.text(alphabet=st.characters(exclude_characters="/"), min_size=1),
    st.sampled_from(["mcp", "sse", "mcp/", "mcp/x"]),
)
def test_a_key_before_the_last_part_of_a_path_is_not_logged(key: str, last: str) -> None:
    for path in (f"/{key}/{last}", f"//{key}//{last}", f"/prefix/{key}/{last}"):
        assert redacted(path) == path.replace(f"/{key}/", "/***/")


def test_other_paths_are_logged_as_they_are() -> None:
    for path in ("/v1/models", "/mcp", "/v1/chat/completions", "/v1/files/file-mcp", "/sse", "/"):
        assert redacted(path) == path
    assert redacted("/x/pplxgw-abc") == "/x/***"


def test_stages_are_counted_from_the_events() -> None:
    stages = Stages()
    item = {"type": "web_search_call", "action": {"sources": [{"url": "a"}, {"url": "b"}]}}
    events = [
        (0, "response.created", b"{}"),
        (1, "response.in_progress", b"{}"),
        (2, "response.web_search_call.searching", b"{}"),
        (3, "response.output_item.done", msgspec.json.encode({"item": item})),
        (4, "response.output_text.delta", b'{"delta":"tides"}'),
    ]
    assert stages.line(3.2) == "waiting after 3 s"
    assert stages.count(events[:3])
    assert stages.line(3.2) == "searching after 3 s"
    assert stages.count(events[3:4])
    assert stages.count(events[4:])
    assert not stages.count([])
    assert stages.last == 4
    assert stages.line(9.6) == "writing after 10 s; 1 search, 2 pages, 5 characters written"
