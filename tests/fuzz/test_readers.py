"""Upstreams' answers, nearly right, in any pieces: whole or an error of the tree, and nothing else."""

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.answer import Finished
from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError
from pplx_gateway.sse import EventReader
from pplx_gateway.upstreams.api.raw_events import RawReader
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.session.frames import END, decode
from tests.api.reading import Reading
from tests.fuzz.mutating import TEST_SECONDS, fuzzed, mutated
from tests.session.playing import assembler

pytestmark = pytest.mark.timeout(TEST_SECONDS)
CUTS = st.lists(st.integers(0, 4000), max_size=5)


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    return (data[start:end] for start, end in itertools.pairwise(places))


@fuzzed
@given(mutated("session"), CUTS)
def test_the_sessions_frames(data: bytes, cuts: list[int]) -> None:
    reader, target, events = EventReader(), assembler(), []
    try:
        for piece in [*pieces(data, cuts), None]:
            for event in reader.close() if piece is None else reader.feed(piece):
                frame = decode(event, target.oddities)
                if frame is not None and not target.ended:
                    events += target.feed(frame)
        if not target.ended:
            events += target.feed(END)
        events += target.close()
    except GatewayError as error:
        assert error.message
        assert not any(isinstance(event, Finished) for event in events)
    else:
        assert sum(isinstance(event, Finished) for event in events) == 1


@fuzzed
@given(mutated("agent"), CUTS)
def test_the_agents_events(data: bytes, cuts: list[int]) -> None:
    reading = Reading()
    reading.feed(*pieces(data, cuts))
    reading.close()
    finished = [event for event in reading.events if isinstance(event, Finished)]
    assert len(finished) == (reading.reader.failure is None)
    assert reading.reader.failure is None or reading.reader.failure.message


@fuzzed
@given(mutated("agent"), CUTS)
def test_the_agents_events_as_they_came(data: bytes, cuts: list[int]) -> None:
    reader = RawReader(Faults("The Perplexity API", "KEY", lambda: ["pplx-SECRET"], Clock()))
    for piece in pieces(data, cuts):
        reader.feed(piece)
    reader.close()
    assert reader.over
    assert (reader.end is None) == (reader.failure is not None)
