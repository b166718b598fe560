"""Every row of the table of errors, on every face: its status and code, its hint for repeats, never a success.

Where an answer has begun before it fails, the failure stands in the stream or in the kept response instead of the
status. Each row has a running program of its own, and all faces are asked at once.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.cases.scripts import A_BASE, agent_steps
from tests.drills.faces import FACES, MCP, Face, Failed
from tests.rig import AGENT, KEY, SSE_HEADERS, Rig, running

BODY_BYTES = 100_000

Ask = Callable[[Face], dict[str, Any] | None]
"""What a face is asked; None where a row has no meaning for it."""


class Row(NamedTuple):
    """`kept`: the upstream's own status, which Perplexity's dialect tells. `after`: Retry-After. `patience`: seconds of
    a clock that runs `factor` times as fast."""

    upstream: str
    status: int
    code: str
    ask: Ask
    retry: str | None = None
    after: str | None = None
    param: bool | str = False
    kept: int | None = None
    key: str | None = KEY
    factor: float = 2.0
    patience: float | None = None


def asking(question: str, model: str = "sonar") -> Ask:
    return lambda face: face.body(model, question)


def fault(name: str) -> Ask:
    return asking(f"fault:{name} Why?")


def wrong(face: Face) -> dict[str, Any]:
    name, value = face.wrong
    return {**face.body("sonar", "Why?"), name: value}


def chained(face: Face) -> dict[str, Any] | None:
    body = face.body("sonar", "Why?")
    return {**body, "previous_response_id": "resp_nobody"} if "input" in body else None


def uncalled(face: Face) -> dict[str, Any] | None:
    """The Agent API's own face hands on what the API says, calls included."""
    return None if "agent" in face.name else face.body("sonar", "Why?")


STRANGER = "gk-somebody-else"
LIMITED = "the key of a caller"

