"""Every parameter that Sonar had: mapped, done by the gateway, or refused by its name; and every bad input."""

import asyncio
import datetime
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.protocols.openai.chat_request import ChatRequest
from pplx_gateway.protocols.perplexity.sonar.fields import OURS, SONAR_FIELDS
from pplx_gateway.protocols.perplexity.sonar.normal import LATEST_DAYS
from pplx_gateway.protocols.perplexity.sonar.request import SonarRequest
from tests.rig import AGENT, ASK_PATH, Rig
from tests.sonar.calling import QUESTION, SONAR, ask, calling, refused

PNG = "data:image/png;base64,iVBORw0KGgo="
PDF = "JVBERi0xLjQK"


async def sent(rig: Rig, **body: Any) -> dict[str, Any]:
    """What the Agent API is asked with."""
    reply = await ask(rig, **body)
    assert reply.status == 200, reply.json
    (request,) = await rig.requests(AGENT)
    found: dict[str, Any] = request["json"]
    return found


def dropped(reply: Any) -> set[str]:
    return set(filter(None, reply.headers.get("x-pplx-dropped", "").split(", ")))


async def test_a_bare_question_forces_a_search(both: Rig) -> None:
    body = await sent(both)
    assert body["model"] == "perplexity/sonar"
    assert body["tools"] == [{"type": "web_search"}]
    assert body["tool_choice"] == {"type": "web_search"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"max_tokens": 1024}, {"max_output_tokens": 1024}),
        ({"temperature": 0.7}, {"temperature": 0.7}),
        ({"temperature": 0.2, "top_p": 0.9}, {"temperature": 0.2, "top_p": 0.9}),
        ({"reasoning_effort": "minimal"}, {"reasoning": {"effort": "minimal"}}),
        ({"language_preference": "fr"}, {"language_preference": "fr"}),
        ({"parallel_tool_calls": True}, {"parallel_tool_calls": True}),
        ({"return_images": True}, {"tools": [{"type": "web_search"}, {"type": "image_search"}]}),
        ({"search_mode": "sec"}, {"tools": [{"type": "web_search"}, {"type": "finance_search"}]}),
    ],
)
async def test_fields_reach_the_api_by_its_names(both: Rig, given: dict[str, Any], expected: dict[str, Any]) -> None:
    body = await sent(both, **given)
    assert {name: body[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("given", "tool"),
    [
        (
            {"search_domain_filter": ["arxiv.org", "HTTPS://Example.org/"]},
            {"filters": {"search_domain_filter": ["arxiv.org", "example.org"]}},
        ),
        ({"search_recency_filter": "month"}, {"filters": {"search_recency_filter": "month"}}),
        ({"search_after_date_filter": "3/1/2026"}, {"filters": {"search_after_date_filter": "03/01/2026"}}),
        ({"published_after": "2026-03-01"}, {"filters": {"search_after_date_filter": "03/01/2026"}}),
        ({"published_before": "03/09/2026"}, {"filters": {"search_before_date_filter": "03/09/2026"}}),
        ({"last_updated_after_filter": "03/01/2026"}, {"filters": {"last_updated_after_filter": "03/01/2026"}}),
        ({"updated_after_timestamp": 1772323200}, {"filters": {"last_updated_after_filter": "03/01/2026"}}),
        ({"updated_before_timestamp": 1772323199}, {"filters": {"last_updated_before_filter": "02/28/2026"}}),
        ({"num_search_results": 7}, {"max_results": 7}),
        ({"web_search_options": {"search_context_size": "medium"}}, {"search_context_size": "medium"}),
        ({"web_search_options": {"user_location": {"country": "BE"}}}, {"user_location": {"country": "BE"}}),
        (
            {"country": "be", "latitude": 51.05, "longitude": 3.72},
            {"user_location": {"country": "BE", "latitude": 51.05, "longitude": 3.72}},
        ),
    ],
)
async def test_search_fields_narrow_the_search(both: Rig, given: dict[str, Any], tool: dict[str, object]) -> None:
    assert (await sent(both, **given))["tools"] == [{"type": "web_search", **tool}]


async def test_latest_updated_means_the_past_month(both: Rig) -> None:
    before = datetime.datetime.now(datetime.UTC).date()
    (tool,) = (await sent(both, latest_updated=True))["tools"]
    after = datetime.datetime.now(datetime.UTC).date()
    days = {f"{day - datetime.timedelta(days=LATEST_DAYS):%m/%d/%Y}" for day in (before, after)}
    assert tool["filters"]["last_updated_after_filter"] in days


async def test_a_search_may_be_left_out_where_the_model_does_not_force_one(both: Rig) -> None:
    assert "tools" not in await sent(both, disable_search=True)
    error = await refused(both, model="sonar-pro", disable_search=True)
    assert error["param"] == "disable_search"


async def test_a_schema_needs_no_name(both: Rig) -> None:
    schema = {"type": "object", "properties": {"river": {"type": "string"}}, "required": ["river"]}
    body = await sent(both, response_format={"type": "json_schema", "json_schema": {"schema": schema}})
    assert body["response_format"]["json_schema"]["schema"] == schema
    assert body["response_format"]["json_schema"]["name"]


async def test_images_and_documents_come_in_every_form_that_sonar_took(both: Rig) -> None:
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": PNG},
        {"type": "image_url", "image_url": {"url": "https://img.example/a.png"}},
        {"type": "file_url", "file_url": {"url": "https://a.example/a.pdf"}, "file_name": "a.pdf"},
        {"type": "file_url", "file_url": {"url": PDF}, "file_name": "b.pdf"},
        {"type": "pdf_url", "pdf_url": "https://a.example/c.pdf"},
    ]
    (item,) = (await sent(both, messages=[{"role": "user", "content": content}]))["input"]
    parts = [
        (part["type"], *(part[key] for key in part if key.endswith(("_url", "_data")))) for part in item["content"]
    ]
    assert parts == [
        ("input_text",),
        ("input_image", PNG),
        ("input_image", "https://img.example/a.png"),
        ("input_file", "https://a.example/a.pdf"),
        ("input_file", f"data:application/pdf;base64,{PDF}"),
        ("input_file", "https://a.example/c.pdf"),
    ]


