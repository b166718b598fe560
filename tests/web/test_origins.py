import logging
import re
from pathlib import Path

import pytest

import pplx_gateway
from pplx_gateway.answer import Finished, Started, TextDelta
from pplx_gateway.errors import UpstreamTruncated
from pplx_gateway.settings import Secret
from tests.openai.fakes import FakeUpstream, gateway
from tests.web.calling import ASK, BEARER, CHAT, calling, error

OBSIDIAN = "app://obsidian.md"
PREFLIGHT = {
    "access-control-request-method": "POST",
    "access-control-request-headers": "authorization,content-type,x-stainless-lang",
}


async def test_a_preflight_of_a_configured_origin_passes_without_a_key() -> None:
    async with calling(gateway(cors_origins=(OBSIDIAN,))) as caller:
        reply = await caller.get(CHAT, {**PREFLIGHT, "origin": OBSIDIAN}, method="OPTIONS")
    assert reply.status_code == 204
    assert reply.headers["access-control-allow-origin"] == OBSIDIAN
    assert "POST" in reply.headers["access-control-allow-methods"]
    assert reply.headers["access-control-allow-headers"] == PREFLIGHT["access-control-request-headers"]
    assert reply.headers["vary"] == "Origin"
    assert "access-control-allow-private-network" not in reply.headers


async def test_a_preflight_about_the_private_network_is_answered() -> None:
    ask = {**PREFLIGHT, "origin": OBSIDIAN, "access-control-request-private-network": "true"}
    async with calling(gateway(cors_origins=(OBSIDIAN,))) as caller:
        reply = await caller.get(CHAT, ask, method="OPTIONS")
    assert reply.headers["access-control-allow-private-network"] == "true"


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://localhost.evil.example", "http://"])
async def test_a_foreign_origin_is_refused_without_cors_headers(origin: str) -> None:
    upstream = FakeUpstream("api")
    async with calling(gateway(upstream, cors_origins=(OBSIDIAN,))) as caller:
        preflight = await caller.get(CHAT, {**PREFLIGHT, "origin": origin}, method="OPTIONS")
        reply = await caller.ask(headers={**BEARER, "origin": origin})
    for refused in (preflight, reply):
        assert refused.status_code == 403
        assert error(refused)["code"] == "forbidden"
        assert not [name for name in refused.headers if name.startswith("access-control")]
    assert not upstream.asked


async def test_answers_errors_and_streams_all_carry_cors_headers() -> None:
    upstream = FakeUpstream("api", [[TextDelta("a")], UpstreamTruncated("Cut.")])
    headers = {**BEARER, "origin": OBSIDIAN}
    async with calling(gateway(upstream, cors_origins=(OBSIDIAN + "/",))) as caller:
        replies = [
            await caller.ask({**ASK, "stream": True}, headers),
            await caller.ask(ASK, headers),
            await caller.ask(b"{", headers),
            await caller.ask(ASK, {"origin": OBSIDIAN}),
            await caller.get("/v1/models", headers),
            await caller.get("/nowhere", headers),
        ]
    assert [reply.status_code for reply in replies] == [200, 502, 400, 401, 200, 404]
    for reply in replies:
        assert reply.headers["access-control-allow-origin"] == OBSIDIAN
        assert "x-request-id" in reply.headers["access-control-expose-headers"]


async def test_a_page_may_read_every_header_that_is_ours() -> None:
    """Also those that a header of tomorrow adds: whatever stands in the code is looked for."""
    code = Path(pplx_gateway.__file__).parent
    files = [path for path in code.rglob("*.py") if "emulator" not in path.parts]
    written = {name for path in files for name in re.findall(r'b"(x-pplx-[a-z-]+)"', path.read_text("utf-8"))}
    assert {"x-pplx-upstream", "x-pplx-remaining-pro"} < written
    told = Finished(reason="stop", remaining_pro=7)
    upstream = FakeUpstream("session", [[Started(), TextDelta("a"), told]])
    headers = {**BEARER, "origin": OBSIDIAN}
    async with calling(gateway(upstream, cors_origins=(OBSIDIAN,))) as caller:
        reply = await caller.ask({**ASK, "model": "gpt"}, headers)
    exposed = set(reply.headers["access-control-expose-headers"].split(", "))
    assert reply.headers["x-pplx-remaining-pro"] == "7"
    assert written <= exposed
    assert {name for name in reply.headers if name.startswith("x-")} <= exposed
    assert {"retry-after", "x-should-retry"} < exposed


async def test_the_gateways_own_pages_may_call_it() -> None:
    async with calling(gateway(public_url="https://pplx.example.org")) as caller:
        own = await caller.ask(headers={**BEARER, "origin": caller.url})
        public = await caller.ask(headers={**BEARER, "origin": "https://pplx.example.org"})
    assert own.status_code == public.status_code == 200
    assert "access-control-allow-origin" not in own.headers


async def test_any_origin_counts_only_where_a_key_is_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    origin = {"origin": "https://any.example"}
    async with calling(gateway(cors_origins=("*",))) as caller:
        keyed = await caller.ask(headers={**BEARER, **origin})
    with caplog.at_level(logging.WARNING, "pplx_gateway"):
        async with calling(gateway(cors_origins=("*",), api_key=None)) as caller:
            open_ = await caller.ask(headers=origin)
    assert keyed.headers["access-control-allow-origin"] == "https://any.example"
    assert open_.status_code == 403
    assert "PPLX_CORS_ORIGINS" in caplog.text


async def test_two_origins_are_refused() -> None:
    async with calling(gateway(cors_origins=(OBSIDIAN,), api_key=Secret("k"))) as caller, caller.socket() as socket:
        await socket.head(f"Origin: {OBSIDIAN}", f"Origin: {OBSIDIAN}", method="GET", path="/health")
        status, _, _ = await socket.response()
    assert status == 403
