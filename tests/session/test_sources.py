"""The list of pages, as it comes in frame after frame."""

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from pplx_gateway.answer import Source
from pplx_gateway.upstreams.session.oddities import Oddities
from pplx_gateway.upstreams.session.sources import SourceList

pages = st.one_of(
    st.builds(lambda n, name: {"url": f"https://{n}.example", "name": name}, st.integers(1, 3), st.sampled_from("ab")),
    st.sampled_from([{"name": "no address"}, {"url": ""}, "no object", None, 7]),
)
rows = st.lists(st.fixed_dictionaries({"citation": st.integers(1, 4), "web_result": pages}), max_size=3)
steps = st.lists(st.one_of(st.lists(pages, max_size=5), rows.map(tuple)), max_size=6)


def raws(entries: Sequence[Any]) -> list[Raw]:
    return [Raw(json.dumps(entry).encode()) for entry in entries]


def played(story: Sequence[Sequence[Any]], *, as_bytes: bool) -> list[list[Source]]:
    """What each list (or, as a tuple, each set of rows) brought that is new."""
    sources = SourceList(Oddities())
    return [
        sources.rows(list(step)) if isinstance(step, tuple) else sources.results(raws(step) if as_bytes else step)
        for step in story
    ]


@given(steps)
def test_entries_that_come_as_bytes_tell_what_decoded_ones_do(story: list[Sequence[Any]]) -> None:
    assert played(story, as_bytes=True) == played(story, as_bytes=False)


def test_a_list_that_grows_tells_only_what_is_new() -> None:
    first, second, third = ({"url": f"https://{name}.example", "name": name} for name in "abc")
    told = played([[first], [first, second], [first], [first, third]], as_bytes=True)
    assert [[source.id for source in found] for found in told] == [[1], [2], [], [2]]
    assert told[3][0].url == "https://c.example"
