"""What the one file's parsers promise for any input whatever."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pplx_agent_mcp import (
    MAX_ANSWER,
    SERVER_INFO,
    ArgumentError,
    Call,
    Cancellation,
    Kernel,
    Reply,
    agent_body,
    agent_tools,
    check_arguments,
    clip,
    clip_middle,
    cut_at_paragraph,
    read_run,
    source_list,
    spotlight,
    tell_ended,
    wait_budget,
)

JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=8,
)
METHODS = ("initialize", "ping", "tools/list", "tools/call", "server/discover", "notifications/cancelled", "x")
VERSION = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
META = JSON | st.fixed_dictionaries(
    {}, optional={VERSION: JSON | st.just("2026-07-28"), CAPABILITIES: JSON, "progressToken": JSON}
)
PARAMS = JSON | st.fixed_dictionaries(
    {}, optional={"_meta": META, "name": JSON | st.just("perplexity_agent"), "arguments": JSON, "requestId": JSON}
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": JSON,
        "method": st.sampled_from(METHODS) | JSON,
        "params": PARAMS,
        "result": JSON,
        "error": JSON,
    },
)
KERNEL = Kernel(SERVER_INFO, agent_tools(), "instructions")
STARTING, COLLECTING, _ = agent_tools()


def check(line: bytes) -> None:
    outcome = KERNEL.receive(line)
    assert outcome is None or isinstance(outcome, (Reply, Call, Cancellation))
    if isinstance(outcome, Reply):
        frame = outcome.frame
        assert frame["jsonrpc"] == "2.0"
        assert ("result" in frame) != ("error" in frame)
        assert frame["id"] is None or type(frame["id"]) in (str, int)
        json.loads(json.dumps(frame, allow_nan=False))
    if isinstance(outcome, Call):
        assert type(outcome.id) in (str, int)
        assert outcome.token is None or type(outcome.token) in (str, int)


@given(st.binary())
def test_any_line_is_dealt_with(line: bytes) -> None:
    check(line)


@given(MESSAGES | JSON)
def test_any_message_is_dealt_with(message: object) -> None:
    check(json.dumps(message).encode("utf-8", "backslashreplace"))


@given(st.dictionaries(st.sampled_from(["query", "preset", "recency", "domains", "wait", "x"]), JSON))
def test_arguments_are_either_refused_or_make_a_body(arguments: dict[str, object]) -> None:
    try:
        checked = check_arguments(STARTING, arguments)
    except ArgumentError as error:
        assert "'" in str(error) or "Unknown argument" in str(error)
        return
    body = agent_body(checked)
    assert set(body) == {"input", "effort", "background", "tools"}
    assert body["input"] == body["input"].strip() != ""
    json.dumps(body, allow_nan=False)


@given(st.lists(st.text(max_size=30), max_size=20))
def test_domains_are_refused_or_have_the_form_of_domains(domains: list[str]) -> None:
    try:
        checked = check_arguments(STARTING, {"query": "x", "domains": domains})["domains"]
    except ArgumentError as error:
        assert "'domains'" in str(error)
        return
    for domain in checked:
        host = domain.removeprefix("-").partition("/")[0]
        assert host.isascii()
        assert host
        assert host == host.lower()
        assert ":" not in host
        assert not any(letter.isspace() for letter in domain)


OUTPUT = st.lists(
    JSON
    | st.fixed_dictionaries(
        {"type": st.sampled_from(["message", "search_results", "fetch_url_results"])},
        optional={
            "content": JSON | st.lists(st.fixed_dictionaries({"type": st.just("output_text"), "text": JSON})),
            "results": JSON | st.lists(st.fixed_dictionaries({"url": JSON, "title": JSON, "id": JSON})),
        },
    )
)


@given(st.fixed_dictionaries({}, optional={"status": JSON | st.just("completed"), "output": OUTPUT, "error": JSON}))
def test_any_response_can_be_read_and_told(response: dict[str, Any]) -> None:
    run = read_run(response)
    run.progress(1.5).encode()
    result = tell_ended(run, "resp_1")
    result.text.encode()
    assert source_list(run).count("\n") <= len(run.sources)


@given(st.text(), st.integers(1, 100))
def test_what_is_cut_fits_and_says_so(text: str, limit: int) -> None:
    for cut in (clip, clip_middle):
        assert len(cut(text, limit)) <= limit
        assert cut(text, limit) == text or "…" in cut(text, limit)


@given(st.text(alphabet="ab \n", max_size=200), st.integers(1, 50))
def test_parts_join_to_the_whole(text: str, limit: int) -> None:
    parts, start = [], 0
    while start < len(text):
        end = start + cut_at_paragraph(text[start:], limit)
        assert start < end <= start + limit
        parts.append(text[start:end])
        start = end
    assert "".join(parts) == text
    assert limit < MAX_ANSWER


@given(st.text())
def test_a_fence_has_one_end(body: str) -> None:
    text = spotlight(body)
    tag = text.partition(">")[0].removeprefix("<")
    assert text.endswith(f"</{tag}>")
    assert text.count(tag) == 2


@given(st.text() | st.integers().map(str) | st.none())
def test_the_wait_budget_is_always_usable(value: str | None) -> None:
    assert 1 <= wait_budget(value) <= 1800
