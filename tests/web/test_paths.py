import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from pplx_gateway.web.app import create_app
from pplx_gateway.web.paths import normal
from tests.openai.fakes import gateway
from tests.running import serve
from tests.web.calling import ASK, BEARER, CHAT, calling, error


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/v1/chat/completions", CHAT),
        ("/v1/chat/completions/", CHAT),
        ("//v1//chat///completions", CHAT),
        ("/v1/v1/chat/completions", CHAT),
        ("/v1/v1/v1/chat/completions", CHAT),
        ("/chat/completions", "/chat/completions"),
        ("//chat/completions/", "/chat/completions"),
        ("/v1/chat/completions/chat/completions", CHAT),
        ("/v1/chat/completions/v1/chat/completions", CHAT),
        ("/chat/completions/chat/completions", "/chat/completions"),
        ("/chat/completions/v1/chat/completions", CHAT),
        ("/perplexity/chat/completions/", "/perplexity/chat/completions"),
        ("/perplexity/v1/chat/completions", "/perplexity/v1/chat/completions"),
        ("/v1/chat/completions/models", "/v1/models"),
        ("/models", "/v1/models"),
        ("/models/perplexity/sonar", "/v1/models/perplexity/sonar"),
        ("/v1/models/", "/v1/models"),
        ("/v1/models/v1", "/v1/models/v1"),
        ("/", "/"),
        ("//", "/"),
        ("/chat", "/chat"),
        ("/chat/", "/chat"),
        ("/search", "/search"),
        ("/modelsuit", "/modelsuit"),
        ("/v1", "/v1"),
        ("/v10/v1/models", "/v10/v1/models"),
    ],
)
def test_base_addresses_as_people_write_them(path: str, expected: str) -> None:
    assert normal(path) == expected
    assert normal(expected) == expected


@pytest.mark.parametrize(
    "path", ["/chat/completions", "/v1/v1/chat/completions/", "//v1/chat/completions/chat/completions"]
)
async def test_a_question_reaches_the_route_by_any_of_them(path: str) -> None:
    async with calling() as caller:
        assert (await caller.ask(path=path)).status_code == 200


@pytest.mark.parametrize(
    "path", ["//health//", "/v1/v1/models", "/%2e%2e/v1/models", "//chat/completions", "/v1/models/"]
)
async def test_no_form_of_a_path_gets_past_the_key(path: str) -> None:
    async with calling() as caller:
        reply = await caller.get(path, headers={})
    assert reply.status_code == (200 if "health" in path else 401)


async def test_the_app_works_where_it_is_mounted() -> None:
    app = Starlette(routes=[Mount("/gateway", create_app(gateway()))])
    async with serve(app) as url, httpx2.AsyncClient(trust_env=False, verify=False, headers=BEARER) as client:
        asked = await client.post(f"{url}/gateway{CHAT}", json=ASK)
        listed = await client.get(f"{url}/gateway/models")
        locked = await client.get(f"{url}/gateway/models", headers={"authorization": ""})
    assert (asked.status_code, listed.status_code, locked.status_code) == (200, 200, 401)


async def test_an_unknown_path_is_a_404_that_lists_the_real_ones() -> None:
    async with calling() as caller:
        reply = await caller.get("/v1/nothing")
    assert reply.status_code == 404
    assert "POST /v1/chat/completions" in error(reply)["message"]
    assert "GET /v1/models" in error(reply)["message"]


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", CHAT, {"POST"}),
        ("HEAD", CHAT, {"POST"}),
        ("DELETE", CHAT, {"POST"}),
        ("POST", "/v1/models", {"GET", "HEAD"}),
        ("PUT", "/health", {"GET", "HEAD"}),
        ("OPTIONS", CHAT, {"POST"}),
    ],
)
async def test_a_wrong_method_is_a_405_with_allow(method: str, path: str, allow: set[str]) -> None:
    async with calling() as caller:
        reply = await caller.get(path, method=method)
    assert reply.status_code == 405
    assert set(reply.headers["allow"].split(", ")) == allow
    if method != "HEAD":
        assert error(reply)["code"] == "method_not_allowed"


@pytest.mark.parametrize("path", ["/health", "/v1/models", "/chat", "/openapi.json"])
async def test_head_is_get_without_its_body(path: str) -> None:
    async with calling() as caller:
        head, get = await caller.get(path, method="HEAD"), await caller.get(path)
    assert head.status_code == get.status_code == 200
    assert head.content == b""
    assert head.headers["content-length"] == get.headers["content-length"]
    assert "content-encoding" in get.headers or get.headers["content-length"] == str(len(get.content))
