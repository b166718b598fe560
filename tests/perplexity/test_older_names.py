"""Search fields by the names and values that other gateways document, on every face that takes them: what reaches the
API, and what the caller is told."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from tests.rig import AGENT, KEY, Reply, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

QUESTION = "Which two rivers meet in Ghent?"
MESSAGES = [{"role": "user", "content": QUESTION}]
FACES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"messages": MESSAGES},
    "/v1/responses": {"input": QUESTION},
    "/v1/sonar": {"messages": MESSAGES},
    "/v1/agent": {"input": QUESTION},
}
FACE = pytest.mark.parametrize("path", FACES)
PLACE = {"latitude": 40.7128, "longitude": -74.006, "city": "New York", "country": "US", "region": "NY"}
OPTIONS = {"search_context_size": "high", "user_location": PLACE, "image_search_relevance_enhanced": True}
USED: tuple[tuple[dict[str, Any], dict[str, Any]], ...] = (
    ({"search_mode": "web"}, {}),
    ({"search_domain_filter": ["news.example.com"]}, {"filters": {"search_domain_filter": ["news.example.com"]}}),
    ({"search_recency_filter": "week"}, {"filters": {"search_recency_filter": "week"}}),
    (
        {"search_after_date_filter": "2026-03-01", "search_before_date_filter": "2026-03-31T00:00:00Z"},
        {"filters": {"search_after_date_filter": "03/01/2026", "search_before_date_filter": "03/31/2026"}},
    ),
    ({"last_updated_after_filter": "2026-03-01"}, {"filters": {"last_updated_after_filter": "03/01/2026"}}),
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("names"), order=("api",), factor=10.0) as rig:
        yield rig


@pytest_asyncio.fixture(loop_scope="module")
async def rig(opened: Rig) -> Rig:
    await opened.client.delete(f"{opened.emulator_url}/_emulator/requests")
    return opened


async def ask(rig: Rig, path: str, fields: dict[str, Any]) -> Reply:
    sent = {"model": "sonar", **FACES[path], **fields}
    reply = await rig.client.post(rig.url + path, json=sent, headers=bearer(KEY))
    assert reply.status_code == 200, reply.text
    return Reply(reply.status_code, reply.headers, reply.json())


async def last_sent(rig: Rig) -> dict[str, Any]:
    body: dict[str, Any] = (await rig.requests(AGENT))[-1]["json"]
    return body


@FACE
async def test_search_fields_reach_the_api_in_its_own_forms(rig: Rig, path: str) -> None:
    for fields, tool in USED:
        reply = await ask(rig, path, fields)
        assert (await last_sent(rig))["tools"] == [{"type": "web_search", **tool}], fields
        assert not {"x-pplx-dropped", "x-pplx-warnings"} & set(reply.headers), fields


@FACE
@pytest.mark.parametrize("listed", [False, True], ids=["object", "list of one"])
async def test_search_options_are_an_object_or_a_list_of_one(rig: Rig, path: str, listed: bool) -> None:
    reply = await ask(rig, path, {"web_search_options": [OPTIONS] if listed else OPTIONS})
    (tool,) = (await last_sent(rig))["tools"]
    assert tool == {"type": "web_search", "search_context_size": "high", "user_location": PLACE}
    assert reply.headers["x-pplx-dropped"] == "web_search_options.image_search_relevance_enhanced"


@FACE
async def test_options_that_do_nothing_any_more_are_told_by_the_names_that_were_written(rig: Rig, path: str) -> None:
    idle = {"search_type": "pro", "image_results_enhanced_relevance": True, "user_location": {"timezone": "Etc/UTC"}}
    reply = await ask(rig, path, {"web_search_options": idle})
    told = {"search_type", "image_results_enhanced_relevance", "user_location.timezone"}
    assert set(reply.headers["x-pplx-dropped"].split(", ")) == {f"web_search_options.{name}" for name in told}
    assert "timezone" in reply.headers["x-pplx-warnings"]


@FACE
async def test_the_mode_for_news_is_explained(rig: Rig, path: str) -> None:
    reply = await ask(rig, path, {"search_mode": "news"})
    assert "'news' does not exist any more" in reply.headers["x-pplx-warnings"]
    assert (await last_sent(rig))["tools"] == [{"type": "web_search"}]


@FACE
async def test_minimal_effort_is_taken_and_sent_as_it_is(rig: Rig, path: str) -> None:
    for fields in ({"reasoning": {"effort": "minimal"}}, {"reasoning_effort": "minimal"}):
        await ask(rig, path, fields)
        assert (await last_sent(rig))["reasoning"] == {"effort": "minimal"}


@pytest.mark.parametrize("path", [path for path in FACES if path != "/v1/agent"])
async def test_what_only_other_gateways_had_is_told_or_kept(rig: Rig, path: str) -> None:
    overrides = {"return_images": True, "return_videos": True}
    reply = await ask(rig, path, {"media_response": {"overrides": overrides}, "enable_search_classifier": True})
    assert {"type": "image_search"} in (await last_sent(rig))["tools"]
    dropped = set(reply.headers["x-pplx-dropped"].split(", "))
    assert dropped == {"media_response.overrides.return_videos", "enable_search_classifier"}


async def test_the_session_is_told_of_them_too(tmp_path_factory: pytest.TempPathFactory) -> None:
    async with running(tmp_path_factory.mktemp("session"), order=("session",), factor=10.0) as rig:
        options = {"search_type": "fast", "image_search_relevance_enhanced": True}
        reply = await ask(rig, "/v1/agent", {"web_search_options": options})
    told = {f"web_search_options.{name}" for name in options}
    assert told <= set(reply.headers["x-pplx-dropped"].split(", "))
