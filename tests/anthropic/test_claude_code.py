"""Claude Code's own requests, replayed on the running program: answered, or refused so that the client can show it."""

from pathlib import Path

import httpx2
import pytest

from tests.anthropic import claude_code
from tests.anthropic.asking import Json, image, result
from tests.anthropic.claude_code import asked, read, results, turn
from tests.anthropic.readings import check_error, check_message, check_stream
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer, running

UPSTREAMS = pytest.mark.parametrize("order", [("session",), ("api",)], ids=["session", "api"])
ASKING = asked("Use Read for '/home/me/tides.txt'.")
LONGEST_LINE = 4_000


async def send(rig: Rig, body: Json, path: str = "/v1/messages") -> httpx2.Response:
    headers = {**claude_code.HEADERS, **bearer(KEY)}
    return await rig.client.post(f"{rig.url}{path}?beta=true", json=body, headers=headers)


async def answered(rig: Rig, body: Json) -> Json:
    reply = await send(rig, body)
    assert reply.status_code == 200, reply.text
    message = check_stream(reply.content) if body.get("stream") else check_message(reply.json())
    await rig.check()
    return message


def kinds(message: Json) -> list[str]:
    return [block["type"] for block in message["content"]]


@UPSTREAMS
async def test_a_turn_with_many_tools_ends_in_a_call_and_its_result_in_an_answer(
    tmp_path: Path, order: tuple[str, ...]
) -> None:
    async with running(tmp_path, order=order) as rig:
        first = await answered(rig, turn(ASKING))
        call = first["content"][-1]
        assert (call["type"], call["name"]) == ("tool_use", "Read")
        assert first["stop_reason"] == "tool_use"
        given = results(result("     1\tHigh water at 06:12.", call["id"]))
        second = await answered(rig, turn(ASKING, {"role": "assistant", "content": first["content"]}, given))
    assert "High water at 06:12." in "".join(block.get("text", "") for block in second["content"])
    assert second["stop_reason"] == "end_turn"


@UPSTREAMS
async def test_a_later_turn_with_everything_that_piles_up_is_taken(tmp_path: Path, order: tuple[str, ...]) -> None:
    history = [
        ASKING,
        read("toolu_1"),
        results(result([{"type": "text", "text": "a map"}, image()], "toolu_1")),
        {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "Ok."}]},
        asked("And the other?"),
        read("toolu_2"),
        results(
            result("<tool_use_error>File does not exist.</tool_use_error>", "toolu_2", is_error=True),
            {"type": "text", "text": "[Request interrupted by user]"},
        ),
        {"role": "system", "content": "The date has changed."},
        asked("Which two rivers meet in Ghent?"),
    ]
    async with running(tmp_path, order=order) as rig:
        reply = await send(rig, turn(*history))
        assert reply.status_code == 200, reply.text
        message = check_stream(reply.content)
        asked_upstream = [*await rig.requests(ASK_PATH), *await rig.requests(AGENT)]
    assert "text" in kinds(message)
    assert len(asked_upstream) == 1
    dropped = reply.headers["x-pplx-dropped"].split(", ")
    for name in ("cache_control", "tools[].defer_loading", "context_management", "metadata.user_id"):
        assert name in dropped
    assert ("max_tokens" in dropped) is (order == ("session",))
    assert claude_code.METADATA["user_id"] not in str(asked_upstream[0]["json"])


@UPSTREAMS
async def test_its_web_search_sees_the_searches_and_the_pages(tmp_path: Path, order: tuple[str, ...]) -> None:
    async with running(tmp_path, order=order) as rig:
        message = await answered(rig, claude_code.SEARCH)
    uses = [block for block in message["content"] if block["type"] == "server_tool_use"]
    pages = [
        page for block in message["content"] if block["type"] == "web_search_tool_result" for page in block["content"]
    ]
    assert all(use["name"] == "web_search" and use["input"]["query"] for use in uses)
    assert all(page["title"] and page["url"].startswith("https://") for page in pages)
    assert uses
    assert pages
    assert kinds(message)[-1] == "text"


@UPSTREAMS
async def test_its_small_questions_are_answered(tmp_path: Path, order: tuple[str, ...]) -> None:
    async with running(tmp_path, order=order) as rig:
        assert kinds(await answered(rig, claude_code.QUOTA)) == ["text"]
        count = await send(rig, claude_code.COUNT, "/v1/messages/count_tokens")
    assert count.status_code == 200
    assert count.json()["input_tokens"] > 0


async def test_a_title_in_a_form_is_written_by_the_api_and_refused_by_the_session(tmp_path: Path) -> None:
    async with running(tmp_path / "api", order=("api",)) as rig:
        message = await answered(rig, claude_code.TITLE)
        assert message["content"][0]["text"].startswith("{")
    async with running(tmp_path / "session", order=("session",)) as rig:
        reply = await send(rig, claude_code.TITLE)
        assert reply.status_code == 400
        assert "output_config.format" in check_error(reply.json())["message"]
        assert not await rig.requests(ASK_PATH)


async def test_what_is_too_long_for_the_session_is_told_in_words_that_the_client_knows(tmp_path: Path) -> None:
    lines = "High water at 06:12, low water at 12:40.\n" * LONGEST_LINE
    conversation = (ASKING, read("toolu_1"), results(result(lines, "toolu_1")))
    async with running(tmp_path) as rig:
        for streamed in (False, True):
            reply = await send(rig, turn(*conversation, stream=streamed))
            assert reply.status_code == 400
            found = check_error(reply.json())
            assert found["type"] == "invalid_request_error"
            assert found["message"].startswith("prompt is too long: ")
            assert "96000" in found["message"]
            assert reply.headers.get("x-should-retry") != "true"
        assert not await rig.requests(ASK_PATH)


async def test_the_owner_may_let_the_whole_prompt_through(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",), system_prompts="full") as rig:
        await answered(rig, turn(asked("Which two rivers meet in Ghent?"), tools=[]))
        (sent,) = await rig.requests(ASK_PATH)
    assert "You are Claude Code" in sent["json"]["query_str"]


async def test_the_program_says_hello_to_a_gateway_that_is_there(both: Rig) -> None:
    """Before its first question it looks whether the address answers at all."""
    reply = await both.client.head(f"{both.url}/", headers={"user-agent": "Bun/1.3.10"})
    assert reply.status_code < 500
