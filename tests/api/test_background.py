"""Runs that outlive whoever started them: detached, found again by id, cancelled by whoever may."""

import asyncio
import json
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from pplx_gateway.answer import Answer, Batch, Started
from pplx_gateway.errors import (
    EmptyAnswer,
    GatewayError,
    NotFound,
    RateLimited,
    UpstreamAuth,
    UpstreamError,
    UpstreamTruncated,
    UpstreamUnreachable,
)
from pplx_gateway.operations import Runs
from pplx_gateway.question import FunctionCall, FunctionResult, FunctionTool, Question
from pplx_gateway.transport import TransferTimeout
from tests.api.asking import model, question, said
from tests.api.fakes import Reply, Silence
from tests.api.stories import A_BASE, TEXT, completed, created, function_call, item_done, line, response, stream
from tests.api.test_upstream import HEAD, TAIL, WHOLE, Rig

HANDLE = "resp_t1@default"
AGAIN = "https://api.example/v1/agent/resp_t1"
BEHIND = question(background=True)
RUNNING = Reply(steps=[json.dumps(response("in_progress")).encode()])
DONE = json.dumps(completed({"type": "message", "content": [{"type": "output_text", "text": TEXT}]})["response"])
GONE = Reply(status=404, steps=[b'{"error":{"message":"resource not found","type":"not_found","code":404}}'])


async def attached(rig: Rig, run_id: str = HANDLE, asked: Question = BEHIND, model_id: str = "sonar") -> Answer:
    without_turns = msgspec.structs.replace(asked, turns=())
    async with aclosing(rig.upstream.attach(run_id, without_turns, model(model_id), "alice")) as batches:
        async for batch in batches:
            rig.batches.append(batch)
    return rig.answer


def started(batches: list[Batch]) -> list[str | None]:
    return [event.run_id for batch in batches for event in batch if isinstance(event, Started)]


def gets(rig: Rig) -> list[str]:
    return [sent.url for sent in rig.transport.sent if sent.method == "GET"]


def test_the_upstream_has_runs() -> None:
    runs: Runs = Rig(WHOLE).upstream
    assert isinstance(runs, Runs)


async def test_a_question_in_the_background_says_so_and_tells_the_runs_id() -> None:
    rig = Rig(WHOLE)
    assert (await rig.ask(BEHIND)).text == TEXT
    assert json.loads(rig.transport.asked[0].body or b"")["background"] is True
    assert started(rig.batches) == [HANDLE]
    rig = Rig(WHOLE)
    await rig.ask()
    assert "background" not in json.loads(rig.transport.asked[0].body or b"")


async def test_an_id_that_comes_late_is_told_late() -> None:
    bare = {"type": "response.created", "sequence_number": 0, "response": None}
    rig = Rig(Reply(steps=[line(bare), *map(line, A_BASE)]))
    await rig.ask(BEHIND)
    assert started(rig.batches) == [None, HANDLE]


async def test_leaving_a_run_in_the_background_closes_its_stream_and_lets_it_go_on() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]))
    await rig.leave_at(silence, BEHIND)
    assert rig.transport.open == 0
    await rig.upstream.close()
    assert rig.transport.cancels == []


async def test_closing_the_gateway_lets_it_go_on_too() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]))
    task = asyncio.create_task(rig.ask(BEHIND))
    await silence.reached.wait()
    await rig.upstream.close()
    with pytest.raises(UpstreamTruncated):
        await task
    assert rig.transport.cancels == []
    assert gets(rig) == []


async def test_attaching_tells_all_from_the_first_event_as_asking_did() -> None:
    asked, again = Rig(WHOLE), Rig(WHOLE)
    asking = msgspec.structs.replace(BEHIND, sampling=msgspec.structs.replace(BEHIND.sampling, max_output_tokens=3))
    await asked.ask(asking)
    await attached(again, asked=asking)
    assert gets(again) == [f"{AGAIN}?stream=true"]
    assert again.transport.asked == []
    flat = [[event for batch in rig.batches for event in batch] for rig in (asked, again)]
    assert flat[0] == flat[1]
    assert again.answer.warnings


async def test_a_run_keeps_the_names_of_functions_though_its_turns_are_not_kept() -> None:
    turns = said("user", "Hi"), FunctionCall("call_0", "fn_web_search", "{}"), FunctionResult("call_0", "none")
    asked = question(*turns, functions=(FunctionTool(name="web_search"),), background=True)
    item = function_call("fn_fn_web_search", "{}", call_id="call_7")
    reply = Reply(steps=[stream(created(), item_done(item), completed(item))])
    for answer in (await Rig(reply).ask(asked), await attached(Rig(reply), asked=asked)):
        assert [call.name for call in answer.tool_calls] == ["web_search"]


async def test_leaving_what_one_has_attached_to_cancels_nothing() -> None:
    silence = Silence()
    rig = Rig(Reply(steps=[*HEAD, silence]))
    task = asyncio.create_task(attached(rig))
    await silence.reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await rig.upstream.close()
    assert rig.transport.cancels == []
    assert rig.transport.open == 0


