"""Any answer: events in any order, in batches with any borders, ending well, cut short, or not at all."""

from hypothesis import strategies as st

from pplx_gateway.answer import (
    Annotation,
    AnswerEvent,
    Batch,
    Citations,
    Finished,
    Image,
    Images,
    NativeItem,
    ReasoningDelta,
    RelatedQuestions,
    SearchStep,
    Source,
    Sources,
    Started,
    TextDelta,
    ToolCall,
    Usage,
    Warned,
)
from pplx_gateway.protocols.openai.responses.question import Shown

words = st.text(max_size=12)
_urls = st.sampled_from([f"https://{name}.example/" for name in "abcdef"])
_sources = st.builds(Source, id=st.integers(1, 300), url=_urls, title=words)
_steps = st.builds(
    SearchStep,
    kind=st.sampled_from(["plan", "search", "read", "think"]),
    text=words,
    queries=st.lists(words, max_size=2).map(tuple),
    urls=st.lists(_urls, max_size=2).map(tuple),
)
_calls = st.builds(
    ToolCall,
    call_id=st.uuids().map(lambda found: f"call_{found.hex}"),
    name=st.sampled_from(["tide", "weather"]),
    arguments=st.sampled_from(["{}", '{"at":"Gent \\u0000"}', '{"n":[1,2]}']),
    signature=st.none() | st.just("c2ln"),
)
_texts = st.builds(TextDelta, st.text(max_size=20))
_anything = st.one_of(
    _texts,
    _texts,
    _texts,
    st.builds(ReasoningDelta, words),
    _steps,
    st.builds(Sources, st.lists(_sources, max_size=3).map(tuple)),
    _calls,
    st.builds(Images, st.lists(st.builds(Image, image_url=_urls), max_size=1).map(tuple)),
    st.builds(RelatedQuestions, st.lists(words, max_size=2).map(tuple)),
    st.just(NativeItem(b"{}")),
    st.just(Started("run_1")),
    st.builds(Warned, words, st.none() | st.just("instructions")),
)
_usages = st.none() | st.builds(
    Usage, input_tokens=st.integers(0, 99), output_tokens=st.integers(0, 99), estimated=st.booleans()
)
_ends = st.builds(
    Finished,
    reason=st.sampled_from(["stop", "length", "tool_calls", "content_filter"]),
    usage=_usages,
    served_model=st.none() | words,
    needs_input=st.booleans(),
)
shown = st.builds(Shown, st.booleans(), st.booleans(), st.booleans())


@st.composite
def unfinished(draw: st.DrawFn) -> list[AnswerEvent]:
    return draw(st.lists(_anything, max_size=14))


@st.composite
def answers(draw: st.DrawFn) -> list[AnswerEvent]:
    """Whole answers; the citations come once, after the last text, and lie within it."""
    events = draw(unfinished())
    length = sum(len(event.text) for event in events if isinstance(event, TextDelta))
    places = draw(st.lists(st.tuples(st.integers(0, length), st.integers(0, length), _sources), max_size=3))
    marks = tuple(Annotation(start=min(a, b), end=max(a, b), source=source) for a, b, source in places)
    citations: list[AnswerEvent] = [Citations(marks)] if marks else []
    return [*events, *citations, draw(_ends)]


@st.composite
def batches(draw: st.DrawFn, events: list[AnswerEvent]) -> list[Batch]:
    borders = draw(st.lists(st.integers(0, len(events)), max_size=4).map(sorted))
    starts, stops = [0, *borders], [*borders, len(events)]
    return [events[start:stop] for start, stop in zip(starts, stops, strict=True)]