async def test_two_turns_of_one_role_keep_their_order(both: Rig) -> None:
    turns = [
        {"role": "assistant", "content": "Hello, how can I help?"},
        {"role": "user", "content": "I moved to Lyon."},
        {"role": "user", "content": "Best parks?"},
    ]
    for model, path in (("sonar", AGENT), ("session/sonar", ASK_PATH)):
        assert (await ask(both, model=model, messages=turns)).status == 200
        (request,) = await both.requests(path)
        text = str(request["json"])
        assert -1 < text.find("I moved to Lyon.") < text.find("Best parks?")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("n", 2),
        ("best_of", 2),
        ("top_k", 5),
        ("presence_penalty", 0.5),
        ("frequency_penalty", 0.5),
        ("logprobs", True),
        ("top_logprobs", 3),
        ("cum_logprobs", True),
        ("thread_id", "t-1"),
        ("use_threads", True),
        ("file_workspace_id", "w-1"),
    ],
)
async def test_what_nobody_can_do_is_refused_by_its_name(both: Rig, field: str, value: Any) -> None:
    for model in ("sonar", "session/sonar"):
        error = await refused(both, model=model, **{field: value})
        assert (error["param"], error["type"]) == (field, "unsupported_parameter")
    assert await both.requests() == [request for request in await both.requests() if request["path"] != AGENT]


