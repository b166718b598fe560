"""Who is let in where, on every route that the router has."""

import ast
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import httpx2
import pytest
import pytest_asyncio

import pplx_gateway
from tests.abuse.routes import PUBLIC, Call, Routes
from tests.rig import AGENT, ASK_PATH, KEY, SECRETS, Rig, bearer, running

WRONG = "gk-test-wrong"
KEYS: dict[str, dict[str, str]] = {
    "none": {},
    "a wrong one": bearer(WRONG),
    "a wrong one in the other header": {"x-api-key": WRONG},
    "one that begins alike": bearer(KEY[:-1]),
    "the upstream's own": bearer("pplx-SECRET-KEY"),
    "the right one in a cookie": {"cookie": f"key={KEY}"},
    "the right one behind a wrong one": {**bearer(WRONG), "x-api-key": KEY},
}
Program = tuple[Rig, Routes]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def program(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Program, None]:
    routes = Routes()
    async with running(tmp_path_factory.mktemp("routes"), around=routes.around) as rig:
        yield rig, routes
        await rig.check()


async def call(rig: Rig, call: Call, headers: dict[str, str]) -> httpx2.Response:
    return await rig.client.request(call.method, rig.url + call.path, headers=headers, json={})


async def nobody_asked(rig: Rig) -> bool:
    return not await rig.requests(f"{AGENT}*") and not await rig.requests(ASK_PATH)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("headers", KEYS.values(), ids=KEYS)
async def test_no_route_but_the_public_ones_opens_without_the_key(program: Program, headers: dict[str, str]) -> None:
    rig, routes = program
    for found in routes.calls():
        reply = await call(rig, found, headers)
        if found.path in PUBLIC:
            assert reply.status_code in (200, 307, 404), found
        elif found.path in ("/x/mcp", "/x/sse"):
            assert reply.status_code == 404, found
        else:
            assert reply.status_code == 401, (found, reply.text)
            assert reply.json()["error"]["message"]
        assert not any(secret in reply.text for secret in SECRETS), found
    assert await nobody_asked(rig)


@pytest.mark.asyncio(loop_scope="module")
async def test_a_callers_key_rules_nothing(program: Program) -> None:
    rig, routes = program
    made = await rig.post({"name": "guest"}, path="/admin/caller-keys")
    ruling = [found for found in routes.calls() if found.path.startswith("/admin/")]
    assert len(ruling) > 20
    for found in ruling:
        for headers in (bearer(made.json["secret"]), {"x-api-key": made.json["secret"]}):
            reply = await call(rig, found, headers)
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "forbidden"), found
    shown = (await rig.client.get(rig.url + "/health", headers=bearer(made.json["secret"]))).json()
    assert set(shown) == {"status", "service", "version"}


@pytest.mark.asyncio(loop_scope="module")
async def test_methods_that_no_route_has_are_refused_on_every_path(program: Program) -> None:
    rig, routes = program
    known = set(routes.calls())
    for path in sorted({found.path for found in known}):
        for method in {"TRACE", "PUT"} - {found.method for found in known if found.path == path}:
            keyless = await rig.client.request(method, rig.url + path)
            assert keyless.status_code in (401, 404, 405), (method, path)
            reply = await rig.client.request(method, rig.url + path, headers=bearer(KEY))
            assert reply.status_code in (400, 404, 405), (method, path, reply.text)


def test_keys_are_compared_in_constant_time_only() -> None:
    """No `==` stands beside a secret, a digest or a presented key where callers are let in."""
    package = Path(pplx_gateway.__file__).parent
    guards = [*package.glob("caller_*.py"), *package.glob("web/*.py"), *package.glob("protocols/mcp/path_keys.py")]
    compared = [
        f"{file.name}:{node.lineno}"
        for file in guards
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq | ast.In) for op in node.ops)
        if any(secret(name) for part in (node.left, *node.comparators) for name in names(part))
    ]
    assert compared == []
    for file in ("web/authentication.py", "caller_keeping.py"):
        assert "hmac.compare_digest(" in (package / file).read_text(encoding="utf-8")


def names(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def secret(name: str) -> bool:
    return name.strip("_") in {"digest", "secret", "presented", "reveal", "whole", "api_key", "token"}
