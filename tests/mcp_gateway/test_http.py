"""Addresses, keys, eras and the rest of what HTTP brings with it."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import ClientSession
from mcp.client.sse import sse_client

from pplx_gateway.settings import Settings
from tests.caller_keys.calling import make, revoke
from tests.cases.scripts import TEXT, agent_steps
from tests.mcp_gateway.calling import ACCEPT, QUESTION, TOOLS, Caller, client_of, events_of, modern, rpc
from tests.rig import AGENT, ASK_PATH, KEY, Rig, bearer, running

INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@pytest.fixture
async def rig(tmp_path: Path) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path, factor=50) as found:
        yield found
        await found.check()


async def listed(reply: httpx2.Response) -> list[str]:
    """The tools' names in a reply to LIST."""
    text = reply.text
    message = json.loads(text) if text.startswith("{") else events_of(text)[-1]
    return [tool["name"] for tool in message["result"]["tools"]]


# keys


async def test_the_key_is_a_bearer_token_or_stands_in_the_path(rig: Rig) -> None:
    for path, key in (("/mcp", KEY), (f"/{KEY}/mcp", None), (f"/{KEY}/mcp/", None), (f"//{KEY}//mcp", None)):
        reply = await rpc(rig, path, "tools/list", key=key)
        assert reply.status_code == 200, path
        assert await listed(reply) == TOOLS
        async with client_of(rig.url + path, "legacy", key=key) as caller:
            assert [tool.name for tool in (await caller.client.list_tools()).tools] == TOOLS


async def test_a_wrong_key_in_the_path_is_like_a_path_that_is_not_there(rig: Rig) -> None:
    nowhere = await rig.client.post(f"{rig.url}/no/such/path", headers=bearer(KEY))
    assert nowhere.status_code == 404
    for path in ("/wrong/mcp", f"/{KEY}x/mcp", f"/{KEY[:-1]}/sse", "/mcp/mcp", "/sse/sse", "/v1/mcp", "/admin/mcp"):
        for headers in ({}, {"authorization": "Bearer wrong"}, bearer(KEY)):
            reply = await rig.client.post(rig.url + path, json=LIST, headers={"accept": ACCEPT, **headers})
            assert reply.status_code == 404, path
            assert reply.json() == nowhere.json()
            assert "www-authenticate" not in reply.headers
    assert (await rpc(rig, "/mcp", "tools/list", key=None)).status_code == 401
    assert (await rpc(rig, "/mcp", "tools/list", key="wrong")).status_code == 401
    assert (await rpc(rig, f"/{KEY}/mcp/more", "tools/list", key=None)).status_code == 401


async def test_no_key_in_a_path_reaches_the_log_or_an_answer(rig: Rig) -> None:
    _, secret = await make(rig, use="mcp-path")
    paths = (
        f"/{KEY}/mcp",
        f"/{secret}/mcp",
        f"/{secret}/sse?session_id=x",
        f"/{secret}/mcp/sub",
        f"/{secret}",
        f"//{secret}//mcp",
        f"/%70plxgw-{secret.removeprefix('pplxgw-')}/mcp",
    )
    for path in paths:
        reply = await rpc(rig, path, "tools/list", key=None)
        assert secret not in reply.text
        assert KEY not in reply.text
        assert secret not in str(reply.headers)
    log = rig.log.getvalue()
    assert secret not in log
    assert secret.removeprefix("pplxgw-") not in log
    assert KEY not in log
    assert "/***/mcp" in log


async def test_a_key_made_for_addresses_opens_the_path_until_it_is_revoked(rig: Rig) -> None:
    key_id, secret = await make(rig, use="mcp-path", upstreams=["api"])
    async with client_of(f"{rig.url}/{secret}/mcp", key=None) as caller:
        await rig.script(AGENT, agent_steps())
        told = await caller.call("perplexity_ask", query=QUESTION)
        assert "(api)" in told.text, "a key that may ask the api alone asks that"
        response_id = told.structured["response_id"]
        assert (await rig.get(f"/v1/responses/{response_id}")).status == 404, "it is the caller's, not the owner's"
        again = await caller.call("perplexity_agent_result", response_id=response_id)
        assert again.structured["response_id"] == response_id
        refused = await caller.call("perplexity_search", query=QUESTION, model="session/gpt")
        assert refused.code == "model_not_allowed"
        assert await cost_of(caller) == "0.00503"
    async with client_of(f"{rig.url}/mcp") as owner:
        assert await cost_of(owner) == "0"
        stranger = await owner.call("perplexity_agent_result", response_id=response_id)
        assert stranger.is_error
        assert stranger.code == "not_found"
    await revoke(rig, key_id)
    assert (await rpc(rig, f"/{secret}/mcp", "tools/list", key=None)).status_code == 404


