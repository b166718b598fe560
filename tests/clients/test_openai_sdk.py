"""The OpenAI SDK, strict, plain and streamed: answers, their sources, their usage; and the list of models."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import openai
import pytest
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.chat.chat_completion_message import Annotation

from tests.clients.sdk import Sdk
from tests.rig import AGENT, ASK_PATH, Rig

QUESTION = "Which two rivers meet in Ghent?"
ASK: dict[str, Any] = {"messages": [{"role": "user", "content": QUESTION}]}
WITH_USAGE = {"stream_options": {"include_usage": True}}
MARK = re.compile(r"\[(?:web:)?([0-9]+)\]")


class Asked(NamedTuple):
    """`strips`: marks are taken out of the text. `thinks`: reasoning comes along. `answers` is what `model` says then,
    plain and streamed."""

    body: Mapping[str, Any]
    answers: tuple[str, str]
    strips: bool = False
    thinks: bool = False
    estimates: bool = False


ASKED = {
    "session/gpt": Asked({"model": "session/gpt"}, ("gpt", "gpt"), strips=True, estimates=True),
    "session/gpt thinking": Asked(
        {"model": "session/gpt", "reasoning_effort": "high"}, ("gpt", "gpt"), strips=True, thinks=True, estimates=True
    ),
    "session/gpt thinking, as an extra field": Asked(
        {"model": "session/gpt", "extra_body": {"thinking": True}},
        ("gpt", "gpt"),
        strips=True,
        thinks=True,
        estimates=True,
    ),
    "api/sonar": Asked({"model": "api/sonar"}, ("sonar", "sonar")),
    "api/sonar-pro": Asked({"model": "api/sonar-pro"}, ("openai/gpt-5.6-luna", "sonar-pro")),
    "api/medium": Asked({"model": "api/medium"}, ("openai/gpt-6-sol", "medium"), thinks=True),
}
every_model = pytest.mark.parametrize("asked", ASKED.values(), ids=ASKED)


def extra(value: Any) -> dict[str, Any]:
    """What a reply has beyond OpenAI's own fields."""
    found: dict[str, Any] = value.model_extra
    return found


def joined(chunks: Sequence[ChatCompletionChunk], name: str = "content") -> str:
    return "".join(getattr(choice.delta, name, None) or "" for chunk in chunks for choice in chunk.choices)


def check_annotations(content: str, found: Sequence[Annotation], citations: Sequence[str], *, strips: bool) -> None:
    """Each annotation spans its mark, or the point where the mark stood; no mark is left without one."""
    assert found
    for annotation in found:
        cited = annotation.url_citation
        assert cited.title
        marked = content[cited.start_index : cited.end_index]
        if strips:
            assert 0 < cited.start_index == cited.end_index <= len(content)
            assert cited.url in citations
        else:
            (number,) = MARK.fullmatch(marked).groups()  # type: ignore[union-attr]
            assert citations[int(number) - 1] == cited.url
    assert len(MARK.findall(content)) == (0 if strips else len(found))


def check_usage(usage: CompletionUsage | None, asked: Asked) -> None:
    assert usage is not None
    assert usage.prompt_tokens > 0
    assert usage.completion_tokens > 0
    assert usage.prompt_tokens + usage.completion_tokens == usage.total_tokens
    assert extra(usage).get("estimated", False) is asked.estimates
    assert (extra(usage)["cost"] is None) is asked.estimates
    assert usage.prompt_tokens_details is not None
    assert usage.completion_tokens_details is not None


def annotations_of(chunks: Sequence[ChatCompletionChunk]) -> list[Annotation]:
    lists = [extra(choice.delta).get("annotations") for chunk in chunks for choice in chunk.choices]
    (found,) = [annotations for annotations in lists if annotations]
    return [Annotation.model_validate(annotation, strict=True) for annotation in found]


@every_model
async def test_an_answer_has_its_text_its_sources_and_its_usage(sdk: Sdk, asked: Asked) -> None:
    reply = await sdk.plain(**ASK, **asked.body)
    (choice,) = reply.choices
    content = choice.message.content or ""
    assert "Leie" in content
    assert "Scheldt" in content
    assert (choice.finish_reason, choice.index, choice.message.role) == ("stop", 0, "assistant")
    assert reply.model == asked.answers[0]
    assert reply._request_id
    check_annotations(content, choice.message.annotations or [], extra(reply)["citations"], strips=asked.strips)
    assert [r["url"] for r in extra(reply)["search_results"]] == [url for url in extra(reply)["citations"] if url]
    assert bool(extra(choice.message).get("reasoning_content")) is asked.thinks
    check_usage(reply.usage, asked)


@every_model
async def test_a_stream_comes_to_the_same_as_the_plain_answer(sdk: Sdk, asked: Asked) -> None:
    plain = await sdk.plain(**ASK, **asked.body)
    chunks = await sdk.streamed(**ASK, **asked.body, **WITH_USAGE)
    message = plain.choices[0].message
    assert joined(chunks) == message.content
    assert joined(chunks, "reasoning_content") == extra(message).get("reasoning_content", "")
    assert annotations_of(chunks) == message.annotations
    assert len({(c.id, c.created, c.model, c.system_fingerprint) for c in chunks}) == 1
    assert chunks[0].model == asked.answers[1]
    finishing = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].finish_reason]
    assert [chunk.choices[0].finish_reason for chunk in finishing] == ["stop"]
    assert extra(finishing[0])["citations"] == extra(plain)["citations"]
    assert extra(finishing[0])["search_results"] == extra(plain)["search_results"]
    assert chunks[-1].usage == plain.usage


