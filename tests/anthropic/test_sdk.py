"""Anthropic's SDK for Python on the running program, over both upstreams."""

from collections.abc import AsyncGenerator
from typing import Any

import anthropic
import pydantic
import pytest
from anthropic import AsyncAnthropic
from anthropic.types import Message, TextBlock, ThinkingBlock, ToolUseBlock
from anthropic.types.beta import BetaMessage

from tests.anthropic.asking import PDF, PNG, QUESTION, SEARCH, TIDES, USER, Json, document, image, result, said, text
from tests.anthropic.sdk import checked, client
from tests.cases.asking import let_answer
from tests.rig import AGENT, ASK_PATH, KEY, Rig, running

UPSTREAMS = pytest.mark.parametrize("model", ["claude-sonnet-5", "api/sonar"], ids=["session", "api"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


@pytest.fixture
async def sdk(both: Rig) -> AsyncGenerator[AsyncAnthropic, None]:
    async with client(both.url) as opened:
        yield opened


async def ask(sdk: AsyncAnthropic, *, streamed: bool, **fields: Any) -> Message:
    """The message, by `create` or by the stream helper."""
    whole = {"max_tokens": 2000, "messages": [USER], **fields}
    if not streamed:
        plain: Message = await sdk.messages.create(**whole)
        return checked(plain)
    async with sdk.messages.stream(**whole) as stream:
        pieces = [event.text async for event in stream if event.type == "text"]
        message = await stream.get_final_message()
    assert "".join(pieces) == words(message)
    return checked(message)


def words(message: Message) -> str:
    return "".join(block.text for block in message.content if isinstance(block, TextBlock))


def uses(message: Message) -> list[ToolUseBlock]:
    return [block for block in message.content if isinstance(block, ToolUseBlock)]


@UPSTREAMS
@WAYS
async def test_a_question_is_answered(both: Rig, sdk: AsyncAnthropic, model: str, streamed: bool) -> None:
    message = await ask(sdk, streamed=streamed, model=model)
    assert "Leie" in words(message)
    assert message.stop_reason == "end_turn"
    assert message.usage.input_tokens > 0
    assert message.usage.output_tokens > 0
    (block,) = message.content
    assert isinstance(block, TextBlock)
    assert block.citations
    assert {citation.type for citation in block.citations} == {"web_search_result_location"}
    assert len(await both.requests(AGENT if "api" in model else ASK_PATH)) == 1
    await both.check()


@UPSTREAMS
async def test_both_ways_say_the_same(sdk: AsyncAnthropic, model: str) -> None:
    whole, streamed = [await ask(sdk, streamed=streamed, model=model, tools=[SEARCH]) for streamed in (False, True)]
    for one, other in zip(whole.content, streamed.content, strict=True):
        assert one.type == other.type
        if isinstance(one, TextBlock) and isinstance(other, TextBlock):
            assert (one.text, one.citations) == (other.text, other.citations)
    assert whole.usage.server_tool_use == streamed.usage.server_tool_use
    assert whole.stop_reason == streamed.stop_reason


@UPSTREAMS
@WAYS
async def test_an_offered_search_is_shown(sdk: AsyncAnthropic, model: str, streamed: bool) -> None:
    message = await ask(sdk, streamed=streamed, model=model, tools=[{**SEARCH, "max_uses": 5}])
    kinds = [block.type for block in message.content]
    assert kinds[0] == "server_tool_use"
    assert kinds[-1] == "text"
    assert kinds.count("server_tool_use") == kinds.count("web_search_tool_result") > 0
    found = [each for block in message.content if block.type == "web_search_tool_result" for each in block.content]
    assert found
    assert message.usage.server_tool_use is not None
    assert message.usage.server_tool_use.web_search_requests > 0


@UPSTREAMS
@WAYS
async def test_thoughts_are_shown_to_those_who_asked(sdk: AsyncAnthropic, model: str, streamed: bool) -> None:
    thinking = {"type": "enabled", "budget_tokens": 1024}
    message = await ask(sdk, streamed=streamed, model=model, thinking=thinking)
    first = message.content[0]
    assert isinstance(first, ThinkingBlock)
    assert first.thinking
    assert first.signature
    again = [
        USER,
        {"role": "assistant", "content": message.content},
        {"role": "user", "content": "And which is longer?"},
    ]
    assert words(await ask(sdk, streamed=streamed, model=model, messages=again, thinking=thinking))


@UPSTREAMS
@WAYS
async def test_a_tool_is_called_and_its_result_used(both: Rig, sdk: AsyncAnthropic, model: str, streamed: bool) -> None:
    asked = {"role": "user", "content": "Use tide_table for 'Ostend'."}
    first = await ask(sdk, streamed=streamed, model=model, tools=[TIDES], messages=[asked])
    assert first.stop_reason == "tool_use"
    (call,) = uses(first)
    assert (call.name, call.input) == ("tide_table", {"port": "Ostend"})
    answered = said(result("High water in Ostend is at 06:12.", call.id))
    messages = [asked, {"role": "assistant", "content": first.content}, answered]
    second = await ask(sdk, streamed=streamed, model=model, tools=[TIDES], messages=messages)
    assert "High water in Ostend is at 06:12." in words(second)
    assert second.stop_reason == "end_turn"
    await both.check()


@UPSTREAMS
async def test_tools_are_chosen_as_the_caller_says(sdk: AsyncAnthropic, model: str) -> None:
    asked: Json = {
        "model": model,
        "tools": [TIDES],
        "messages": [{"role": "user", "content": "High water in 'Ostend'?"}],
    }
    for choice in ({"type": "any"}, {"type": "tool", "name": "tide_table", "disable_parallel_tool_use": True}):
        assert len(uses(await ask(sdk, streamed=False, **asked, tool_choice=choice))) == 1
    assert not uses(await ask(sdk, streamed=False, **asked, tool_choice={"type": "none"}))


async def test_several_calls_are_several_blocks(sdk: AsyncAnthropic) -> None:
    distance: Json = {
        "name": "distance",
        "input_schema": {"type": "object", "properties": {"start": {"type": "string"}, "end": {"type": "string"}}},
    }
    asked = {"role": "user", "content": "Use tide_table for 'Ostend', then distance from 'Ghent' to 'Bruges'."}
    for streamed in (False, True):
        message = await ask(sdk, streamed=streamed, model="api/sonar", tools=[TIDES, distance], messages=[asked])
        assert [call.name for call in uses(message)] == ["tide_table", "distance"]


async def test_a_broken_proposal_is_an_error_that_no_client_repeats(both: Rig) -> None:
    asked = {"role": "user", "content": "fault:tool_bad_arguments Use tide_table for 'Ostend'."}
    async with client(both.url, retries=2) as repeating:
        for streamed in (False, True):
            with pytest.raises(anthropic.InternalServerError if not streamed else anthropic.APIStatusError) as broken:
                await ask(repeating, streamed=streamed, model="session/gpt", tools=[TIDES], messages=[asked])
            assert isinstance(broken.value.body, dict)
            assert broken.value.body["error"]["type"] == "api_error"
    assert len(await both.requests(ASK_PATH)) == 2


@UPSTREAMS
async def test_pictures_and_papers_are_looked_at(both: Rig, sdk: AsyncAnthropic, model: str) -> None:
    paper = {"type": "text", "media_type": "text/plain", "data": "High water at 06:12."}
    messages = [said(image(), document(title="Tides"), document(paper), text(QUESTION))]
    assert words(await ask(sdk, streamed=False, model=model, messages=messages))
    if model == "api/sonar":
        (sent,) = await both.requests(AGENT)
        kinds = [part["type"] for part in sent["json"]["input"][-1]["content"]]
        assert kinds == ["input_image", "input_file", "input_file", "input_text"]
        assert sent["json"]["input"][-1]["content"][0]["image_url"] == f"data:image/png;base64,{PNG}"
        assert sent["json"]["input"][-1]["content"][1]["file_data"] == f"data:application/pdf;base64,{PDF}"
    else:
        (sent,) = await both.requests(ASK_PATH)
        assert len(sent["json"]["params"]["attachments"]) == 3


async def test_a_picture_in_a_result_reaches_both_upstreams(both: Rig, sdk: AsyncAnthropic) -> None:
    asked = {"role": "user", "content": "What is on the map?"}
    call = said({"type": "tool_use", "id": "toolu_1", "name": "tide_table", "input": {"port": "x"}}, role="assistant")
    messages = [asked, call, said(result([text("a map"), image()]))]
    for model in ("claude-sonnet-5", "api/sonar"):
        assert await ask(sdk, streamed=False, model=model, messages=messages, tools=[TIDES])
    (session,), (api,) = await both.requests(ASK_PATH), await both.requests(AGENT)
    assert len(session["json"]["params"]["attachments"]) == 1
    assert "toolu_1" in session["json"]["query_str"]
    assert [item["type"] for item in api["json"]["input"]] == [
        "message",
        "function_call",
        "function_call_output",
        "message",
    ]


async def test_an_uploaded_file_is_named_by_its_id(both: Rig, sdk: AsyncAnthropic) -> None:
    form = {"file": ("tides.txt", b"High water at 06:12.", "text/plain")}
    headers = {"authorization": f"Bearer {KEY}"}
    uploaded = await both.client.post(
        f"{both.url}/v1/files", files=form, data={"purpose": "user_data"}, headers=headers
    )
    file_id = uploaded.json()["id"]
    messages = [said(document({"type": "file", "file_id": file_id}), text(QUESTION))]
    assert words(await ask(sdk, streamed=False, model="api/sonar", messages=messages))
    other = [said(document({"type": "file", "file_id": "file-none"}))]
    with pytest.raises(anthropic.NotFoundError) as missing:
        await ask(sdk, streamed=False, model="api/sonar", messages=other)
    assert "messages[0].content[0].source.file_id" in missing.value.message


@UPSTREAMS
async def test_a_limit_is_kept_where_that_can_be_and_told_where_it_cannot(both: Rig, model: str) -> None:
    async with client(both.url) as sdk:
        asked: Json = {"model": model, "max_tokens": 400, "messages": [USER]}
        raw = await sdk.messages.with_raw_response.create(**asked)
    dropped = raw.headers.get("x-pplx-dropped", "")
    if model == "api/sonar":
        (sent,) = await both.requests(AGENT)
        assert (sent["json"]["max_output_tokens"], dropped) == (400, "")
    else:
        assert dropped == "max_tokens"
    assert raw.headers["request-id"] == raw.headers["x-request-id"]


async def test_a_stop_sequence_is_named(both: Rig, sdk: AsyncAnthropic) -> None:
    await let_answer(both, "api", "High water. ", "END of it.", times=2)
    for streamed in (False, True):
        message = await ask(sdk, streamed=streamed, model="api/sonar", stop_sequences=["NEVER", "END"])
        assert (message.stop_reason, message.stop_sequence) == ("stop_sequence", "END")
        assert words(message) == "High water. "


class Tide(pydantic.BaseModel):
    port: str
    metres: float


async def test_an_answer_is_parsed_into_a_model_of_the_callers(sdk: AsyncAnthropic) -> None:
    asked: Any = [{"role": "user", "content": "How high is the tide in 'Ostend', 4.5 or less?"}]
    parsed = await sdk.messages.parse(model="api/sonar", max_tokens=500, messages=asked, output_format=Tide)
    assert parsed.parsed_output == Tide(port="Ostend", metres=4.5)
    async with sdk.messages.stream(model="api/sonar", max_tokens=500, messages=asked, output_format=Tide) as stream:
        final = await stream.get_final_message()
    assert final.parsed_output == Tide(port="Ostend", metres=4.5)
    with pytest.raises(anthropic.BadRequestError, match=r"output_config\.format"):
        await sdk.messages.parse(model="claude-sonnet-5", max_tokens=500, messages=asked, output_format=Tide)


@UPSTREAMS
async def test_the_beta_client_is_served_too(sdk: AsyncAnthropic, model: str) -> None:
    betas = ["context-management-2025-06-27", "interleaved-thinking-2025-05-14"]
    asked: Json = {"model": model, "max_tokens": 500, "messages": [USER], "betas": betas}
    asked["context_management"] = {"edits": [{"type": "clear_tool_uses_20250919"}]}
    message: BetaMessage = await sdk.beta.messages.create(**asked)
    checked(message)
    assert message.content[0].type == "text"


async def test_tokens_are_estimated_and_told_to_be(sdk: AsyncAnthropic) -> None:
    asked: Json = {"model": "claude-opus-5", "messages": [USER]}
    short = await sdk.messages.with_raw_response.count_tokens(**asked)
    assert "estimate" in short.headers["x-pplx-warnings"]
    count = (await short.parse()).input_tokens
    assert 5 <= count <= 30
    more: list[Json] = [
        {"system": "You are brief. " * 100},
        {"tools": [TIDES] * 1},
        {"messages": [said(text(QUESTION), image())]},
        {"messages": [USER, {"role": "assistant", "content": "x" * 4000}, USER]},
    ]
    for fields in more:
        whole = {"model": "api/sonar", "messages": [USER], **fields}
        assert (await sdk.messages.count_tokens(**whole)).input_tokens > count


async def test_counting_refuses_what_asking_refuses(both: Rig, sdk: AsyncAnthropic) -> None:
    wrong: list[tuple[type[anthropic.APIStatusError], Json]] = [
        (anthropic.BadRequestError, {"messages": []}),
        (anthropic.BadRequestError, {"tools": [{"type": "bash_20250124", "name": "bash"}]}),
        (anthropic.NotFoundError, {"model": "claude-9"}),
    ]
    for kind, fields in wrong:
        with pytest.raises(kind):
            await sdk.messages.count_tokens(**{"model": "api/sonar", "messages": [USER], **fields})
    assert not await both.requests(AGENT)


async def test_faults_of_the_upstream_are_errors_of_the_sdk(sdk: AsyncAnthropic) -> None:
    async def failed(words: str, *, streamed: bool) -> anthropic.APIStatusError:
        with pytest.raises(anthropic.APIStatusError) as caught:
            await ask(sdk, streamed=streamed, model="session/gpt", messages=[{"role": "user", "content": words}])
        return caught.value

    whole = await failed("fault:upstream_500 Which?", streamed=False)
    assert (whole.status_code, whole.type) == (502, "api_error")
    cut = await failed("fault:midstream_drop Which two rivers meet in Ghent?", streamed=True)
    assert isinstance(cut.body, dict)
    assert cut.body["error"]["type"] == "api_error"


@pytest.mark.parametrize("way", ["x-api-key", "bearer"])
async def test_the_key_may_come_either_way(both: Rig, way: str) -> None:
    async with AsyncAnthropic(
        base_url=both.url,
        api_key=KEY if way == "x-api-key" else None,
        auth_token=KEY if way == "bearer" else None,
        max_retries=0,
    ) as opened:
        assert await ask(opened, streamed=False, model="api/sonar")
    async with client(both.url, key="wrong") as refused:
        with pytest.raises(anthropic.AuthenticationError):
            await ask(refused, streamed=False, model="api/sonar")


async def test_an_api_alone_answers_to_anthropics_names(tmp_path: Any) -> None:
    async with running(tmp_path, order=("api",)) as rig, client(rig.url) as sdk:
        message = await ask(sdk, streamed=True, model="claude-haiku-5", extra_body={"temperature": 0})
        (sent,) = await rig.requests(AGENT)
    assert sent["json"]["model"] == "anthropic/claude-haiku-5-5"
    assert message.model == "anthropic/claude-haiku-5-5"


async def test_where_the_session_knows_no_temperature_it_says_so(both: Rig, dropping: Rig) -> None:
    async with client(both.url) as strict:
        with pytest.raises(anthropic.BadRequestError, match="temperature"):
            await ask(strict, streamed=False, model="claude-haiku-5", extra_body={"temperature": 0})
    async with client(dropping.url) as lenient:
        asked: Json = {"model": "claude-haiku-5", "max_tokens": 100, "messages": [USER]}
        raw = await lenient.messages.with_raw_response.create(**asked, extra_body={"temperature": 0})
    assert raw.headers["x-pplx-dropped"] == "max_tokens, temperature"
