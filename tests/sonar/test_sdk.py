"""Perplexity's own SDK with nothing changed but its base URL: what the retired API's documentation showed, reworded."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable
from typing import Any

import perplexity
import pytest
from perplexity import AsyncPerplexity, Perplexity

from tests.cases.scripts import TEXT, URLS, agent_steps
from tests.rig import AGENT, ASK_PATH, KEY, Rig
from tests.sonar.calling import QUESTION

MESSAGES: Any = [{"role": "user", "content": QUESTION}]
OPTIONS: Any = {"max_retries": 0, "_strict_response_validation": True}
"""Only what the SDK's types say is taken."""
RESEARCH = {"model": "sonar-deep-research", "messages": MESSAGES}


@pytest.fixture
async def sdk(both: Rig) -> AsyncGenerator[AsyncPerplexity, None]:
    async with AsyncPerplexity(api_key=KEY, base_url=f"{both.url}/perplexity", **OPTIONS) as client:
        yield client


async def in_thread(rig: Rig, work: Callable[[Perplexity], Any]) -> Any:
    """`work` with the synchronous client, beside the loop in which the gateway runs."""

    def run() -> Any:
        with Perplexity(api_key=KEY, base_url=f"{rig.url}/perplexity", **OPTIONS) as client:
            return work(client)

    return await asyncio.to_thread(run)


async def test_a_question_and_its_sources(both: Rig, sdk: AsyncPerplexity) -> None:
    await both.script(AGENT, agent_steps())
    found = await sdk.chat.completions.create(model="sonar", messages=MESSAGES)
    assert found.choices[0].message.content == TEXT
    assert found.citations == URLS
    assert found.search_results
    assert [(result.title, result.url) for result in found.search_results] == [("Leie", URLS[0]), ("Scheldt", URLS[1])]
    assert found.usage
    assert found.usage.cost.total_cost == 0.00503
    assert found.usage.cost.request_cost == 0.005
    assert (found.status, found.type) == ("COMPLETED", "message")


async def test_the_synchronous_client_reads_the_same(both: Rig) -> None:
    await both.script(AGENT, agent_steps(), agent_steps())

    def work(client: Perplexity) -> tuple[str, str]:
        whole = client.chat.completions.create(model="sonar-pro", messages=MESSAGES)
        chunks = list(client.chat.completions.create(model="sonar-pro", messages=MESSAGES, stream=True))
        assert all(chunk.choices[0].message for chunk in chunks)
        assert chunks[0].citations == chunks[-1].citations == whole.citations == URLS
        assert chunks[-1].usage == whole.usage
        return str(whole.choices[0].message.content), "".join(str(chunk.choices[0].delta.content) for chunk in chunks)

    assert await in_thread(both, work) == (TEXT, TEXT)


async def test_a_stream_in_concise_is_routed_by_its_objects(both: Rig, sdk: AsyncPerplexity) -> None:
    steps, text, results, usage, ended = [], "", None, None, []
    stream = await sdk.chat.completions.create(
        model="sonar-pro",
        messages=MESSAGES,
        stream=True,
        stream_mode="concise",
        web_search_options={"search_type": "pro"},
    )
    async for chunk in stream:
        choice = chunk.choices[0]
        if chunk.object == "chat.reasoning":
            steps += choice.delta.reasoning_steps or []
        elif chunk.object == "chat.reasoning.done":
            results = chunk.search_results
            ended.append(choice.message.reasoning_steps)
        elif chunk.object == "chat.completion.chunk":
            text += str(choice.delta.content)
        elif chunk.object == "chat.completion.done":
            usage = chunk.usage
            assert choice.message.content == text
            assert chunk.search_results == results
    assert ended == [steps]
    assert steps[0].web_search
    assert steps[0].web_search.search_keywords
    assert usage
    assert usage.total_tokens
    assert "Leie" in text


async def test_filters_of_the_search(both: Rig, sdk: AsyncPerplexity) -> None:
    await sdk.chat.completions.create(
        model="sonar",
        messages=[{"role": "system", "content": "Be precise and concise."}, *MESSAGES],
        max_tokens=500,
        temperature=0.2,
        top_p=0.9,
        search_domain_filter=["arxiv.org", "nature.com"],
        search_recency_filter="month",
        web_search_options={"search_context_size": "high", "user_location": {"country": "US", "city": "Seattle"}},
        return_images=True,
        return_related_questions=True,
        num_search_results=5,
        language_preference="en",
    )
    (request,) = await both.requests(AGENT)
    search = request["json"]["tools"][0]
    assert search["filters"] == {
        "search_domain_filter": ["arxiv.org", "nature.com"],
        "search_recency_filter": "month",
    }
    assert (search["search_context_size"], search["max_results"]) == ("high", 5)
    assert search["user_location"] == {"country": "US", "city": "Seattle"}


async def test_an_answer_in_the_form_of_a_schema(sdk: AsyncPerplexity) -> None:
    schema: dict[str, object] = {
        "type": "object",
        "properties": {"port": {"type": "string"}, "metres": {"type": "number"}},
        "required": ["port", "metres"],
    }
    found = await sdk.chat.completions.create(
        model="sonar", messages=MESSAGES, response_format={"type": "json_schema", "json_schema": {"schema": schema}}
    )
    assert set(json.loads(str(found.choices[0].message.content))) == {"port", "metres"}