async def cost_of(caller: Caller) -> str:
    (usage,) = (await caller.client.read_resource("pplx://usage")).contents
    cost: str = json.loads(usage.model_dump()["text"])["cost"]
    return cost


async def test_a_key_made_for_addresses_opens_nothing_else(rig: Rig) -> None:
    _, secret = await make(rig, use="mcp-path")
    asked = {"model": "sonar", "messages": [{"role": "user", "content": QUESTION}]}
    for path, body in (("/v1/chat/completions", asked), ("/v1/responses", {"input": QUESTION}), ("/mcp", LIST)):
        for headers in (bearer(secret), {"x-api-key": secret}):
            reply = await rig.client.post(rig.url + path, json=body, headers={"accept": ACCEPT, **headers})
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden"), path
            assert "MCP's addresses alone" in reply.json()["error"]["message"]
            assert secret not in reply.text
    for path in ("/v1/models", "/v1/usage", "/admin/caller-keys", "/sse"):
        reply = await rig.client.get(rig.url + path, headers=bearer(secret))
        assert reply.status_code == 403, path
    assert (await rig.client.get(f"{rig.url}/{secret}/v1/models")).status_code == 401
    health = await rig.client.get(f"{rig.url}/health", headers=bearer(secret))
    assert set(health.json()) == {"status", "service", "version"}, "as to anybody"
    assert await rig.requests(f"{AGENT}*") == []
    assert await rig.requests(ASK_PATH) == []


async def test_an_ordinary_callers_key_is_no_part_of_an_address(rig: Rig) -> None:
    key_id, secret = await make(rig)
    for path in (f"/{secret}/mcp", f"/{secret}/sse"):
        reply = await rig.client.post(rig.url + path, json=LIST, headers={"accept": ACCEPT})
        assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden")
        assert "Authorization: Bearer" in reply.json()["error"]["message"]
        assert "mcp-path" in reply.json()["error"]["message"]
        assert secret not in reply.text
    assert (await rpc(rig, "/mcp", "tools/list", key=secret)).status_code == 200
    await revoke(rig, key_id)
    assert (await rpc(rig, f"/{secret}/mcp", "tools/list", key=None)).status_code == 404, "like any wrong key"


