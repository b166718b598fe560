"""Every route that the router has, as requests that can be made."""

import re
from typing import Any, NamedTuple

from starlette.routing import Route
from starlette.types import ASGIApp

from pplx_gateway.web.app import Dispatch

PUBLIC = frozenset({"/", "/admin", "/chat", "/docs", "/health", "/openapi.json", "/static/x", "/static/x/x"})
"""What is served without a key; whatever is added to it must be added here, too."""


class Call(NamedTuple):
    method: str
    path: str


class Routes:
    """Put around the app of a running program, it knows what the program serves."""

    def __init__(self) -> None:
        self._app: ASGIApp | None = None

    def around(self, app: ASGIApp) -> ASGIApp:
        self._app = app
        return app

    def calls(self) -> list[Call]:
        """Each method of each route, with `x` for what stands in its path."""
        layer: Any = self._app
        while not isinstance(layer, Dispatch):
            layer = layer._app
        rest: Any = layer._rest
        routes = [route for route in rest.routes if isinstance(route, Route)]
        assert len(routes) > 60
        found = {
            Call(method, re.sub(r"\{[^}]*\}", "x", route.path))
            for route in routes
            for method in (route.methods or {"GET"}) - {"HEAD"}
        }
        return sorted(found)

    def posts(self) -> list[str]:
        return [call.path for call in self.calls() if call.method == "POST"]