async def test_a_format_by_regular_expression_is_refused(both: Rig) -> None:
    error = await refused(both, response_format={"type": "regex", "regex": {"regex": r"\d{4}"}})
    assert error["param"] == "response_format.type"
    assert await both.requests(AGENT) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("search_domain_filter", ["arxiv.org"]),
        ("search_after_date_filter", "03/01/2026"),
        ("published_after", "03/01/2026"),
        ("published_before", "03/01/2026"),
        ("latest_updated", True),
        ("updated_after_timestamp", 1772323200),
        ("max_tokens", 100),
        ("temperature", 0.7),
    ],
)
async def test_the_session_refuses_by_the_name_that_the_caller_wrote(session: Rig, field: str, value: Any) -> None:
    assert (await refused(session, **{field: value}))["param"] == field


async def test_sonars_own_defaults_ask_for_nothing(session: Rig) -> None:
    defaults: dict[str, Any] = {
        "temperature": 0.2,
        "top_p": 0.9,
        "top_k": 0,
        "frequency_penalty": 1,
        "presence_penalty": 0,
    }
    neutral: dict[str, Any] = {
        "n": 1,
        "logprobs": False,
        "return_images": False,
        "max_tokens": None,
        "stop": None,
        "tools": None,
    }
    reply = await ask(session, **defaults, **neutral)
    assert reply.status == 200, reply.json
    assert dropped(reply) == set()


async def test_what_has_no_effect_is_told(both: Rig) -> None:
    idle: dict[str, Any] = {
        "enable_search_classifier": True,
        "safe_search": False,
        "response_formatting_locale": "es-MX",
        "search_tenant": "t",
        "ranking_model": "r",
        "search_internal_properties": {"a": 1},
        "user_original_query": "q",
        "response_metadata": {"a": 1},
        "has_image_url": False,
        "diverse_first_token": True,
        "_debug_pro_search": True,
        "_force_new_agent": True,
        "_inputs": [1],
        "_prompt_token_length": 5,
        "return_related_questions": True,
        "search_language_filter": ["en"],
        "something_new": {"a": 1},
    }
    reply = await ask(both, **idle)
    told = {name for name in idle if idle[name] is not False}
    assert dropped(reply) == told


async def test_dropping_leaves_out_what_would_be_refused(tmp_path: Path) -> None:
    async with calling(tmp_path, unsupported="drop") as rig:
        reply = await ask(rig, thread_id="t-1", n=2, search_after_date="03/01/2026")
        assert reply.status == 200
        assert dropped(reply) == {"thread_id", "n", "search_after_date"}
        assert "did you mean" in reply.headers["x-pplx-warnings"]


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("search_after_date", "search_after_date_filter"),
        ("date_after", "search_after_date_filter"),
        ("search_recency_filer", "search_recency_filter"),
        ("max_output_tokens", "max_tokens"),
        ("stop_sequences", "stop"),
    ],
)
async def test_a_slip_of_the_pen_is_refused_with_what_was_meant(both: Rig, field: str, meant: str) -> None:
    given: dict[str, Any] = {field: "03/01/2026"}
    error = await refused(both, **given)
    assert error["param"] == field
    assert f"'{meant}'" in error["message"]


