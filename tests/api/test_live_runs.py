"""Runs in the background, on real sockets against the emulator."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path

import msgspec
import pytest

from pplx_gateway.answer import Finished, Started, TextDelta, ToolCall
from pplx_gateway.errors import UpstreamError
from pplx_gateway.question import FunctionCall, FunctionResult, FunctionTool
from pplx_gateway.store import Database
from pplx_gateway.store.signatures import StoredSignatures
from pplx_gateway.upstreams.api.signatures import Signatures
from tests.api.asking import model, question, said
from tests.api.live import Live, attached, events_of, key, left_at_start, live, text_of

GHENT = "Which two rivers meet in Ghent?"
BEHIND = question(said("user", GHENT), background=True)
SLOW = question(said("user", f"slow: {GHENT}"), background=True)
ENDLESS = question(said("user", f"slow: {GHENT} (endless)"), background=True)


@pytest.fixture
async def site() -> AsyncGenerator[Live, None]:
    async with live(pace_seconds=0.0, background_seconds=0.0, slow_seconds=20.0, cancel_seconds=0.0) as opened:
        yield opened


@pytest.fixture
async def endless() -> AsyncGenerator[Live, None]:
    async with live(pace_seconds=0.0, background_seconds=0.0, slow_seconds=1e9, cancel_seconds=0.0) as opened:
        yield opened


async def test_a_run_goes_on_after_its_creator_left_and_another_reads_it_whole(site: Live) -> None:
    async with site.upstream() as first:
        run_id = await left_at_start(first, SLOW)
    assert (await site.run(run_id, "in_progress"))["cancelling"] is False
    async with site.upstream() as second:
        events = await attached(second, run_id, SLOW)
        assert events == await attached(second, run_id, SLOW)
    assert events[0] == Started(run_id, "default")
    assert isinstance(events[-1], Finished)
    assert "Leie" in text_of(events)
    assert not [request for request in await site.requests() if request["path"].endswith("/cancel")]
    assert len([request for request in await site.requests() if request["method"] == "POST"]) == 1


async def test_a_stream_that_is_cut_again_and_again_loses_and_repeats_nothing(site: Live) -> None:
    async with site.upstream() as upstream:
        pieces, cuts = [], 0
        async with aclosing(upstream.ask(SLOW, model("sonar"), "alice")) as batches:
            run_id = ""
            async for batch in batches:
                for event in batch:
                    if isinstance(event, Started):
                        run_id = event.run_id or run_id
                    if isinstance(event, TextDelta):
                        pieces.append(event.text)
                        if cuts < 4:
                            cuts += 1
                            await site.cut(run_id)
        whole = await attached(upstream, run_id, SLOW)
    assert cuts == 4
    assert "".join(pieces) == text_of(whole)
    requests = await site.requests()
    assert [request["method"] for request in requests[:5]] == ["POST", "GET", "GET", "GET", "GET"]
    assert all("starting_after=" in request["query"] for request in requests[1:5])


async def test_a_cancelled_run_ends_for_those_who_read_it(endless: Live) -> None:
    async with endless.upstream() as upstream:
        run_id = await left_at_start(upstream, ENDLESS)
        reading = asyncio.create_task(attached(upstream, run_id, ENDLESS))
        await upstream.cancel(run_id)
        with pytest.raises(UpstreamError, match="cancelled"):
            await reading
        await endless.run(run_id, "cancelled")
        await upstream.cancel(run_id)
    (cancelled, again) = [r for r in await endless.requests() if r["path"].endswith("/cancel")]
    assert (cancelled["status"], again["status"]) == (200, 400)


async def test_a_foreground_run_is_still_cancelled_when_its_reader_leaves(endless: Live) -> None:
    asked = msgspec.structs.replace(ENDLESS, background=False)
    async with endless.upstream() as upstream:
        run_id = await left_at_start(upstream, asked)
    await endless.run(run_id, "cancelled")


async def test_a_run_is_found_by_the_key_that_made_it_alone(site: Live) -> None:
    one, two = key("one", "pplx-one"), key("two", "pplx-two")
    async with site.upstream(one, two) as upstream:
        runs = [await left_at_start(upstream, BEHIND) for _ in range(4)]
        assert [run_id.partition("@")[2] for run_id in runs] == ["one", "two", "one", "two"]
        for run_id in runs:
            assert "Leie" in text_of(await attached(upstream, run_id, BEHIND))
    async with site.upstream(key("one", "pplx-two")) as stranger:
        with pytest.raises(UpstreamError, match="does not know the run"):
            await attached(stranger, runs[0], BEHIND)


async def test_a_signature_comes_back_after_a_restart_with_the_key_that_it_was_made_with(
    site: Live, tmp_path: Path
) -> None:
    keys = key("one", "pplx-one"), key("two", "pplx-two")
    asked = question(
        said("user", "Call get_weather for Ghent"),
        model="google/gemini-3.8-flash",
        functions=(FunctionTool(name="get_weather"),),
    )
    database = await Database.open(tmp_path / "gateway.sqlite")
    stored = StoredSignatures(database, site.clock, keep_days=30)
    async with site.upstream(*keys, signatures=Signatures(stored)) as before:
        (call,) = [event for event in await events_of(before, asked) if isinstance(event, ToolCall)]
    turns = (
        *asked.turns,
        FunctionCall(call.call_id, call.name, call.arguments),
        FunctionResult(call.call_id, "Sunny, 21 degrees."),
    )
    again = msgspec.structs.replace(asked, turns=turns)
    async with site.upstream(*reversed(keys), signatures=Signatures(stored)) as after:
        for _ in range(2):
            assert "Sunny" in text_of(await events_of(after, again))
        await events_of(after, again, caller="bob")
        await site.keys({"pplx-one": "broke"})
        assert "Sunny" in text_of(await events_of(after, again))
    await database.close()
    sent = [
        (request["headers"]["authorization"], request["json"]["input"][1].get("thought_signature"))
        for request in (await site.requests("/v1/agent"))[1:]
    ]
    assert call.signature
    assert sent[:2] == [("Bearer pplx-one", call.signature)] * 2
    assert sent[2] == ("Bearer pplx-two", None)
    assert sent[3:] == [("Bearer pplx-one", call.signature), ("Bearer pplx-two", None)]
