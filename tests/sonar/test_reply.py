"""Whole answers: the fields of the retired API, filled by either upstream."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from pplx_gateway.protocols.perplexity.sonar.routes import SONAR_PATHS
from tests.cases.scripts import CLEANED, S1, S2, TEXT, URLS, W_BASE, Json, agent_events, agent_steps, session_steps
from tests.rig import AGENT, ASK_PATH, Rig
from tests.sonar.calling import ask, refused

WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "description": "The weather of a city", "parameters": {"type": "object"}},
}


async def test_an_answer_of_the_api_has_every_field_of_sonar(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    found = (await ask(both, web_search_options={"search_context_size": "high"})).json
    assert found["choices"][0]["message"] == {"role": "assistant", "content": TEXT}
    assert found["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert (found["model"], found["type"]) == ("sonar", "message")
    assert found["citations"] == URLS
    assert found["search_results"] == [S1, S2]
    usage = found["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (20, 9, 29)
    assert (usage["num_search_queries"], usage["search_context_size"]) == (1, "high")


async def test_an_answer_of_the_session_has_them_too_and_no_price(both: Rig) -> None:
    await both.script(ASK_PATH, session_steps())
    found = (await ask(both, model="session/sonar", return_related_questions=True)).json
    assert found["choices"][0]["message"]["content"] == CLEANED
    assert found["citations"] == URLS
    assert [result["title"] for result in found["search_results"]] == ["Leie", "Scheldt"]
    assert found["related_questions"] == ["How long is the Leie?"]
    assert found["usage"]["cost"] is None
    assert found["usage"]["estimated"] is True


@pytest.mark.parametrize("path", SONAR_PATHS)
async def test_every_address_answers_in_the_same_words(both: Rig, path: str) -> None:
    await both.script(AGENT, agent_steps())
    assert (await ask(both, path)).json["citations"] == URLS
    assert (await refused(both, path=path, model=5))["param"] == "model"
    assert (await both.post({}, path=path, key="wrong")).error["code"] == 401


async def test_openai_keeps_its_own_path(both: Rig) -> None:
    reply = await both.post({"model": "nobody", "messages": [{"role": "user", "content": "Hello"}]})
    assert reply.error["code"] == "model_not_found"


async def test_the_mirror_asks_the_api_wherever_it_has_a_key(both: Rig) -> None:
    await ask(both)
    assert (len(await both.requests(AGENT)), len(await both.requests(ASK_PATH))) == (1, 0)


async def test_money_is_passed_on_to_the_last_digit(both: Rig) -> None:
    cost = {"currency": "USD", "input_cost": 0.0000171, "output_cost": 0.1234567, "tool_calls_cost": 0.0225}
    usage: Json = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12, "cost": {**cost, "total_cost": 0.1459738}}
    for model, fee in (("sonar-pro", "request_cost"), ("sonar-deep-research", "search_queries_cost")):
        await both.script(AGENT, agent_steps(agent_events("Low.", usage=usage)))
        found = (await ask(both, model=model)).json["usage"]["cost"]
        expected = {"total_cost": 0.1459738, "input_tokens_cost": 0.0000171, "output_tokens_cost": 0.1234567}
        assert found == {**expected, fee: 0.0225}


async def test_no_price_is_made_up(both: Rig) -> None:
    usage: Json = {"input_tokens": 5, "output_tokens": 7, "total_tokens": 12}
    await both.script(AGENT, agent_steps(agent_events("Low.", usage=usage)))
    assert (await ask(both)).json["usage"]["cost"] is None


def pictures(*media: Mapping[str, object]) -> list[Any]:
    """The session's frames, the last of which brings images."""
    frames: list[Any] = json.loads(json.dumps(W_BASE))
    frames[-1]["blocks"].append({"intended_usage": "media_items", "media_block": {"media_items": list(media)}})
    return frames