@pytest.mark.parametrize(
    ("given", "param"),
    [
        ({"model": None}, "model"),
        ({"model": ""}, "model"),
        ({"messages": []}, "messages"),
        ({"messages": "hello"}, "messages"),
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": ""}]}, "messages[0].content"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content"),
        ({"stream": "yes"}, "stream"),
        ({"stream_mode": "brief"}, "stream_mode"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": 128001}, "max_tokens"),
        ({"temperature": 2.5}, "temperature"),
        ({"top_p": 1.5}, "top_p"),
        ({"num_images": -1}, "num_images"),
        ({"search_mode": "dark"}, "search_mode"),
        ({"search_recency_filter": "minute"}, "search_recency_filter"),
        ({"search_domain_filter": ["a.example"] * 21}, "search_domain_filter"),
        ({"search_domain_filter": ["a.example", "-b.example"]}, "search_domain_filter"),
        ({"search_after_date_filter": "13/02/2026"}, "search_after_date_filter"),
        ({"published_after": "02/30/2026"}, "published_after"),
        ({"published_after": "01/02/2026", "search_after_date_filter": "01/02/2026"}, "published_after"),
        ({"latest_updated": True, "last_updated_after_filter": "01/02/2026"}, "latest_updated"),
        ({"latest_updated": True, "updated_after_timestamp": 1}, "updated_after_timestamp"),
        ({"updated_after_timestamp": 10**15}, "updated_after_timestamp"),
        ({"updated_after_timestamp": -1}, "updated_after_timestamp"),
        ({"search_recency_filter": "week", "published_after": "03/01/2026"}, "search_recency_filter"),
        ({"latitude": 91, "longitude": 0}, "latitude"),
        ({"latitude": 50}, "longitude"),
        ({"country": "Belgium"}, "country"),
        ({"web_search_options": {"search_context_size": "huge"}}, "web_search_options.search_context_size"),
        ({"image_format_filter": ["exe"]}, "image_format_filter"),
        ({"tools": [{"type": "browser"}]}, "tools[0].type"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"reasoning_effort": "extreme"}, "reasoning_effort"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        ({"thread_id": 5}, "thread_id"),
    ],
)
async def test_a_wrong_value_is_a_400_that_names_it(both: Rig, given: dict[str, Any], param: str) -> None:
    assert (await refused(both, **given))["param"] == param
    assert await both.requests(AGENT) == []


@pytest.mark.parametrize(
    ("part", "param"),
    [
        ({"type": "video_url", "video_url": {"url": "https://a.example/v.mp4", "frame_interval": 1}}, ".type"),
        ({"type": "input_audio", "input_audio": {}}, ".type"),
        ({"type": "image_url", "image_url": "http://169.254.169.254/x"}, ".image_url"),
        ({"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}, ".image_url.url"),
        ({"type": "image_url", "image_url": "data:image/svg+xml;base64,AAAA"}, ".image_url"),
        ({"type": "file_url", "file_url": {"url": "http://a.example/a.pdf"}}, ".file_url"),
        ({"type": "file_url", "file_url": {"url": "not base64!"}}, ".file_url"),
        ({"type": "pdf_url", "pdf_url": {"url": ""}}, ".pdf_url"),
        ({"type": "hologram"}, ".type"),
    ],
)
async def test_a_part_that_cannot_be_passed_on_is_named(both: Rig, part: dict[str, object], param: str) -> None:
    content = [{"type": "text", "text": QUESTION}, part]
    error = await refused(both, messages=[{"role": "user", "content": content}])
    assert error["param"] == f"messages[0].content[1]{param}"
    assert await both.requests(AGENT) == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'"x"', b'{"a":NaN}', b"\xff\xfe", b"[" * 100_000, b'{"model":"\\ud800"}']
)
async def test_a_body_that_is_no_request_is_a_400(both: Rig, body: bytes) -> None:
    reply = await both.post(body, path=SONAR)
    assert (reply.status, reply.error["code"]) == (400, 400)


async def test_the_key_is_asked_for_first(both: Rig) -> None:
    reply = await both.post(b"{", path="/chat/completions", key=None)
    assert (reply.status, reply.error["code"]) == (401, 401)


async def test_a_wrong_method_is_told_in_numbers(both: Rig) -> None:
    reply = await both.get("/chat/completions")
    assert (reply.status, reply.error["code"], reply.headers["allow"]) == (405, 405, "POST")


def test_every_field_of_its_own_has_a_verdict() -> None:
    own = set(SonarRequest.__struct_fields__) - set(ChatRequest.__struct_fields__)
    assert own == {field.name for field in SONAR_FIELDS.fields} | set(OURS)


async def test_many_at_once_do_not_meet(both: Rig) -> None:
    asked = [ask(both, messages=[{"role": "user", "content": f"Say river {n}"}]) for n in range(8)]
    ids = {reply.json["id"] for reply in await asyncio.gather(*asked)}
    assert len(ids) == len(asked)
