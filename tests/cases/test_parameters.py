"""Parameters: what is passed on, done by the gateway, refused, dropped or ignored, and how the caller is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import answered, asked, let_answer, refused
from tests.cases.scripts import ASK, TEXT, URLS, Json
from tests.rig import Rig, running

BOTH = pytest.mark.parametrize("upstream", ["api", "session"])
WAYS = pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])


# limits


@WAYS
async def test_a_tiny_limit_is_raised_and_said(api: Rig, streamed: bool) -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        said, sent = await answered(api, {**ASK, name: 5}, streamed=streamed)
        assert sent["max_output_tokens"] == 16
        assert name not in sent
        assert "16" in said.warnings
        said, sent = await answered(api, {**ASK, name: 17}, streamed=streamed)
        assert (sent["max_output_tokens"], said.warnings) == (17, "")


@BOTH
@WAYS
async def test_no_limit_is_none(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        said, sent = await answered(rig, {**ASK, "max_tokens": None}, streamed=streamed)
    assert "max_output_tokens" not in sent
    assert not said.dropped


@BOTH
async def test_a_limit_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for name in ("max_tokens", "max_completion_tokens"):
            values: list[object] = [0, -1, 1.5, "100", True, []]
            for value in values:
                assert (await refused(rig, {**ASK, name: value}))["param"] == name, value


@WAYS
async def test_of_two_limits_the_newer_name_holds(api: Rig, streamed: bool) -> None:
    body = {**ASK, "max_tokens": 100, "max_completion_tokens": 200}
    said, sent = await answered(api, body, streamed=streamed)
    assert sent["max_output_tokens"] == 200
    assert "max_tokens" in said.warnings
    assert "max_completion_tokens" in said.warnings


# fields that OpenAI's clients add

ADVISORY: Json = {
    "user": "u1",
    "metadata": {"a": "b"},
    "store": True,
    "service_tier": "auto",
    "safety_identifier": "s1",
    "prompt_cache_key": "k1",
    "parallel_tool_calls": True,
    "logprobs": False,
}


@WAYS
async def test_fields_that_clients_add_harm_nothing(api: Rig, streamed: bool) -> None:
    more: Json = {"seed": 7, "store": False, "safe_prompt": True, "stream_mode": "concise"}
    said, sent = await answered(api, {**ASK, **ADVISORY, **more}, streamed=streamed)
    assert set(said.dropped) == {"user", "seed", "safety_identifier", "safe_prompt", "stream_mode"}
    assert not {"user", "seed", "safe_prompt", "stream_mode", "safety_identifier", "logprobs"} & set(sent)
    assert (sent["metadata"], sent["prompt_cache_key"], sent["service_tier"]) == ({"a": "b"}, "k1", "auto")


@WAYS
async def test_advisory_fields_are_taken_by_the_session_and_named(session: Rig, streamed: bool) -> None:
    said, sent = await answered(session, {**ASK, **ADVISORY}, streamed=streamed)
    assert set(said.dropped) == {"user", "metadata", "store", "safety_identifier", "prompt_cache_key"}
    plain = await answered(session, ASK, streamed=streamed)
    assert question(sent) == question(plain[1])


@BOTH
async def test_an_advisory_field_of_a_wrong_type_is_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[Json, str]] = [
        ({"user": 5}, "user"),
        ({"metadata": {"a": 1}}, "metadata"),
        ({"metadata": ["a"]}, "metadata"),
        ({"metadata": {str(n): "" for n in range(17)}}, "metadata"),
        ({"metadata": {"k" * 65: ""}}, "metadata"),
        ({"metadata": {"k": "v" * 513}}, "metadata"),
        ({"store": "no"}, "store"),
        ({"service_tier": 1}, "service_tier"),
        ({"parallel_tool_calls": "yes"}, "parallel_tool_calls"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in cases:
            found = (await refused(rig, {**ASK, **fields}))["param"]
            assert found.startswith(param), fields


@BOTH
@WAYS
async def test_neutral_values_pass_everywhere(tmp_path: Path, upstream: str, streamed: bool) -> None:
    neutral: Json = {
        "temperature": 1,
        "top_p": 1,
        "top_k": 0,
        "n": 1,
        "best_of": 1,
        "stop": [],
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "logprobs": False,
        "top_logprobs": 0,
        "max_tokens": None,
        "max_completion_tokens": None,
        "seed": None,
        "tools": [],
        "tool_choice": "auto",
        "parallel_tool_calls": None,
        "response_format": {"type": "text"},
        "modalities": ["text"],
        "verbosity": "medium",
        "reasoning_effort": None,
        "truncation": "disabled",
        "search_domain_filter": [],
        "search_language_filter": [],
        "search_recency_filter": "",
        "search_after_date_filter": "",
        "search_before_date_filter": None,
        "web_search_options": {},
        "search_mode": "web",
        "disable_search": False,
        "return_images": False,
        "return_related_questions": False,
    }
    async with running(tmp_path, order=(upstream,)) as rig:
        said, sent = await answered(rig, {**ASK, **neutral}, streamed=streamed)
        _, plain = await answered(rig, ASK, streamed=streamed)
        assert said.dropped == []
        assert said.warnings == ""
        if upstream == "session":
            assert question(sent) == question(plain)
        else:
            assert sent == {**plain, "temperature": 1, "top_p": 1, "truncation": "disabled"}
        for stop in (None, "", [""]):
            said, _ = await answered(rig, {**ASK, "stop": stop, "temperature": None}, streamed=streamed)
            assert not said.dropped


def question(sent: dict[str, Any]) -> dict[str, Any]:
    """A question to the session without the ids that differ each time."""
    ids = ("frontend_uuid", "frontend_context_uuid")
    return {**sent, "params": {key: value for key, value in sent["params"].items() if key not in ids}}


# the upstream cannot: refused, or dropped by name

BEYOND_THE_SESSION: Json = {
    "temperature": 0.2,
    "top_p": 0.5,
    "top_k": 5,
    "max_tokens": 100,
    "max_completion_tokens": 100,
    "stop": ["\n"],
    "n": 2,
    "best_of": 2,
    "seed": 7,
    "presence_penalty": 0.5,
    "frequency_penalty": 1,
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 3,
    "verbosity": "low",
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
    "truncation": "auto",
    "search_domain_filter": ["example.org"],
    "search_language_filter": ["en"],
    "search_after_date_filter": "03/01/2026",
    "search_before_date_filter": "04/01/2026",
    "last_updated_after_filter": "03/01/2026",
    "last_updated_before_filter": "04/01/2026",
}
BEYOND_THE_API: Json = {
    "top_k": 5,
    "n": 2,
    "best_of": 2,
    "presence_penalty": 0.5,
    "frequency_penalty": 1,
    "logit_bias": {"50256": -100},
    "logprobs": True,
    "top_logprobs": 3,
    "modalities": ["text", "audio"],
    "audio": {"voice": "alloy", "format": "wav"},
}
BEYOND = {"session": BEYOND_THE_SESSION, "api": BEYOND_THE_API}


@BOTH
async def test_what_the_upstream_cannot_honour_is_refused_by_name(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for name, value in BEYOND[upstream].items():
            error = await refused(rig, {**ASK, name: value})
            assert (error["param"], error["code"]) == (name, "unsupported_parameter")
            assert f"'{name}'" in error["message"]
            assert upstream in error["message"]


@BOTH
@WAYS
async def test_what_the_upstream_cannot_honour_is_dropped_by_name_where_that_is_wanted(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    beyond = BEYOND[upstream]
    async with running(tmp_path, order=(upstream,), unsupported="drop") as rig:
        said, sent = await answered(rig, {**ASK, **beyond}, streamed=streamed)
        _, plain = await answered(rig, ASK, streamed=streamed)
        assert set(said.dropped) == set(beyond)
        assert [name for name in beyond if name not in said.warnings] == []
        assert set(said.beside["pplx"]["dropped"]) == set(beyond)
        assert (question(sent), upstream) == (question(plain), "session") if upstream == "session" else sent == plain
        for name, value in beyond.items():
            said, _ = await answered(rig, {**ASK, name: value}, streamed=streamed)
            assert said.dropped == [name]


@BOTH
async def test_dropping_hides_no_value_that_is_wrong(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[str, object]] = [
        ("temperature", "hot"),
        ("temperature", 3),
        ("temperature", -0.1),
        ("top_p", 2),
        ("top_k", -1),
        ("n", 0),
        ("n", "2"),
        ("presence_penalty", 3),
        ("frequency_penalty", "1"),
        ("stop", 5),
        ("seed", "x"),
        ("logit_bias", []),
        ("logprobs", "yes"),
        ("verbosity", "loud"),
        ("truncation", "sometimes"),
        ("stream_options", "usage"),
        ("stream_options", {"include_usage": "yes"}),
        ("search_recency_filter", "fortnight"),
        ("search_mode", "deep"),
        ("num_search_results", 0),
        ("citation_marks", "bold"),
        ("source_list", "prepend"),
        ("sources", ["usenet"]),
        ("model", 5),
    ]
    async with running(tmp_path, order=(upstream,), unsupported="drop") as rig:
        for name, value in cases:
            error = await refused(rig, {**ASK, name: value})
            assert (error["param"] or "").split(".")[0] == name, (name, value)


# stop strings


@WAYS
@pytest.mark.parametrize(
    ("stop", "content"),
    [
        (" meets", "The Leie[1]"),
        (["meets the"], "The Leie[1] "),
        (["Scheldt", "[1]"], "The Leie"),
        ([""], TEXT),
        (["nowhere"], TEXT),
    ],
)
async def test_the_answer_ends_before_the_first_stop_string(
    api: Rig, stop: object, content: str, streamed: bool
) -> None:
    await let_answer(api, "api", "The Leie[1] meets ", "the Scheldt[2].")
    said, sent = await answered(api, {**ASK, "stop": stop}, streamed=streamed)
    assert said.content == content
    assert said.reason == "stop"
    assert "stop" not in sent


# dates and recency


def filters(sent: dict[str, Any]) -> dict[str, Any]:
    (tool,) = [tool for tool in sent["tools"] if tool["type"] == "web_search"]
    found: dict[str, Any] = tool.get("filters", {})
    return found


DATES = ("search_after_date_filter", "search_before_date_filter", "last_updated_after_filter")


@WAYS
async def test_a_day_is_understood_in_every_form_that_people_write(api: Rig, streamed: bool) -> None:
    for name in DATES:
        for text in ("3/1/2026", "03/01/2026", "2026-03-01", "2026-03-01T00:00:00Z", " 03/01/2026 "):
            _, sent = await answered(api, {**ASK, name: text}, streamed=streamed)
            assert filters(sent) == {name: "03/01/2026"}, text
        _, sent = await answered(api, {**ASK, name: ""}, streamed=streamed)
        assert filters(sent) == {}


@BOTH
async def test_a_day_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for name in DATES:
            for text in ("13/02/2026", "02/30/2026", "2026-02-30", "last week", "20260301", 20260301):
                assert (await refused(rig, {**ASK, name: text}))["param"] == name, text


@BOTH
@WAYS
async def test_a_field_under_a_wrong_name_is_told_with_the_right_one(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for name in ("search_after_date", "date_after"):
            said, sent = await answered(rig, {**ASK, name: "03/01/2026"}, streamed=streamed)
            assert said.dropped == [name]
            assert f"'{name}'" in said.warnings
            assert "'search_after_date_filter'" in said.warnings
            assert "03/01/2026" not in json.dumps(sent)


@BOTH
async def test_recency_does_not_go_with_dates(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for date in ("search_after_date_filter", "search_before_date_filter"):
            error = await refused(rig, {**ASK, "search_recency_filter": "week", date: "03/01/2026"})
            assert "search_recency_filter" in error["message"]
            assert date in error["message"]
            assert error["param"] in ("search_recency_filter", date)


@WAYS
async def test_recency_reaches_both_upstreams(both: Rig, streamed: bool) -> None:
    for recency in ("hour", "day", "week", "month", "year"):
        body = {**ASK, "search_recency_filter": recency}
        _, sent = await answered(both, {**body, "model": "api/sonar"}, streamed=streamed)
        assert filters(sent) == {"search_recency_filter": recency}
        _, sent = await answered(both, body, streamed=streamed)
        assert sent["params"]["search_recency_filter"].lower() == recency


# domains


@BOTH
async def test_a_list_of_domains_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[object] = [
        [f"s{n}.example" for n in range(21)],
        ["good.example", "-bad.example"],
        ["not a domain"],
        ["https://"],
        [""],
        ["-"],
        ["x" * 300 + ".example"],
        ["a..example"],
        "example.org",
        [5],
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for domains in cases:
            error = await refused(rig, {**ASK, "search_domain_filter": domains})
            assert error["param"].startswith("search_domain_filter"), domains
        error = await refused(rig, {**ASK, "search_domain_filter": cases[0]})
        assert "20" in error["message"]


@WAYS
async def test_addresses_become_domains(api: Rig, streamed: bool) -> None:
    cases = [
        (["https://Example.org/", "bücher.example"], ["example.org", "xn--bcher-kva.example"]),
        (["-spam.example"], ["-spam.example"]),
        (["-https://Spam.example/"], ["-spam.example"]),
        (["example.org", "EXAMPLE.org"], ["example.org"]),
        ([f"s{n}.example" for n in range(20)], [f"s{n}.example" for n in range(20)]),
        ([], None),
    ]
    for given, wanted in cases:
        _, sent = await answered(api, {**ASK, "search_domain_filter": given}, streamed=streamed)
        assert filters(sent).get("search_domain_filter") == wanted


# place and size

OPTIONS: Json = {
    "search_context_size": "high",
    "user_location": {
        "type": "approximate",
        "approximate": {"country": "BE", "city": "Ghent", "timezone": "Europe/Brussels"},
    },
}


@WAYS
async def test_place_and_size_stand_on_the_search_tool(api: Rig, streamed: bool) -> None:
    said, sent = await answered(api, {**ASK, "web_search_options": OPTIONS}, streamed=streamed)
    assert sent["tools"][0] == {
        "type": "web_search",
        "search_context_size": "high",
        "user_location": {"country": "BE", "city": "Ghent"},
    }
    assert said.dropped == ["web_search_options.user_location.timezone"]
    assert "timezone" in said.warnings


@WAYS
async def test_the_session_tells_which_place_and_size_it_cannot_use(session: Rig, streamed: bool) -> None:
    said, sent = await answered(session, {**ASK, "web_search_options": OPTIONS}, streamed=streamed)
    assert sent["params"]["client_coordinates"] is None
    assert set(said.dropped) == {
        "web_search_options.search_context_size",
        "web_search_options.user_location.timezone",
        "location",
    }
    assert "latitude" in said.warnings


@WAYS
async def test_coordinates_reach_both_upstreams(both: Rig, streamed: bool) -> None:
    for place in (
        {"latitude": 51.05, "longitude": 3.72, "country": "be"},
        {"web_search_options": {"user_location": {"latitude": 51.05, "longitude": 3.72, "country": "BE"}}},
    ):
        said, sent = await answered(both, {**ASK, **place}, streamed=streamed)
        assert sent["params"]["client_coordinates"] == {"location_lat": 51.05, "location_lng": 3.72, "name": "BE"}
        assert not said.dropped
        said, sent = await answered(both, {**ASK, **place, "model": "api/sonar"}, streamed=streamed)
        assert sent["tools"][0]["user_location"] == {"country": "BE", "latitude": 51.05, "longitude": 3.72}
        assert not said.dropped


@BOTH
async def test_a_place_that_is_none_is_refused(tmp_path: Path, upstream: str) -> None:
    cases: list[tuple[Json, str]] = [
        ({"web_search_options": {"search_context_size": "huge"}}, "web_search_options.search_context_size"),
        ({"web_search_options": "high"}, "web_search_options"),
        ({"latitude": 91, "longitude": 0}, "latitude"),
        ({"latitude": 51.05}, "longitude"),
        ({"country": "Belgium"}, "country"),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields, param in cases:
            assert (await refused(rig, {**ASK, **fields}))["param"].startswith(param), fields


@WAYS
async def test_search_fields_that_the_session_honours_reach_it(session: Rig, streamed: bool) -> None:
    cases: list[tuple[Json, Json]] = [
        ({}, {"search_focus": "internet", "sources": ["web"]}),
        ({"sources": "academic, social"}, {"search_focus": "internet", "sources": ["scholar", "social"]}),
        ({"search_mode": "academic"}, {"search_focus": "internet", "sources": ["scholar"]}),
        ({"search_mode": "sec"}, {"search_focus": "internet", "sources": ["edgar", "finance"]}),
        ({"language_preference": "nl"}, {"language": "nl"}),
        ({"disable_search": True}, {"search_focus": "writing", "sources": []}),
    ]
    for fields, wanted in cases:
        said, sent = await answered(session, {**ASK, **fields}, streamed=streamed)
        assert {key: sent["params"][key] for key in wanted} == wanted
        assert not said.dropped


@WAYS
async def test_search_can_be_left_out_on_the_api_where_no_level_rules(api: Rig, streamed: bool) -> None:
    _, sent = await answered(api, {**ASK, "model": "perplexity/sonar", "disable_search": True}, streamed=streamed)
    assert "web_search" not in json.dumps(sent)
    assert (await refused(api, {**ASK, "model": "sonar-pro", "disable_search": True}))["param"] == "disable_search"


# stream


@BOTH
async def test_stream_is_a_boolean_or_nothing(tmp_path: Path, upstream: str) -> None:
    plain = {key: value for key, value in ASK.items() if key != "stream"}
    async with running(tmp_path, order=(upstream,)) as rig:
        wrongs: list[object] = ["true", "", 1, 0, [], {}]
        for wrong in wrongs:
            reply = await rig.post({**plain, "stream": wrong})
            assert (reply.status, reply.error["param"]) == (400, "stream"), wrong
        assert not await asked(rig)
        for body in (plain, {**plain, "stream": None}, {**plain, "stream": False}):
            reply = await rig.post(body)
            assert reply.status == 200
            assert reply.headers["content-type"] == "application/json"
            assert reply.json["object"] == "chat.completion"


@BOTH
@WAYS
async def test_stream_options_never_fail_a_request(tmp_path: Path, upstream: str, streamed: bool) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for options in (None, {}, {"include_usage": True}, {"include_usage": None}, {"include_obfuscation": False}):
            said, sent = await answered(rig, {**ASK, "stream_options": options}, streamed=streamed)
            assert not said.dropped
            assert "stream_options" not in sent


# unknown fields


@BOTH
@WAYS
async def test_unknown_fields_are_ignored_and_named_in_a_header_that_they_cannot_break(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    strange = "x\r\nSet-Cookie: a=b"
    async with running(tmp_path, order=(upstream,)) as rig:
        said, sent = await answered(rig, {**ASK, strange: 1, "größe": 2, "foo": {"bar": []}}, streamed=streamed)
        assert "set-cookie" not in said.headers
        assert "foo" in said.dropped
        assert len(said.dropped) == 3
        assert "größe" not in json.dumps(sent, ensure_ascii=False)
        many = {f"field_{number}": number for number in range(2000)}
        said, _ = await answered(rig, {**ASK, **many}, streamed=streamed)
        assert said.dropped[0] == "field_0"
        assert said.dropped[-1] == "..."
        assert len(said.headers["x-pplx-dropped"]) < 4000


@BOTH
async def test_the_sources_are_the_same_whatever_is_asked_beside(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        await let_answer(rig, upstream, TEXT)
        said, _ = await answered(rig, {**ASK, **ADVISORY})
    assert said.beside["citations"] == URLS
