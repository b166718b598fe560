"""Sources, extras and money."""

import json
from typing import Any

import pytest

from tests.cases.scripts import (
    ASK,
    CLEANED,
    TEXT,
    URLS,
    W_BASE,
    Json,
    agent_events,
    agent_steps,
    session_steps,
)
from tests.rig import AGENT, ASK_PATH, Rig

PNG = "https://img.example/l.png"
MEDIA_ITEM: Json = {"medium": "image", "image": PNG, "url": URLS[0], "name": "Leie"}


def spans(annotations: list[dict[str, Any]]) -> list[tuple[int, int, str]]:
    cited = [annotation["url_citation"] for annotation in annotations]
    return [(c["start_index"], c["end_index"], c["url"]) for c in cited]


async def test_sources_survive_streaming(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    stream = await api.stream(ASK)
    assert stream.content == TEXT
    assert stream.finish["citations"] == URLS
    results = [(r["title"], r["url"], r["date"]) for r in stream.finish["search_results"]]
    assert results == [("Leie", URLS[0], "2026-02-03"), ("Scheldt", URLS[1], None)]
    assert spans(stream.annotations) == [(8, 11, URLS[0]), (29, 32, URLS[1])]
    assert (stream.content[8:11], stream.content[29:32]) == ("[1]", "[2]")


async def test_sources_come_with_the_first_chunk_for_clients_that_read_no_other(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    stream = await api.stream(ASK)
    assert stream.chunks[0]["citations"] == URLS


async def test_sonar_forces_the_search_that_sonar_always_made(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    await api.stream(ASK)
    (asked,) = await api.requests(AGENT)
    assert asked["json"] == {
        "model": "perplexity/sonar",
        "input": [{"type": "message", "role": "user", "content": "Which two rivers meet in Ghent?"}],
        "tools": [{"type": "web_search"}],
        "tool_choice": {"type": "web_search"},
        "stream": True,
    }


async def test_the_sessions_marks_are_stripped_and_their_places_kept(session: Rig) -> None:
    await session.script(ASK_PATH, session_steps(), session_steps())
    stream = await session.stream(ASK)
    assert stream.content == CLEANED
    assert spans(stream.annotations) == [(8, 8, URLS[0]), (26, 26, URLS[1])]
    assert stream.finish["citations"] == URLS
    reply = await session.chat(ASK)
    assert reply.content == CLEANED
    assert spans(reply.json["choices"][0]["message"]["annotations"]) == spans(stream.annotations)


async def test_sources_stand_in_the_plain_answer(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    reply = await api.chat(ASK)
    assert reply.content == TEXT
    assert reply.json["citations"] == URLS
    assert [r["url"] for r in reply.json["search_results"]] == URLS
    assert spans(reply.json["choices"][0]["message"]["annotations"]) == [(8, 11, URLS[0]), (29, 32, URLS[1])]
    (asked,) = await api.requests(AGENT)
    assert asked["json"]["stream"] is True


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_source_list_is_appended_on_request(api: Rig, streamed: bool) -> None:
    await api.script(AGENT, agent_steps())
    body = {**ASK, "source_list": "append"}
    content = (await api.stream(body)).content if streamed else (await api.chat(body)).content
    assert content.startswith(TEXT)
    assert [content.count(url) for url in URLS] == [1, 1]


async def test_marks_become_links_on_request(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    stream = await api.stream({**ASK, "citation_marks": "link"})
    assert stream.content == f"The Leie[1]({URLS[0]}) meets the Scheldt[2]({URLS[1]})."
    for start, end, url in spans(stream.annotations):
        assert url in stream.content[start:end]


async def test_marks_are_ids_and_not_positions(api: Rig) -> None:
    text = "Founded in 1830[2]; renamed later[web:4]."
    pages: list[Json] = [{"id": n, "url": f"https://{w}.example", "title": w} for n, w in ((2, "two"), (4, "four"))]
    await api.script(AGENT, agent_steps(agent_events(text, sources=pages)))
    stream = await api.stream(ASK)
    assert stream.content == text
    assert spans(stream.annotations) == [(15, 18, "https://two.example"), (33, 40, "https://four.example")]
    assert [r["id"] for r in stream.finish["search_results"]] == [2, 4]
    by_id = {2: "https://two.example", 4: "https://four.example"}
    for number, url in enumerate(stream.finish["citations"], start=1):
        assert url in ("", by_id.get(number))
    assert set(by_id.values()) <= set(stream.finish["citations"])


async def test_related_questions_are_the_sessions_and_a_warning_on_the_api(both: Rig) -> None:
    body = {**ASK, "return_related_questions": True}
    await both.script(ASK_PATH, session_steps())
    await both.script(AGENT, agent_steps())
    on_session = await both.stream({**body, "model": "session/sonar"})
    assert on_session.finish["related_questions"] == ["How long is the Leie?"]
    on_api = await both.stream({**body, "model": "api/sonar"})
    assert isinstance(on_api.finish.get("related_questions", []), list)
    assert "return_related_questions" in on_api.headers["x-pplx-dropped"]


async def test_images_are_found_by_a_tool_on_the_api(api: Rig) -> None:
    found: Json = {
        "type": "image_search_results",
        "results": [{"image_url": PNG, "origin_url": URLS[0], "width": 4, "height": 3, "title": "Leie"}],
    }
    events = agent_events(TEXT)
    item: Json = {"type": "response.output_item.done", "output_index": 0, "item": found, "sequence_number": 5}
    await api.script(AGENT, agent_steps([*events[:5], item, *events[5:]]))
    stream = await api.stream({**ASK, "return_images": True, "image_format_filter": ["png"]})
    (image,) = stream.finish["images"]
    assert (image["image_url"], image["origin_url"], image["title"]) == (PNG, URLS[0], "Leie")
    (asked,) = await api.requests(AGENT)
    (tool,) = [tool for tool in asked["json"]["tools"] if tool["type"] == "image_search"]
    assert tool["filters"] == {"format_filter": ["png"]}


@pytest.mark.parametrize("form", ["block", "top level"])
async def test_images_of_the_session_come_in_two_forms_and_a_bad_one_is_skipped(session: Rig, form: str) -> None:
    items = [MEDIA_ITEM, {"medium": "image", "name": "nothing to show"}]
    last = dict(W_BASE[-1])
    if form == "block":
        block = {"intended_usage": "media_items", "media_block": {"media_items": items}}
        last["blocks"] = [*last["blocks"], block]  # type: ignore[misc]
    else:
        last["media_items"] = items
    await session.script(ASK_PATH, session_steps([*W_BASE[:-1], last]))
    stream = await session.stream({**ASK, "return_images": True})
    (image,) = stream.finish["images"]
    assert (image["image_url"], image["origin_url"], image["title"]) == (PNG, URLS[0], "Leie")


async def test_the_cost_is_the_upstreams_to_the_last_digit(api: Rig) -> None:
    await api.script(AGENT, agent_steps())
    usage = (await api.chat(ASK)).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 9, 29)
    assert json.dumps(usage["cost"]["total_cost"]) == "0.00503"
    assert usage["num_search_queries"] == 1


async def test_the_session_tells_no_cost_and_marks_its_counts_as_estimates(session: Rig) -> None:
    await session.script(ASK_PATH, session_steps())
    usage = (await session.chat(ASK)).json["usage"]
    assert usage["cost"] is None
    assert usage["estimated"] is True
    assert usage["prompt_tokens"] + usage["completion_tokens"] == usage["total_tokens"]


async def test_usage_comes_only_when_asked_and_after_the_finish(api: Rig) -> None:
    await api.script(AGENT, agent_steps(), agent_steps())
    assert not [chunk for chunk in (await api.stream(ASK)).chunks if not chunk["choices"]]
    stream = await api.stream({**ASK, "stream_options": {"include_usage": True}})
    (counted,) = [chunk for chunk in stream.chunks if not chunk["choices"]]
    assert stream.chunks[-1] is not stream.finish
    assert stream.chunks[-1] == counted
    usage = counted["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 9, 29)
    assert all(chunk["usage"] is None for chunk in stream.chunks[:-1])


async def test_an_answer_without_sources_still_has_its_lists(api: Rig) -> None:
    await api.script(
        AGENT, agent_steps([e for e in agent_events("Yes.", sources=()) if "search" not in str(e["type"])])
    )
    reply = await api.chat(ASK)
    assert reply.content == "Yes."
    assert reply.json["choices"][0]["message"]["annotations"] == []