async def test_a_session_belongs_to_the_key_that_began_it(rig: Rig) -> None:
    _, secret = await make(rig)
    url = f"{rig.url}/mcp"
    headers = {"accept": ACCEPT, **bearer(KEY)}
    began = await rig.client.post(url, json=INITIALIZE, headers=headers)
    session = {"mcp-session-id": began.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
    mine = await rig.client.post(url, json=LIST, headers={**headers, **session})
    assert await listed(mine) == TOOLS
    stolen = await rig.client.post(url, json=LIST, headers={**headers, **session, **bearer(secret)})
    assert stolen.status_code == 404
    ended = await rig.client.delete(url, headers={**headers, **session})
    assert ended.status_code == 200
    assert (await rig.client.post(url, json=LIST, headers={**headers, **session})).status_code == 404


async def test_without_a_key_the_short_paths_are_open_on_loopback(tmp_path: Path) -> None:
    async with running(tmp_path, api_key=None) as rig:
        for path in ("/mcp", "/mcp/mcp"):
            reply = await rpc(rig, path, "tools/list", key=None)
            assert await listed(reply) == TOOLS
        assert (await rpc(rig, "/other/mcp", "tools/list", key=None)).status_code == 404
        async with sse_client(f"{rig.url}/sse/sse") as streams, ClientSession(*streams) as session:
            await session.initialize()
            assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS


# Host and Origin


@pytest.mark.parametrize("path", ["/mcp", "/sse", f"/{KEY}/mcp"])
async def test_foreign_hosts_and_origins_are_refused(rig: Rig, path: str) -> None:
    body, headers = modern("tools/list")
    for foreign in ({"host": "evil.example"}, {"origin": "https://evil.example"}):
        reply = await rig.client.post(rig.url + path, json=body, headers={**headers, **bearer(KEY), **foreign})
        assert reply.status_code == 403


async def test_it_works_behind_a_domain(tmp_path: Path) -> None:
    async with running(tmp_path, public_url="https://ask.example") as rig:
        body, headers = modern("tools/list")
        domain = {"host": "ask.example", "origin": "https://ask.example"}
        for path, key in (("/mcp", KEY), (f"/{KEY}/mcp", None)):
            reply = await rig.client.post(rig.url + path, json=body, headers={**headers, **bearer(key), **domain})
            assert await listed(reply) == TOOLS
        reply = await rig.client.post(
            f"{rig.url}/mcp", json=INITIALIZE, headers={"accept": ACCEPT, **bearer(KEY), **domain}
        )
        assert reply.status_code == 200


# eras and workers


async def test_eras_mix_on_one_address(rig: Rig) -> None:
    url = f"{rig.url}/mcp"
    headers = {"accept": ACCEPT, **bearer(KEY)}
    body, modern_headers = modern("server/discover")
    discovered = (await rig.client.post(url, json=body, headers={**modern_headers, **bearer(KEY)})).json()["result"]
    assert discovered["supportedVersions"] == ["2026-07-28"]
    assert {"tools", "resources", "prompts"} <= set(discovered["capabilities"])
    assert "response_id" in discovered["instructions"]
    began = await rig.client.post(url, json=INITIALIZE, headers=headers)
    assert events_of(began.text)[-1]["result"]["protocolVersion"] == "2025-11-25"
    body, modern_headers = modern("ping")
    ping = await rig.client.post(url, json=body, headers={**modern_headers, **bearer(KEY)})
    assert (ping.status_code, ping.json()["error"]["code"]) == (404, -32601)
    body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "1999-01-01"
    asked = {**modern_headers, **bearer(KEY), "mcp-protocol-version": "1999-01-01"}
    unknown = await rig.client.post(url, json=body, headers=asked)
    assert (unknown.status_code, unknown.json()["error"]["code"]) == (400, -32022)


PARSE, INVALID = -32700, -32600
NO_MESSAGES: tuple[tuple[bytes, int, object], ...] = (
    (b"", PARSE, None),
    (b"{bad", PARSE, None),
    (b"\xff", PARSE, None),
    (b"1" * 5000, PARSE, None),
    (b"[" * 100_000, PARSE, None),
    (b"{}", INVALID, None),
    (b"[]", INVALID, None),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID, None),
    (b'"x"', INVALID, None),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', INVALID, None),
    (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID, None),
    (b'{"id":7,"method":"ping"}', INVALID, 7),
    (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":{}}', INVALID, 7),
    (b'{"jsonrpc":"2.0","id":"a","method":"tools/call","params":[1]}', INVALID, "a"),
    (b'{"jsonrpc":"2.0","id":7,"result":"x"}', INVALID, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\ud83d"}}', INVALID, 7),
    (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":' + b"[" * 300 + b"]" * 300 + b"}}", INVALID, 7),
)
IN_WORDS = ("surrogate", "nested too deep")
"""What the last two are told."""


def refusal(reply: httpx2.Response, status: int, code: int, identifier: object = None) -> str:
    """The words of an error of JSON-RPC, none of which is a library's."""
    assert (reply.status_code, reply.headers["content-type"]) == (status, "application/json"), reply.text
    told = reply.json()
    assert (told["jsonrpc"], told["id"], told["error"]["code"]) == ("2.0", identifier, code), reply.text
    for word in ("pydantic", "alidation error", "Traceback", "input_value", "JSONRPC"):
        assert word not in reply.text
    words: str = told["error"]["message"]
    return words


async def test_what_is_no_message_is_refused_in_our_words_in_both_eras(rig: Rig) -> None:
    headers = {"accept": ACCEPT, "content-type": "application/json", **bearer(KEY)}
    began = await rig.client.post(f"{rig.url}/mcp", json=INITIALIZE, headers=headers)
    session = {"mcp-session-id": began.headers["mcp-session-id"]}
    for more in ({}, session, modern("tools/list")[1]):
        told = []
        for content, code, identifier in NO_MESSAGES:
            reply = await rig.client.post(f"{rig.url}/mcp", content=content, headers={**headers, **more})
            told.append(refusal(reply, 400, code, identifier))
        for words, said in zip(IN_WORDS, told[-2:], strict=True):
            assert words in said
    marked = b"\xef\xbb\xbf" + json.dumps(LIST).encode()
    still = await rig.client.post(f"{rig.url}/mcp", content=marked, headers={**headers, **session})
    assert await listed(still) == TOOLS


async def test_headers_that_are_wrong_are_named_in_json(rig: Rig) -> None:
    body, headers = modern("tools/list")
    for sent in ({"accept": ACCEPT}, headers):
        text = {**bearer(KEY), **sent, "content-type": "text/plain"}
        reply = await rig.client.post(f"{rig.url}/mcp", content=json.dumps(body), headers=text)
        assert "application/json" in refusal(reply, 400, INVALID)
        for accept in ("application/json", "text/html"):
            reply = await rig.client.post(
                f"{rig.url}/mcp", json=body, headers={**bearer(KEY), **sent, "accept": accept}
            )
            assert "text/event-stream" in refusal(reply, 406, INVALID)
    reply = await rig.client.get(f"{rig.url}/mcp", headers={**bearer(KEY), **headers})
    assert "POST" in refusal(reply, 405, INVALID)
    assert reply.headers["allow"] == "POST"


WRONG_PARAMS: tuple[tuple[str, object, str], ...] = (
    ("tools/call", None, "'params' is required"),
    ("tools/call", {"arguments": {}}, "'params.name' is required"),
    ("tools/call", {"name": 7}, "'params.name' must be a string"),
    ("tools/call", {"name": "perplexity_ask", "arguments": []}, "'params.arguments' must be an object"),
    ("tools/list", {"cursor": 7}, "'params.cursor' must be a string"),
    ("tools/list", {"_meta": {"progressToken": 1.5}}, "'params._meta.progressToken' must be a string or an integer"),
    ("prompts/get", {"name": "fact_check", "arguments": {"str": 1}}, "'params.arguments.str' must be a string"),
    ("prompts/get", {"name": "x", "arguments": {"y" * 9000: 1}}, "…"),
    ("resources/read", {"uri": 7}, "'params.uri' must be a string"),
    ("completion/complete", {}, "Method not found"),
)


def without_envelope(method: str, params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, **({} if params is None else {"params": params})}


async def test_params_of_a_wrong_shape_are_named_in_both_eras(rig: Rig) -> None:
    url = f"{rig.url}/mcp"
    headers = {"accept": ACCEPT, **bearer(KEY)}
    began = await rig.client.post(url, json=INITIALIZE, headers=headers)
    session = {"mcp-session-id": began.headers["mcp-session-id"]}
    for method, params, words in WRONG_PARAMS:
        code, status = (-32601, 404) if method == "completion/complete" else (-32602, 400)
        reply = await rig.client.post(url, json=without_envelope(method, params), headers={**headers, **session})
        error = events_of(reply.text)[-1]["error"]
        assert error["code"] == code
        assert words in error["message"]
        assert len(error["message"]) < 300
        if not isinstance(params, dict) or "_meta" in params or "name" in params or "uri" in params:
            continue  # of a stateless request the headers repeat these, and come first
        body, more = modern(method, params)
        reply = await rig.client.post(url, json=body, headers={**more, **bearer(KEY)})
        assert words in refusal(reply, status, code, 1)
    no_client = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"capabilities": {}}}
    reply = await rig.client.post(url, json=no_client, headers=headers)
    assert events_of(reply.text)[-1]["error"]["message"] == "'params.clientInfo' is required."
    body, more = modern("tools/list")
    body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = []
    reply = await rig.client.post(url, json=body, headers={**more, **bearer(KEY)})
    assert "clientCapabilities' must be an object" in refusal(reply, 400, -32602, 1)


