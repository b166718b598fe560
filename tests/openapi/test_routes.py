"""The description and the router, one held against the other."""

import re
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.types import ASGIApp

from pplx_gateway.protocols.openai.unsupported import LACKING
from tests.rig import running

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

_REFUSED = {
    f"/v1/{path}{tail}": "refused by name, whatever is asked"
    for lacking in LACKING
    for path in lacking.paths
    for tail in ("", "/{rest}")
}


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


async def test_everything_that_is_served_is_described_and_nothing_else(tmp_path: Path) -> None:
    apps: list[ASGIApp] = []

    def noted(app: ASGIApp) -> ASGIApp:
        apps.append(app)
        return app

    async with running(tmp_path, around=noted) as rig:
        paths = (await rig.get("/openapi.json")).json["paths"]
        found = served(apps[0])
    described = {(method.upper(), path) for path, calls in paths.items() for method in calls}
    left_out = {**UNDESCRIBED, **_REFUSED}
    shown = {each for each in found if not each[1].startswith(FILES_OF_PAGES)}
    assert {each for each in shown if each[1] not in left_out} == described
    assert left_out.keys() <= {path for _, path in found}, "what is left out must be there"