async def test_images_have_every_key_that_clients_insist_on(both: Rig) -> None:
    named = {"medium": "image", "image": "https://img.example/l.png", "url": "https://a.example/leie", "name": "Leie"}
    bare = {"medium": "image", "image": "https://img.example/s.png"}
    await both.script(ASK_PATH, session_steps(pictures(named, bare)))
    first, second = (await ask(both, model="session/sonar", return_images=True)).json["images"]
    assert (first["image_url"], first["origin_url"]) == ("https://img.example/l.png", "https://a.example/leie")
    assert (first["title"], first["caption"], first["url"]) == ("Leie", "Leie", first["image_url"])
    assert second["image_url"] == "https://img.example/s.png"
    assert all(isinstance(image[side], int) for image in (first, second) for side in ("width", "height"))


async def test_num_images_is_kept_to(both: Rig) -> None:
    media = [{"medium": "image", "image": f"https://img.example/{n}.png"} for n in range(3)]
    for most, expected in ((2, 2), (0, None)):
        await both.script(ASK_PATH, session_steps(pictures(*media)))
        found = (await ask(both, model="session/sonar", return_images=True, num_images=most)).json
        assert (len(found["images"]) if expected else found.get("images")) == expected


async def test_a_reasoning_model_tells_its_steps(both: Rig) -> None:
    await both.script(AGENT, agent_steps())
    (step,) = (await ask(both, model="sonar-reasoning-pro")).json["choices"][0]["message"]["reasoning_steps"]
    assert step["type"] == "web_search"
    assert step["web_search"] == {"search_keywords": ["rivers of Ghent"], "search_results": [S1, S2]}


async def test_functions_are_called_and_answered(both: Rig) -> None:
    called = (await ask(both, tools=[WEATHER], tool_choice="required")).json["choices"][0]
    assert called["finish_reason"] == "tool_calls"
    assert called["message"]["content"] == ""
    (call,) = called["message"]["tool_calls"]
    assert call["function"]["name"] == "get_weather"
    result = {"role": "tool", "tool_call_id": call["id"], "content": "It rains in Lyon."}
    turns = [{"role": "user", "content": "Weather in Lyon?"}, called["message"], result]
    said = (await ask(both, messages=turns, tools=[WEATHER])).json["choices"][0]["message"]
    assert "It rains in Lyon." in said["content"]


async def test_a_turn_is_accepted_back_as_it_was_sent(both: Rig) -> None:
    message = (await ask(both, model="sonar-reasoning-pro")).json["choices"][0]["message"]
    assert message["reasoning_steps"]
    turns = [{"role": "user", "content": "Rivers of Ghent?"}, message, {"role": "user", "content": "And of Lyon?"}]
    assert (await ask(both, messages=turns)).status == 200


async def test_a_failed_run_is_an_error_with_its_upstreams_words(both: Rig) -> None:
    await both.script(AGENT, {"steps": [{"bytes": '{"id":"r","status":"failed","error":{"message":"overloaded"}}'}]})
    error = await refused(both, 502)
    assert "overloaded" in error["message"]
    assert (error["type"], error["code"]) == ("upstream_error", 502)


@pytest.mark.parametrize(
    ("status", "seen"), [(402, 402), (429, 429), (500, 500), (503, 503), (401, 502), (403, 502), (404, 404)]
)
async def test_the_upstreams_status_is_kept_unless_it_speaks_of_our_key(both: Rig, status: int, seen: int) -> None:
    body = '{"error":{"message":"no","type":"t","code":1}}'
    await both.script(AGENT, {"status": status, "steps": [{"bytes": body}], "repeat": "forever"})
    assert (await refused(both, seen))["code"] == seen


async def test_what_is_told_beside_the_answer(both: Rig) -> None:
    reply = await ask(both, model="sonar-pro", user="u1", safe_search=True)
    assert reply.headers["x-pplx-requested-model"] == "sonar-pro"
    assert reply.headers["x-pplx-upstream"] == "api"
    assert set(reply.headers["x-pplx-dropped"].split(", ")) == {"user", "safe_search"}
    assert set(reply.json["pplx"]["dropped"]) == {"user", "safe_search"}
