"""One question asked either way, streamed or not, with one shape for what came of it; answers for both upstreams."""

from collections.abc import Mapping
from typing import Any

import httpx2
import msgspec

from tests.cases.scripts import PLAN, WEB_RESULTS, Json, agent_events, agent_steps, ask_text, session_steps
from tests.rig import AGENT, ASK_PATH, Rig

PATHS = {"api": AGENT, "session": ASK_PATH}


class Said(msgspec.Struct):
    """`deltas` are the contents as they came: one where the answer was not streamed. `error` is None at 200."""

    status: int
    headers: httpx2.Headers
    deltas: list[str]
    reasoning: str
    reason: str | None
    tool_calls: list[dict[str, Any]]
    beside: dict[str, Any]
    error: dict[str, Any] | None

    @property
    def content(self) -> str:
        return "".join(self.deltas)

    @property
    def dropped(self) -> list[str]:
        """The fields that the answer says were left out."""
        return [name for name in self.headers.get("x-pplx-dropped", "").split(", ") if name]

    @property
    def warnings(self) -> str:
        found: str = self.headers.get("x-pplx-warnings", "")
        return found


async def ask(rig: Rig, body: Mapping[str, object], *, streamed: bool = False) -> Said:
    """The answer, whether it is one or an error; the rig checks its shape."""
    return await _streamed(rig, body) if streamed else await _whole(rig, body)


async def refused(rig: Rig, body: Mapping[str, object], status: int = 400) -> dict[str, Any]:
    """The error, which is the same streamed and not, and before which nothing was asked upstream."""
    before = await asked(rig)
    whole, streamed = [await ask(rig, body, streamed=way) for way in (False, True)]
    assert (whole.status, streamed.status) == (status, status), (whole, streamed)
    assert whole.error is not None
    assert whole.error == streamed.error
    assert await asked(rig) == before
    return whole.error


async def answered(rig: Rig, body: Mapping[str, object], *, streamed: bool = False) -> tuple[Said, dict[str, Any]]:
    """A good answer, and the JSON of the one question that was asked upstream for it."""
    before = len(await asked(rig))
    said = await ask(rig, body, streamed=streamed)
    assert said.status == 200, said.error
    assert said.error is None
    (sent,) = (await asked(rig))[before:]
    return said, sent


async def asked(rig: Rig) -> list[dict[str, Any]]:
    """The JSON of every question that reached an upstream, in order."""
    return [request["json"] for request in await rig.requests() if request["path"] in PATHS.values()]


async def let_answer(rig: Rig, upstream: str, *deltas: str, times: int = 1, model: str = "pplx_pro") -> None:
    """The next questions to `upstream` are answered with two sources and `deltas`. `model` = what the session shows."""
    steps = agent_steps(agent_events(*deltas)) if upstream == "api" else session_steps(frames(*deltas, model=model))
    await rig.script(PATHS[upstream], *[steps] * times)


def frames(*chunks: str, model: str = "pplx_pro") -> list[Json]:
    """A session's answer with a plan, two sources and `chunks`."""
    said = [{**_PENDING, "blocks": [ask_text([chunk], place)]} for place, chunk in enumerate(chunks)]
    whole = ask_text(list(chunks), 0, progress="DONE", answer="".join(chunks))
    first = {**_PENDING, "uuid": "u-1", "context_uuid": "c-1", "display_model": model, "blocks": [PLAN]}
    last = {**_PENDING, **_ENDED, "display_model": model, "user_selected_model": model, "blocks": [whole]}
    return [first, {**_PENDING, "blocks": [WEB_RESULTS]}, *said, last]


_PENDING: Json = {"backend_uuid": "b-1", "status": "PENDING"}
_ENDED: Json = {"status": "COMPLETED", "text_completed": True, "final": True, "final_sse_message": True}


async def _whole(rig: Rig, body: Mapping[str, object]) -> Said:
    reply = await rig.chat(body)
    if reply.status != 200:
        return Said(reply.status, reply.headers, [], "", None, [], {}, reply.error)
    choice = reply.json["choices"][0]
    message = choice["message"]
    return Said(
        status=reply.status,
        headers=reply.headers,
        deltas=[message["content"] or ""],
        reasoning=message.get("reasoning_content", ""),
        reason=choice["finish_reason"],
        tool_calls=message.get("tool_calls", []),
        beside=reply.json,
        error=None,
    )


async def _streamed(rig: Rig, body: Mapping[str, object]) -> Said:
    stream = await rig.stream(body)
    if stream.status != 200 or stream.error:
        return Said(stream.status, stream.headers, [], "", None, [], {}, stream.error)
    return Said(
        status=stream.status,
        headers=stream.headers,
        deltas=[delta["content"] for delta in stream.deltas if delta.get("content")],
        reasoning=stream.reasoning,
        reason=stream.finish["choices"][0]["finish_reason"],
        tool_calls=_joined([call for delta in stream.deltas for call in delta.get("tool_calls", [])]),
        beside=stream.finish,
        error=None,
    )


def _joined(parts: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls put together by their index, as clients do it."""
    calls: dict[int, dict[str, Any]] = {}
    for part in parts:
        call = calls.setdefault(part["index"], {"id": "", "type": "", "function": {"name": "", "arguments": ""}})
        call["id"] += part.get("id", "")
        call["type"] += part.get("type", "")
        for key, text in part["function"].items():
            call["function"][key] += text
    return [calls[index] for index in sorted(calls)]