async def test_a_message_has_a_size_and_a_body_too(rig: Rig) -> None:
    async def post(size: int) -> httpx2.Response:
        body, headers = modern("tools/list", {"x": "x" * size})
        return await rig.client.post(f"{rig.url}/mcp", json=body, headers={**headers, **bearer(KEY)})

    assert await listed(await post(5 << 20)) == TOOLS
    assert "8388608 characters" in refusal(await post(9 << 20), 400, INVALID)
    refused = await post(Settings().max_body_bytes)
    assert refused.status_code == 413
    assert "PPLX_MAX_BODY_BYTES" in refused.json()["error"]["message"]


async def test_a_body_that_does_not_come_is_given_up(rig: Rig) -> None:
    url = httpx2.URL(rig.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST /{KEY}/mcp HTTP/1.1\r\nhost: {url.host}:{url.port}\r\ncontent-type: application/json\r\n"
    writer.write(f"{head}content-length: 50\r\n\r\n{{".encode())
    assert (await reader.readline()).split()[1] == b"408"
    writer.close()


# what counts


async def test_only_tool_calls_that_ask_count_against_a_keys_limits(rig: Rig) -> None:
    for use in ("header", "mcp-path"):
        key_id, secret = await make(rig, use, use=use, requests_per_day=1, upstreams=["api"])
        url, key = (f"{rig.url}/mcp", secret) if use == "header" else (f"{rig.url}/{secret}/mcp", None)
        async with client_of(url, "legacy", key=key) as caller:
            for _ in range(3):
                assert [tool.name for tool in (await caller.client.list_tools()).tools] == TOOLS
                assert not (await caller.call("perplexity_models")).is_error
            await caller.client.read_resource("pplx://usage")
            for wrong in ({"query": QUESTION, "model": "no-such-model"}, {"query": QUESTION, "after": "soon"}, {}):
                assert (await caller.call("perplexity_search", **wrong)).is_error
            await rig.script(AGENT, agent_steps())
            told = await caller.call("perplexity_ask", query=QUESTION)
            assert not told.is_error
            refused = await caller.call("perplexity_ask", query=QUESTION)
            assert refused.code == "rate_limit_exceeded"
            assert "1 times a day" in refused.text
            assert (await caller.call("perplexity_web_search", query=QUESTION)).code == "rate_limit_exceeded"
            again = await caller.call("perplexity_agent_result", response_id=told.structured["response_id"])
            assert TEXT in again.text, "what was paid for can be fetched"
        await revoke(rig, key_id)
    assert len(await rig.requests(f"{AGENT}*")) == 2


# the transport before


@contextlib.asynccontextmanager
async def sse_session(url: str, headers: dict[str, Any] | None = None) -> AsyncGenerator[ClientSession, None]:
    async with sse_client(url, headers=headers) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


async def test_sse_serves_the_same_tools(rig: Rig) -> None:
    for url, headers in ((f"{rig.url}/sse", bearer(KEY)), (f"{rig.url}/{KEY}/sse", None)):
        async with sse_session(url, headers) as session:
            assert [tool.name for tool in (await session.list_tools()).tools] == TOOLS
            await rig.script(AGENT, agent_steps())
            told: list[str] = []

            async def note(progress: float, total: float | None, message: str | None) -> None:
                told.append(message or "")  # noqa: B023 - read before the next round

            result = await session.call_tool("perplexity_agent", {"query": QUESTION}, progress_callback=note)
            assert TEXT in result.content[0].model_dump()["text"]
            assert told


async def test_an_sse_stream_takes_messages_of_its_own_key_alone(rig: Rig) -> None:
    _, secret = await make(rig, use="mcp-path")
    async with rig.client.stream("GET", f"{rig.url}/{KEY}/sse") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        assert stream.headers["cache-control"] == "no-cache, no-transform"
        assert stream.headers["x-accel-buffering"] == "no"
        data = data_of(stream)
        messages = (json.loads(line) async for line in data)
        address = await anext(data)
        assert address.startswith(f"/{KEY}/sse?session_id=")
        foreign = await rig.client.post(f"{rig.url}{address.replace(KEY, secret)}", json=INITIALIZE)
        assert foreign.status_code == 404
        json_type = {"content-type": "application/json"}
        bad = await rig.client.post(rig.url + address, content=b"{not json about tides", headers=json_type)
        refusal(bad, 400, PARSE)
        early = await rig.client.post(rig.url + address, json=LIST)
        assert early.status_code == 202
        assert "'initialize' can come first" in (await anext(messages))["error"]["message"]
        good = await rig.client.post(rig.url + address, json=INITIALIZE)
        assert good.status_code == 202
        assert (await anext(messages))["result"]["serverInfo"]["name"] == "pplx-gateway"
        wrong = await rig.client.post(rig.url + address, json=without_envelope("tools/call", {"name": 7}))
        assert wrong.status_code == 202
        assert (await anext(messages))["error"]["message"] == "'params.name' must be a string."
    assert "about tides" not in rig.log.getvalue()


async def test_what_is_no_message_or_goes_to_no_stream_is_refused_by_sse_in_json(rig: Rig) -> None:
    headers = {"content-type": "application/json", **bearer(KEY)}
    async with rig.client.stream("GET", f"{rig.url}/sse", headers=bearer(KEY)) as stream:
        data = data_of(stream)
        address = rig.url + await anext(data)
        for content, code, identifier in NO_MESSAGES:
            refusal(await rig.client.post(address, content=content, headers=headers), 400, code, identifier)
        text = await rig.client.post(address, content=b"{}", headers={**headers, "content-type": "text/plain"})
        assert "application/json" in refusal(text, 400, INVALID)
        large = json.dumps({**LIST, "params": {"x": "x" * (5 << 20)}})
        assert (await rig.client.post(address, content=large, headers=headers)).status_code == 202
        for query in ("", "?session_id=", "?session_id=zz"):
            reply = await rig.client.post(f"{rig.url}/sse{query}", json=LIST, headers=headers)
            assert "session_id" in refusal(reply, 400, INVALID)
    gone = await rig.client.post(f"{rig.url}/sse?session_id={'0' * 32}", json=LIST, headers=headers)
    assert "GET /sse" in refusal(gone, 404, INVALID)


async def data_of(stream: httpx2.Response) -> AsyncGenerator[str, None]:
    async for line in stream.aiter_lines():
        if line.startswith("data: "):
            yield line.removeprefix("data: ")


async def test_who_leaves_an_sse_stream_while_messages_come_breaks_nothing(
    rig: Rig, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(5):
        async with rig.client.stream("GET", f"{rig.url}/sse", headers=bearer(KEY)) as stream:
            data = data_of(stream)
            address = rig.url + await anext(data)
        late = await rig.client.post(address, json=LIST, headers=bearer(KEY))
        assert late.status_code in (202, 404)
    assert (await rig.client.get(f"{rig.url}/health", headers=bearer(KEY))).status_code == 200
    assert [record for record in caplog.records if record.levelname in ("ERROR", "CRITICAL")] == []


async def test_an_event_to_go_on_from_is_passed_over_since_events_have_no_ids(rig: Rig) -> None:
    headers = {"accept": ACCEPT, **bearer(KEY)}
    began = await rig.client.post(f"{rig.url}/mcp", json=INITIALIZE, headers=headers)
    again = {"mcp-session-id": began.headers["mcp-session-id"], "last-event-id": "5"}
    async with rig.client.stream("GET", f"{rig.url}/mcp", headers={**headers, **again}) as stream:
        assert (stream.status_code, stream.headers["content-type"]) == (200, "text/event-stream")


async def test_an_id_that_is_in_use_in_its_session_is_refused(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pplx_gateway.protocols.mcp.ids.GRACE_SECONDS", 0.01)
    headers = {"accept": ACCEPT, **bearer(KEY)}
    began = await rig.client.post(f"{rig.url}/mcp", json=INITIALIZE, headers=headers)
    headers["mcp-session-id"] = began.headers["mcp-session-id"]
    await rig.script(AGENT, [*agent_steps()[:4], {"sleep": 3000}])
    asked = without_envelope("tools/call", {"name": "perplexity_agent", "arguments": {"query": QUESTION}})
    first = asyncio.create_task(rig.client.post(f"{rig.url}/mcp", json=asked, headers=headers))
    await rig.wait(AGENT)
    second = await rig.client.post(f"{rig.url}/mcp", json=asked, headers=headers)
    assert "'id' is still running" in refusal(second, 400, INVALID)
    told = events_of((await first).text)[-1]["result"]
    assert told["structuredContent"]["status"] == "running"
    monkeypatch.undo()
    assert await listed(await rig.client.post(f"{rig.url}/mcp", json={**LIST, "id": 1}, headers=headers)) == TOOLS
