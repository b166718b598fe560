"""Following a run from a place at its end, or beyond it."""

from typing import Any

import pytest

from tests.agent_face.calling import AGENT, RUN, create, follow, replay, stream, whole_run
from tests.cases.scripts import agent_steps
from tests.perplexity.calling import Caller, native_error


async def test_behind_the_last_event_there_is_nothing_more(caller: Caller) -> None:
    queued = await create(caller, background=True)
    told = await follow(caller, queued["id"])
    last = told[-1]["sequence_number"]
    assert await follow(caller, queued["id"], last) == []
    for beyond in (last + 1, 10**6):
        error = await _refused(caller, queued["id"], beyond)
        assert error["param"] == "starting_after"


async def test_beyond_the_end_of_a_run_that_goes_on_is_refused_once_it_is_over(caller: Caller) -> None:
    queued = await create(caller, input="slow: Which two rivers meet in Ghent?", background=True)
    error = await _refused(caller, queued["id"], 10**6)
    assert error["param"] == "starting_after"
    assert len(await follow(caller, queued["id"], 3)) > 3


@pytest.mark.parametrize("after", [10**6, 0])
async def test_an_upstream_that_says_nothing_of_a_place_beyond_the_end(caller: Caller, after: int) -> None:
    steps = agent_steps()
    await caller.rig.script(AGENT, steps)
    await stream(caller)
    silent = replay([{"bytes": ""}])
    await caller.rig.script(RUN, silent, silent, silent, silent, whole_run())
    error = await _refused(caller, "resp_t1", after)
    assert error["message"] == f"The run, which is over, has no event {after}, or not any more."
    assert error["param"] == "starting_after"


async def _refused(caller: Caller, run_id: str, after: int) -> dict[str, Any]:
    return native_error(await caller.get(f"{AGENT}/{run_id}?stream=true&starting_after={after}"), 400)
