"""The description and the router, one held against the other; and what those are told who ask for a path that is in
neither."""

import re
from collections.abc import AsyncGenerator
from typing import Any, NamedTuple

import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from pplx_gateway.protocols.openai.unsupported import LACKING
from tests.rig import KEY, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

UNDESCRIBED = {
    "/": "leads to a page",
    "/admin": "a page",
    "/chat": "a page",
    "/docs": "a page",
    "/mcp": "MCP describes itself to its clients",
    "/sse": "MCP describes itself to its clients",
    "/v1/messages/batches": "refused by name, whatever is asked",
    "/v1/messages/batches/{rest}": "refused by name, whatever is asked",
}
"""What there is and is not described, and why. To it comes all that OpenAI has and Perplexity has not."""
FILES_OF_PAGES = "/static/"
PARTS = ("/perplexity", "/admin", "")
"""Whoever looks in one of them is told what is there."""

_REFUSED = {
    f"/v1/{path}{tail}": "refused by name, whatever is asked"
    for lacking in LACKING
    for path in lacking.paths
    for tail in ("", "/{rest}")
}


class Opened(NamedTuple):
    rig: Rig
    served: set[tuple[str, str]]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def opened(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Opened, None]:
    apps: list[ASGIApp] = []

    def noted(app: ASGIApp) -> ASGIApp:
        apps.append(app)
        return app

    async with running(tmp_path_factory.mktemp("routes"), around=noted) as rig:
        yield Opened(rig, served(apps[0]))


def router_of(app: ASGIApp) -> Starlette:
    """Below the layers, whatever they call what they stand around."""
    layers: list[Any] = [app]
    for layer in layers:
        if isinstance(layer, Starlette):
            return layer
        layers += [each for each in vars(layer).values() if callable(each) and hasattr(each, "__dict__")]
    raise AssertionError("there is no router")


def served(app: ASGIApp) -> set[tuple[str, str]]:
    routes = [route for route in router_of(app).routes if isinstance(route, Route)]
    assert len(routes) == len(router_of(app).routes), "a route of another kind needs a look of its own"
    return {
        (method, re.sub(r":\w+}", "}", route.path))
        for route in routes
        for method in (route.methods or {"GET"}) - {"HEAD"}
    }


async def test_everything_that_is_served_is_described_and_nothing_else(opened: Opened) -> None:
    rig, found = opened
    paths = (await rig.get("/openapi.json")).json["paths"]
    described = {(method.upper(), path) for path, calls in paths.items() for method in calls}
    left_out = {**UNDESCRIBED, **_REFUSED}
    shown = {each for each in found if not each[1].startswith(FILES_OF_PAGES)}
    assert {each for each in shown if each[1] not in left_out} == described
    assert left_out.keys() <= {path for _, path in found}, "what is left out must be there"


async def test_whoever_asks_for_a_path_that_there_is_not_is_told_those_that_there_are(opened: Opened) -> None:
    rig, found = opened
    paths = (await rig.get("/openapi.json")).json["paths"]
    told: dict[str, set[tuple[str, str]]] = {}
    for part in PARTS:
        message = (await rig.client.get(f"{rig.url}{part}/no/such", headers=bearer(KEY))).json()["error"]["message"]
        entries = re.findall(r"([A-Z/]+) (/[^\s,]*[^\s,.])", message)
        told[part] = {(method, path) for methods, path in entries for method in methods.split("/")}
        assert ("/perplexity and /admin" in message) is (part == "")
    pages = {("GET", "/chat"), ("GET", "/docs"), ("GET", "/admin")}
    apart = {
        (method.upper(), path)
        for path, calls in paths.items()
        for method, call in calls.items()
        if not call["summary"].startswith("The same as ")
    }
    for method, path in apart | pages:
        part = next(part for part in PARTS if path.startswith(part))
        assert (method, path) in told[part], "it is served, and nobody is told"
    assert set.union(*told.values()) <= found, "what is told must be there"