@pytest.mark.parametrize(
    "trouble",
    [
        UpstreamUnreachable("no route"),
        TransferTimeout("first_byte", 120, "api.example"),
        Reply(status=429, steps=[b"{}"]),
        Reply(status=502, steps=[b"<html></html>"]),
        Reply(steps=[]),
        GONE,
    ],
)
@pytest.mark.parametrize("place", [0, 3, 7])
async def test_trouble_on_the_way_is_waited_out(trouble: GatewayError | Reply, place: int) -> None:
    failing = trouble if isinstance(trouble, Reply) else Reply(error=trouble)
    rest = [Reply(steps=[line(event) for event in A_BASE[place:]])]
    rig = Rig(Reply(steps=[line(event) for event in A_BASE[:place]]), failing, *rest)
    assert (await attached(rig)).text == TEXT
    assert [event for event in started(rig.batches) if event] == [HANDLE]


async def test_a_silent_run_is_waited_for_as_long_as_it_lives() -> None:
    silences = [reply for _ in range(9) for reply in (Reply(steps=[]), RUNNING)]
    rig = Rig(Reply(steps=HEAD), *silences, Reply(steps=TAIL))
    assert (await attached(rig)).text == TEXT
    assert gets(rig).count(AGAIN) == 9
    assert len(rig.transport.sent) == 20


async def test_a_run_that_ended_behind_an_expired_place_is_read_whole() -> None:
    expired = Reply(status=400, steps=[b'{"error":{"message":"starting_after is past","code":400}}'])
    rig = Rig(Reply(steps=HEAD), expired, RUNNING, expired, Reply(steps=[DONE.encode()]))
    assert (await attached(rig)).text == TEXT
    assert gets(rig)[1:] == [f"{AGAIN}?stream=true&starting_after=6", AGAIN] * 2


async def test_an_upstream_that_does_not_come_back_is_given_up() -> None:
    rig = Rig(Reply(steps=HEAD), Reply(error=UpstreamUnreachable("no route")))
    with pytest.raises(UpstreamUnreachable):
        await attached(rig)
    assert sum(rig.clock.slept) == 300
    assert len(rig.transport.sent) == 12


async def test_a_run_that_is_not_known_is_asked_for_twice() -> None:
    rig = Rig(GONE)
    with pytest.raises(UpstreamError, match="does not know the run"):
        await attached(rig)
    assert len(rig.transport.sent) == 2


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply(status=401, steps=[b"{}"]), UpstreamAuth),
        (Reply(steps=[stream(created(), {"type": "response.cancelled", "response": None})]), UpstreamError),
        (Reply(steps=[stream(created(), {"type": "error", "error": {"message": "m", "code": 429}})]), RateLimited),
        (Reply(steps=[stream(created(), completed())]), EmptyAnswer),
    ],
)
async def test_the_upstreams_own_word_is_final(reply: Reply, kind: type[GatewayError]) -> None:
    asked, again = Rig(reply), Rig(reply)
    with pytest.raises(kind):
        await asked.ask(BEHIND)
    with pytest.raises(kind):
        await attached(again)
    assert len(asked.transport.sent) == len(again.transport.sent) == 1


@pytest.mark.parametrize("run_id", ["", "resp_t1", "@default", "../x@default", "resp_t1@", "a b@default"])
async def test_what_is_no_run_of_ours_is_not_asked_for(run_id: str) -> None:
    rig = Rig(WHOLE)
    with pytest.raises(NotFound):
        await attached(rig, run_id)
    with pytest.raises(NotFound):
        await rig.upstream.cancel(run_id)
    with pytest.raises(UpstreamAuth, match="'gone'"):
        await attached(rig, "resp_t1@gone")
    assert rig.transport.sent == []


# -------------------------------------------------------------------------------- cancelling


@pytest.mark.parametrize("status", [200, 400, 404])
async def test_a_run_is_cancelled_once_and_one_that_ended_is_no_error(status: int) -> None:
    rig = Rig(WHOLE, cancelled=Reply(status=status))
    await rig.upstream.cancel(HANDLE)
    assert rig.transport.cancels == [f"{AGAIN}/cancel"]


@pytest.mark.parametrize(
    ("reply", "kind", "tries"),
    [
        (Reply(status=401, steps=[b"{}"]), UpstreamAuth, 1),
        (Reply(status=500, steps=[b"{}"]), UpstreamError, 1),
        (Reply(status=429, steps=[b"{}"]), RateLimited, 3),
        (Reply(error=UpstreamUnreachable("no route")), UpstreamUnreachable, 3),
    ],
)
async def test_a_cancel_that_was_not_heard_is_an_error(reply: Reply, kind: type[GatewayError], tries: int) -> None:
    rig = Rig(WHOLE, cancelled=reply)
    with pytest.raises(kind):
        await rig.upstream.cancel(HANDLE)
    assert len(rig.transport.cancels) == tries


# -------------------------------------------------------------------------------- the question, kept


def test_a_question_survives_json() -> None:
    kept: list[dict[str, Any]] = [
        {},
        {"background": True, "key_name": "work", "max_tool_calls": 3},
        {"functions": (FunctionTool(name="f", parameters={"type": "object"}),), "tool_choice": "required"},
        {"format": {"type": "json_object"}},
        {"format": {"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": True}},
        {"tool_choice": {"type": "function", "name": "f"}},
        {"search": {"after": "2026-01-02", "location": {"country": "BE", "latitude": 1.5}, "domains": ("a.example",)}},
    ]
    for fields in kept:
        asked = msgspec.convert({"model": "sonar", "turns": (), **msgspec.to_builtins(fields)}, Question)
        assert msgspec.json.decode(msgspec.json.encode(asked), type=Question) == asked
    whole = question(said("user", "Hi"), FunctionCall("c", "f", "{}", "s"), FunctionResult("c", "1"), background=True)
    assert msgspec.json.decode(msgspec.json.encode(whole), type=Question) == whole
