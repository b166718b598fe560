"""The upstream's connection breaks after each byte of its answer in turn: the answer is whole, or it is an error."""

from pathlib import Path

import pytest

from tests.cases.asking import let_answer
from tests.cases.scripts import Json, agent_steps, ask_text, session_steps
from tests.rig import AGENT, ASK_PATH, KEY, SSE_HEADERS, Rig, bearer, check_error, check_stream, read_stream, running

TEXT = "Leie, Schelde."
ASK: Json = {"model": "sonar", "messages": [{"role": "user", "content": "Which two rivers meet?"}]}
_RUN: Json = {"id": "resp_t1"}
_SAID: Json = {"type": "message", "content": [{"type": "output_text", "text": TEXT}]}
_DELTA: Json = {"type": "response.output_text.delta"}
_AGENT: list[Json] = [
    {"type": "response.created", "sequence_number": 0, "response": {**_RUN, "status": "in_progress"}},
    {**_DELTA, "sequence_number": 1, "delta": "Leie, "},
    {**_DELTA, "sequence_number": 2, "delta": "Schelde."},
    {
        "type": "response.completed",
        "sequence_number": 3,
        "response": {**_RUN, "status": "completed", "output": [_SAID]},
    },
]
_PENDING: Json = {"backend_uuid": "b-1", "status": "PENDING", "display_model": "pplx_pro"}
_SESSION: list[Json] = [
    {**_PENDING, "blocks": [ask_text(["Leie, "], 0)]},
    {
        **_PENDING,
        "status": "COMPLETED",
        "final_sse_message": True,
        "blocks": [ask_text(["Leie, ", "Schelde."], 0, progress="DONE", answer=TEXT)],
    },
]
STREAMS = {"api": (AGENT, agent_steps(_AGENT)), "session": (ASK_PATH, session_steps(_SESSION))}
ENDINGS = ("cut", "abort", "end")


@pytest.mark.parametrize("upstream", STREAMS)
async def test_an_answer_that_is_cut_at_any_byte_is_whole_or_an_error(tmp_path: Path, upstream: str) -> None:
    path, steps = STREAMS[upstream]
    whole = "".join(str(step["bytes"]) for step in steps)
    async with running(tmp_path, order=(upstream,)) as rig:
        outcomes = []
        for place in range(len(whole) + 1):
            broken = [{"bytes": whole[:place]}, {ENDINGS[place % 3]: True}]
            await rig.script(path, {"headers": SSE_HEADERS, "steps": broken})
            outcomes.append(await is_whole(rig, streamed=place % 2 == 0))
        begun = outcomes.index(True)
        assert not any(outcomes[:begun])
        assert all(outcomes[begun + 4 :]), "behind the last event nothing but its blank line matters"
        assert len(whole) // 2 < begun < len(whole)
        await let_answer(rig, upstream, TEXT)
        assert (await rig.chat(ASK)).content == TEXT


async def is_whole(rig: Rig, *, streamed: bool) -> bool:
    """Whether the answer came to its end. If not it must be an error, after nothing but a part of the text."""
    address, body = f"{rig.url}/v1/chat/completions", {**ASK, "stream": streamed}
    reply = await rig.client.post(address, json=body, headers=bearer(KEY))
    if not streamed:
        found = reply.json()
        if reply.status_code == 200:
            assert found["choices"][0]["message"]["content"] == TEXT
            return True
        check_error(found)
        assert reply.status_code == 502
        return False
    stream = read_stream(reply.status_code, reply.headers, reply.content, broken=False)
    check_stream(stream)
    if stream.status == 200:
        assert TEXT.startswith(stream.content)
        assert stream.error or stream.content == TEXT
    return stream.status == 200 and stream.error is None