async def test_images_and_files_beside_the_question(both: Rig, sdk: AsyncPerplexity) -> None:
    content: Any = [
        {"type": "text", "text": "Summarise this document."},
        {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}},
        {"type": "file_url", "file_url": {"url": "https://a.example/a.pdf"}, "file_name": "a.pdf"},
    ]
    await sdk.chat.completions.create(model="sonar-pro", messages=[{"role": "user", "content": content}])
    (request,) = await both.requests(AGENT)
    assert [part["type"] for part in request["json"]["input"][0]["content"]] == [
        "input_text",
        "input_image",
        "input_file",
    ]


async def test_deep_research_is_submitted_looked_after_and_read(both: Rig, sdk: AsyncPerplexity) -> None:
    work = sdk.async_.chat.completions
    created = await work.create(request=RESEARCH, idempotency_key="job-1")
    assert created.status == "CREATED"
    assert (await work.create(request=RESEARCH, idempotency_key="job-1")).id == created.id
    for _ in range(600):
        now = await work.get(created.id, local_mode=False)
        if now.status not in ("CREATED", "IN_PROGRESS"):
            break
        await asyncio.sleep(0.05)
    assert now.status == "COMPLETED"
    assert now.response
    assert now.response.choices[0].message.reasoning_steps
    assert now.response.usage
    assert now.response.usage.cost.search_queries_cost
    listed = await work.list()
    assert [(entry.id, entry.status) for entry in listed.requests] == [(created.id, "COMPLETED")]
    assert listed.next_token is None
    assert len(await both.requests(AGENT)) == 1


async def test_the_synchronous_client_reads_results_too(both: Rig) -> None:
    def work(client: Perplexity) -> str:
        later = client.async_.chat.completions
        created = later.create(request={"model": "sonar", "messages": MESSAGES})
        for _ in range(600):
            if (now := later.get(created.id)).status == "COMPLETED" and now.response:
                assert [entry.id for entry in later.list().requests] == [created.id]
                return str(now.response.choices[0].message.content)
            time.sleep(0.05)
        return ""

    assert "Leie" in await in_thread(both, work)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, perplexity.BadRequestError),
        (402, perplexity.APIStatusError),
        (404, perplexity.NotFoundError),
        (409, perplexity.ConflictError),
        (422, perplexity.UnprocessableEntityError),
        (429, perplexity.RateLimitError),
        (500, perplexity.InternalServerError),
        (503, perplexity.InternalServerError),
    ],
)
async def test_what_the_upstream_says_is_raised_as_its_own_kind(
    both: Rig, sdk: AsyncPerplexity, status: int, kind: type[perplexity.APIStatusError]
) -> None:
    body = json.dumps({"error": {"message": "no", "type": "t", "code": status}})
    await both.script(AGENT, {"status": status, "steps": [{"bytes": body}], "repeat": "forever"})
    with pytest.raises(kind) as caught:
        await sdk.chat.completions.create(model="sonar", messages=MESSAGES)
    assert caught.value.status_code == status
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["error"]["code"] == status


async def test_the_gateways_own_refusals_are_raised_as_theirs(both: Rig, sdk: AsyncPerplexity) -> None:
    with pytest.raises(perplexity.NotFoundError):
        await sdk.chat.completions.create(model="r1-1776", messages=MESSAGES)
    with pytest.raises(perplexity.BadRequestError):
        await sdk.chat.completions.create(model="sonar", messages=[])
    with pytest.raises(perplexity.NotFoundError):
        await sdk.async_.chat.completions.get("sonar_nobody")
    async with AsyncPerplexity(api_key="wrong", base_url=f"{both.url}/perplexity", **OPTIONS) as stranger:
        with pytest.raises(perplexity.AuthenticationError):
            await stranger.chat.completions.create(model="sonar", messages=MESSAGES)


async def test_a_broken_stream_raises_and_does_not_look_like_its_end(both: Rig, sdk: AsyncPerplexity) -> None:
    await both.script(AGENT, agent_steps()[:7])
    await both.script("/v1/agent/resp_t1", {"status": 404, "steps": [{"bytes": "{}"}], "repeat": "forever"})
    stream = await sdk.chat.completions.create(model="sonar", messages=MESSAGES, stream=True)
    reasons: list[object] = []

    async def read() -> None:
        async for chunk in stream:
            reasons.extend(choice.finish_reason for choice in chunk.choices)

    with pytest.raises(perplexity.APIStatusError, match="upstream_truncated"):
        await read()
    assert reasons
    assert not any(reasons)


async def test_the_session_is_read_in_the_same_way(session: Rig) -> None:
    """But for its cost, which nobody knows, and on which the SDK's types insist."""
    async with AsyncPerplexity(api_key=KEY, base_url=f"{session.url}/perplexity", max_retries=0) as client:
        found = await client.chat.completions.create(model="sonar-pro", messages=MESSAGES)
        chunks = [
            c async for c in await client.chat.completions.create(model="sonar-pro", messages=MESSAGES, stream=True)
        ]
    assert found.search_results
    assert "".join(str(chunk.choices[0].delta.content) for chunk in chunks) == found.choices[0].message.content
    assert len(await session.requests(ASK_PATH)) == 2