@every_model
async def test_reasoning_comes_before_the_text_and_stays_apart_from_it(sdk: Sdk, asked: Asked) -> None:
    chunks = await sdk.streamed(**ASK, **asked.body)
    kinds = [
        "reasoning" if "reasoning_content" in extra(choice.delta) else "text"
        for chunk in chunks
        for choice in chunk.choices
        if choice.delta.content or "reasoning_content" in extra(choice.delta)
    ]
    assert kinds == sorted(kinds)
    assert ("reasoning" in kinds) is asked.thinks


@every_model
async def test_usage_comes_in_a_stream_when_it_is_asked_for_and_once(sdk: Sdk, asked: Asked) -> None:
    without = await sdk.streamed(**ASK, **asked.body)
    assert not any("usage" in chunk.model_fields_set for chunk in without)
    asked_for = await sdk.streamed(**ASK, **asked.body, **WITH_USAGE)
    assert all("usage" in chunk.model_fields_set for chunk in asked_for)
    (counted,) = [chunk for chunk in asked_for if chunk.usage]
    assert counted is asked_for[-1]
    assert counted.choices == []
    check_usage(counted.usage, asked)


@every_model
async def test_the_stream_helper_puts_the_same_answer_together(sdk: Sdk, asked: Asked) -> None:
    plain = await sdk.plain(**ASK, **asked.body)
    kinds, text, final = await sdk.helped(**ASK, **asked.body, **WITH_USAGE)
    (choice,) = final.choices
    assert text == choice.message.content == plain.choices[0].message.content
    assert (choice.message.role, choice.finish_reason) == ("assistant", "stop")
    assert choice.message.annotations == plain.choices[0].message.annotations
    assert extra(choice.message).get("reasoning_content") == extra(plain.choices[0].message).get("reasoning_content")
    assert final.usage == plain.usage
    assert kinds.count("content.done") == 1
    assert "refusal.delta" not in kinds


@pytest.mark.parametrize("model", ["session/gpt", "api/sonar"])
async def test_marks_are_kept_linked_or_stripped_as_asked_and_annotations_follow(sdk: Sdk, model: str) -> None:
    kept = await sdk.plain(**ASK, model=model, extra_body={"citation_marks": "keep"})
    stripped = await sdk.plain(**ASK, model=model, extra_body={"citation_marks": "strip"})
    linked = await sdk.plain(**ASK, model=model, extra_body={"citation_marks": "link"})
    content = text_of(kept)
    spans = [(a.start_index, a.end_index, a.url) for a in cited(kept)]
    check_annotations(content, kept.choices[0].message.annotations or [], extra(kept)["citations"], strips=False)
    assert MARK.sub("", content) == text_of(stripped)
    gone, points = 0, []
    for start, end, url in spans:
        points.append((start - gone, start - gone, url))
        gone += end - start
    assert [(a.start_index, a.end_index, a.url) for a in cited(stripped)] == points
    assert len(cited(linked)) == len(spans)
    for citation in cited(linked):
        assert text_of(linked)[citation.start_index : citation.end_index].endswith(f"]({citation.url})")


def text_of(reply: ChatCompletion) -> str:
    return reply.choices[0].message.content or ""


def cited(reply: ChatCompletion) -> list[Any]:
    return [annotation.url_citation for annotation in reply.choices[0].message.annotations or []]


@pytest.mark.parametrize("model", ["session/gpt", "api/sonar"])
async def test_a_conversation_goes_on_with_the_message_that_came_back(sdk: Sdk, both: Rig, model: str) -> None:
    """People append the answer's message as the SDK dumps it, annotations and all."""
    first = await sdk.plain(**ASK, model=model)
    said = first.choices[0].message.model_dump(exclude_unset=True)
    again = {"role": "user", "content": "And which of them is longer?"}
    second = await sdk.plain(model=model, messages=[*ASK["messages"], said, again])
    assert text_of(second)
    sent = [request["json"] for request in await both.requests(ASK_PATH if "session" in model else AGENT)]
    if model == "session/gpt":
        assert sent[0]["params"]["last_backend_uuid"] is None
        assert sent[1]["params"]["last_backend_uuid"]
        assert sent[1]["query_str"] == again["content"]
    else:
        turns = [(item["role"], item["content"]) for item in sent[1]["input"]]
        assert turns == [("user", QUESTION), ("assistant", text_of(first)), ("user", again["content"])]


async def test_models_are_listed_and_each_can_be_asked_for_by_its_id(sdk: Sdk) -> None:
    listed = {model.id: model for model in await sdk.models()}
    assert {"auto", "helper", "gpt", "sonar", "sonar-pro", "medium", "perplexity/sonar"} <= set(listed)
    for name, model in listed.items():
        assert await sdk.model(name) == model
        assert model.object == "model"
        assert extra(model)["upstream"] in ("session", "api")
        can = extra(model)["capabilities"]
        assert can["tools"] is (can["chat"] and name != "deep-research"), name
    forced = await sdk.model("api/openai/gpt-6-sol")
    assert (forced.id, extra(forced)["upstream"]) == ("api/openai/gpt-6-sol", "api")
    with pytest.raises(openai.NotFoundError) as unknown:
        await sdk.model("gpt-2")
    assert (unknown.value.code, unknown.value.param) == ("model_not_found", "model")
