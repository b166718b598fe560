"""Failures as the OpenAI SDK shows them: the right class, readable fields, no repeats that cost, no false success."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, NamedTuple

import openai
import pytest

from tests.cases.scripts import A_BASE, Json, Step, agent_steps, session_steps
from tests.clients.sdk import AsyncSdk, Sdk
from tests.rig import AGENT, ASK_PATH, SECRETS, Rig, running

API, SESSION = "api/sonar", "session/gpt"
LONG: Step = {"sleep": 600.0}


def ask(model: str, question: str = "Which two rivers meet in Ghent?", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": question}], **more}


class Failure(NamedTuple):
    """`param` and `code` as the exception has them. `final`: the upstream was asked, and must not be asked again."""

    body: dict[str, Any]
    kind: type[openai.APIStatusError]
    status: int
    code: str
    param: str | None = None
    final: bool = False


FAILURES = {
    "a field that the session cannot honour": Failure(
        ask(SESSION, temperature=0.2), openai.BadRequestError, 400, "unsupported_parameter", "temperature"
    ),
    "a limit": Failure(ask(SESSION, max_tokens=9), openai.BadRequestError, 400, "unsupported_parameter", "max_tokens"),
    "several choices": Failure(ask(API, n=2), openai.BadRequestError, 400, "unsupported_parameter", "n"),
    "a value out of range": Failure(
        ask(API, temperature=9), openai.BadRequestError, 400, "invalid_request", "temperature"
    ),
    "no messages": Failure({"model": API, "messages": []}, openai.BadRequestError, 400, "invalid_request", "messages"),
    "an unknown role": Failure(
        {"model": API, "messages": [{"role": "owner", "content": "Hello"}]},
        openai.BadRequestError,
        400,
        "invalid_request",
        "messages[0].role",
    ),
    "an unknown model": Failure(ask("gpt-2"), openai.NotFoundError, 404, "model_not_found", "model"),
    "a retired model": Failure(ask("api/sonar-reasoning"), openai.NotFoundError, 404, "model_not_found", "model"),
    "an upstream that breaks": Failure(
        ask(API, "fault:upstream_500 Why?"), openai.InternalServerError, 502, "upstream_error"
    ),
    "a session that breaks": Failure(
        ask(SESSION, "fault:upstream_500 Why?"),
        openai.InternalServerError,
        502,
        "upstream_error",
    ),
    "our key is dead": Failure(
        ask(API, "fault:upstream_401 Why?"), openai.InternalServerError, 502, "upstream_auth", final=True
    ),
    "our session is dead": Failure(
        ask(SESSION, "fault:upstream_401 Why?"), openai.InternalServerError, 503, "session_expired", final=True
    ),
    "a challenge page": Failure(
        ask(SESSION, "fault:upstream_html Why?"), openai.InternalServerError, 503, "session_blocked", final=True
    ),
    "the balance is gone": Failure(
        ask(API, "fault:upstream_402 Why?"), openai.APIStatusError, 402, "insufficient_quota", final=True
    ),
    "the plan's quota is gone": Failure(
        ask(SESSION, "fault:quota_gone Why?"), openai.RateLimitError, 429, "quota_exhausted", final=True
    ),
    "an answer without a word": Failure(ask(API, "fault:empty Why?"), openai.InternalServerError, 502, "empty_answer"),
}
every_failure = pytest.mark.parametrize("failure", FAILURES.values(), ids=FAILURES)
streamed_or_not = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


async def failed(sdk: Sdk, body: dict[str, Any], *, streamed: bool) -> openai.APIStatusError:
    asking = sdk.streamed(**body) if streamed else sdk.plain(**body)
    with pytest.raises(openai.APIStatusError) as caught:
        await asking
    return caught.value


@every_failure
@streamed_or_not
async def test_a_failure_before_the_answer_is_the_exception_for_its_status(
    sdk: Sdk, failure: Failure, streamed: bool
) -> None:
    error = await failed(sdk, failure.body, streamed=streamed)
    assert type(error) is failure.kind
    assert (error.status_code, error.code, error.param) == (failure.status, failure.code, failure.param)
    assert error.type
    assert error.request_id
    assert error.response.headers["content-type"] == "application/json"
    assert not any(secret in str(error) for secret in SECRETS)


@pytest.fixture
async def patient(both: Rig, sdk: Sdk) -> AsyncGenerator[Sdk, None]:
    """A client that repeats what may be repeated, as the SDK does by itself."""
    opened = type(sdk)(both.url, retries=2)
    yield opened
    await opened.close()


FINAL = {name: failure for name, failure in FAILURES.items() if failure.final}


@pytest.mark.parametrize("failure", FINAL.values(), ids=FINAL)
@streamed_or_not
async def test_what_a_repeat_cannot_mend_is_asked_once(
    patient: Sdk, both: Rig, failure: Failure, streamed: bool
) -> None:
    error = await failed(patient, failure.body, streamed=streamed)
    assert error.response.headers["x-should-retry"] == "false"
    assert "retry-after" not in error.response.headers
    assert len(await both.requests(ASK_PATH)) + len(await both.requests(AGENT)) == 1


@streamed_or_not
async def test_what_a_repeat_may_mend_is_repeated(patient: Sdk, both: Rig, streamed: bool) -> None:
    await both.script(AGENT, {"status": 500, "steps": [{"bytes": "{}"}]}, agent_steps())
    if streamed:
        assert await patient.streamed(**ask(API))
    else:
        assert await patient.plain(**ask(API))
    assert len(await both.requests(AGENT)) == 2


@pytest.mark.parametrize(("model", "seconds"), [(API, "1"), (SESSION, "3")])
async def test_a_throttle_says_how_long_to_wait(tmp_path: Path, model: str, seconds: str) -> None:
    """The gateway itself tries again before it gives up, so its clock runs fast here."""
    async with running(tmp_path, factor=50.0) as rig:
        sdk = AsyncSdk(rig.url)
        for streamed in (False, True):
            error = await failed(sdk, ask(model, "fault:upstream_429 Why?"), streamed=streamed)
            assert type(error) is openai.RateLimitError
            assert (error.code, error.response.headers["retry-after"]) == ("rate_limit_exceeded", seconds)
        await sdk.close()


@streamed_or_not
async def test_a_call_that_nobody_allowed_is_no_answer(patient: Sdk, both: Rig, streamed: bool) -> None:
    call = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "tide_table", "arguments": "{}"}
    done: Json = {"type": "response.output_item.done", "output_index": 0, "item": call, "sequence_number": 1}
    await both.script(AGENT, agent_steps([A_BASE[0], done]))
    error = await failed(patient, ask(API), streamed=streamed)
    assert (error.status_code, error.code) == (502, "tool_protocol_error")
    assert error.response.headers["x-should-retry"] == "false"
    assert len(await both.requests(AGENT)) == 1


@streamed_or_not
async def test_a_wrong_key_is_an_authentication_error(both: Rig, sdk: Sdk, streamed: bool) -> None:
    stranger = type(sdk)(both.url, key="gk-somebody-else")
    error = await failed(stranger, ask(API), streamed=streamed)
    assert type(error) is openai.AuthenticationError
    assert (error.code, error.param) == ("invalid_api_key", None)
    assert error.response.headers["www-authenticate"] == "Bearer"
    assert "gk-somebody-else" not in str(error)
    await stranger.close()
    assert await both.requests(ASK_PATH) == await both.requests(AGENT) == []


BREAKS = {
    "api, the connection": (ask(API, "fault:midstream_drop Why is the sky blue?"), "upstream_truncated"),
    "api, an error event": (ask(API, "fault:midstream_error Why is the sky blue?"), "upstream_error"),
    "session, the connection": (ask(SESSION, "fault:midstream_drop Why is the sky blue?"), "upstream_truncated"),
    "session, an error frame": (ask(SESSION, "fault:midstream_error Why is the sky blue?"), "upstream_error"),
}
every_break = pytest.mark.parametrize(("body", "code"), BREAKS.values(), ids=BREAKS)


@every_break
async def test_a_stream_that_breaks_raises_after_the_text_that_came(sdk: Sdk, body: dict[str, Any], code: str) -> None:
    texts: list[str] = []
    finishes: list[str] = []

    async def read() -> None:
        async for chunk in sdk.reading(**body):
            texts.extend(choice.delta.content for choice in chunk.choices if choice.delta.content)
            finishes.extend(choice.finish_reason for choice in chunk.choices if choice.finish_reason)

    with pytest.raises(openai.APIError) as broken:
        await read()
    assert (type(broken.value), broken.value.code, broken.value.type) == (openai.APIError, code, "api_error")
    assert broken.value.message
    assert "".join(texts).strip()
    assert finishes == []


@every_break
async def test_the_stream_helper_gives_no_final_answer_for_a_broken_stream(
    sdk: Sdk, body: dict[str, Any], code: str
) -> None:
    with pytest.raises(openai.APIError) as broken:
        await sdk.helped(**body)
    assert broken.value.code == code


@every_break
async def test_a_break_is_a_502_where_nothing_was_streamed(sdk: Sdk, body: dict[str, Any], code: str) -> None:
    error = await failed(sdk, body, streamed=False)
    assert (type(error), error.status_code, error.code) == (openai.InternalServerError, 502, code)


@pytest.mark.parametrize("model", [API, SESSION])
async def test_a_stream_that_is_left_early_ends_the_upstreams_work(sdk: Sdk, both: Rig, model: str) -> None:
    path, steps = (AGENT, agent_steps()[:7]) if model == API else (ASK_PATH, session_steps()[:3])
    await both.script(path, [*steps, LONG])
    async with aclosing(sdk.reading(**ask(model))) as chunks:
        async for chunk in chunks:
            if chunk.choices[0].delta.content:
                break
    (left,) = await both.wait(path, closed=True)
    assert not left["ended"]
    assert await sdk.plain(**ask(model)), "the client's connections still work"


@pytest.mark.parametrize("model", [API, SESSION])
async def test_a_caller_whose_patience_ends_frees_the_upstream(both: Rig, sdk: Sdk, model: str) -> None:
    path = AGENT if model == API else ASK_PATH
    await both.script(path, {"delay": 600.0, "steps": []})
    with pytest.raises(openai.APITimeoutError):
        await sdk.plain(**ask(model), timeout=0.5)
    await both.wait(path, closed=True)