ROWS: dict[str, Row] = {
    "our key is wrong": Row("api", 401, "invalid_api_key", asking("Why?"), key=STRANGER),
    "our key is missing": Row("api", 401, "invalid_api_key", asking("Why?"), key=None),
    "model not allowed for this key": Row("api", 403, "model_not_allowed", asking("Why?"), param="model", key=LIMITED),
    "unknown model": Row("api", 404, "model_not_found", asking("Why?", "gpt-2"), param="model"),
    "retired model": Row("api", 404, "model_not_found", asking("Why?", "sonar-reasoning"), param="model"),
    "parent response unknown": Row("api", 400, "previous_response_not_found", chained, param="previous_response_id"),
    "request malformed": Row("api", 400, "invalid_request", wrong, param=True),
    "too large": Row("api", 413, "request_too_large", asking("Why? " * (BODY_BYTES // 5))),
    "upstream credential bad": Row("api", 502, "upstream_auth", fault("upstream_401"), retry="false"),
    "balance gone": Row("api", 402, "insufficient_quota", fault("upstream_402"), retry="false"),
    "throttled, api": Row("api", 429, "rate_limit_exceeded", fault("upstream_429"), after="1"),
    "throttled, session": Row("session", 429, "rate_limit_exceeded", fault("upstream_429"), after="3"),
    "quota gone": Row("session", 429, "quota_exhausted", fault("quota_gone"), retry="false"),
    "function protocol broken": Row("api", 502, "tool_protocol_error", uncalled, retry="false"),
    "challenge page": Row("session", 503, "session_blocked", fault("upstream_html"), retry="false"),
    "cookie dead": Row("session", 503, "session_expired", fault("upstream_401"), retry="false"),
    "logged out": Row("session", 503, "session_expired", fault("logged_out"), retry="false"),
    "upstream 5xx, api": Row("api", 502, "upstream_error", fault("upstream_500"), retry="true", kept=500),
    "upstream 5xx, session": Row("session", 502, "upstream_error", fault("upstream_500"), retry="true", kept=500),
    "upstream HTML": Row("api", 502, "upstream_error", fault("upstream_html"), retry="true"),
    "upstream not JSON, api": Row("api", 502, "upstream_error", fault("upstream_bad_json"), retry="true"),
    "upstream not JSON, session": Row("session", 502, "upstream_error", fault("upstream_bad_json"), retry="true"),
    "error within the answer, api": Row("api", 502, "upstream_error", fault("midstream_error"), retry="true"),
    "error within the answer, session": Row("session", 502, "upstream_error", fault("midstream_error"), retry="true"),
    "ended without a verdict, api": Row("api", 502, "upstream_truncated", fault("midstream_drop"), retry="true"),
    "ended without a verdict, session": Row(
        "session", 502, "upstream_truncated", fault("midstream_drop"), retry="true"
    ),
    "nothing in the answer, api": Row("api", 502, "empty_answer", fault("empty"), retry="true"),
    "nothing in the answer, session": Row("session", 502, "empty_answer", fault("empty"), retry="true"),
    "too slow, api": Row(
        "api", 504, "upstream_timeout", fault("upstream_timeout"), retry="true", factor=10.0, patience=10.0
    ),
    "too slow, session": Row(
        "session", 504, "upstream_timeout", fault("upstream_timeout"), retry="true", factor=10.0, patience=10.0
    ),
}

ANTHROPIC = {
    400: {"invalid_request_error"},
    401: {"authentication_error"},
    402: {"billing_error"},
    403: {"permission_error"},
    404: {"not_found_error"},
    413: {"request_too_large"},
    429: {"rate_limit_error"},
    502: {"api_error", "overloaded_error"},
    503: {"api_error"},
    504: {"timeout_error"},
}


@contextlib.asynccontextmanager
async def program(folder: Path, row: Row) -> AsyncGenerator[tuple[Rig, str | None], None]:
    """Patience of 20 seconds for a first byte, so that MCP's own does not end before it."""
    settings: dict[str, Any] = {
        "max_body_bytes": BODY_BYTES,
        "first_byte_timeout_seconds": 20.0,
        "research_timeout_seconds": 20.0,
    }
    async with running(folder, order=(row.upstream,), factor=row.factor, **settings) as rig:
        key = row.key
        if key == LIMITED:
            made = await rig.post({"name": "phone", "models": ["another"]}, path="/admin/caller-keys")
            key = made.json["secret"]
        if row.ask is uncalled:
            await rig.script(AGENT, UNCALLED)
        yield rig, key
        await rig.check()


_CALL = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "tide_table", "arguments": "{}"}
_CALLED = {"type": "response.output_item.done", "output_index": 0, "item": _CALL, "sequence_number": 1}
UNCALLED = {"headers": SSE_HEADERS, "steps": list(agent_steps([A_BASE[0], _CALLED])), "repeat": "forever"}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
async def test_a_row_of_the_table_on_every_face(tmp_path: Path, row: Row) -> None:
    async with program(tmp_path, row) as (rig, key):
        asked = {face: body for face in FACES if (body := row.ask(face)) is not None}
        failures = await asyncio.gather(*(face.fail(rig, body, key=key) for face, body in asked.items()))
        for face, failed in zip(asked, failures, strict=True):
            check(row, face, failed, asked[face])
        assert "Traceback" not in rig.log.getvalue()


def check(row: Row, face: Face, failed: Failed, body: Mapping[str, Any]) -> None:
    """`failed` against the row, in the face's own dialect."""
    told = f"{face.name}: {failed}"
    late = face.streamed or face.background or face.name == MCP or "agent" in face.name
    perplexity = "sonar" in face.name or "agent" in face.name
    status = row.kept if row.kept is not None and perplexity else row.status
    assert failed.status == status or (failed.status is None and late), told
    if failed.status is not None:
        assert failed.retry == row.retry, told
        assert failed.after == row.after, told
    if face.anthropic:
        assert failed.type in ANTHROPIC[row.status], told
        return
    if "agent" in face.name and failed.status is None:  # told in the API's own words
        assert failed.type in (row.code, "internal_error"), told
    elif perplexity:
        assert (failed.code, failed.type) == (str(status), row.code), told
    elif failed.status is None and face.path == "/v1/responses":
        assert failed.code in ("server_error", "rate_limit_exceeded"), told
        assert failed.type in _told_later(row, face), told
    elif not (face.name == MCP and row.ask is wrong):  # whose answer is a sentence for the model
        assert failed.code in _told_later(row, face), told
    if row.param:
        wanted = face.wrong[0] if row.param is True else row.param
        assert failed.param == wanted or wanted in failed.message, told


def _told_later(row: Row, face: Face) -> tuple[str, ...]:
    """A run in the background whose stream broke is looked for once more, and told with what came of that."""
    return (row.code, "upstream_error") if face.background or face.name == MCP else (row.code,)
