"""What there is, for those who ask for a path that there is not. It is read off the routes, so that it cannot fall
behind them."""

from collections.abc import Iterable
from typing import NamedTuple

from starlette.routing import BaseRoute, Route

from pplx_gateway.errors import NotFound

_PARTS = ("/perplexity", "/admin")
"""Whoever is lost in one of these is told of nothing else, and elsewhere of none of them: together they are too much to
read."""


class _Entry(NamedTuple):
    part: str
    text: str


class Signpost:
    """Of a path with several addresses the routes say which are told (`include_in_schema`)."""

    def __init__(self, routes: Iterable[BaseRoute]) -> None:
        told = [route for route in routes if isinstance(route, Route) and route.include_in_schema]
        self._entries = [_Entry(_part(path), f"{methods} {path}") for path, methods in _by_path(told).items()]

    def lost(self, path: str) -> NotFound:
        part = _part(path)
        found = ", ".join(entry.text for entry in self._entries if entry.part == part)
        where, others = (f" under {part}", "") if part else ("", f" There is more under {' and '.join(_PARTS)}.")
        return NotFound(f"There is no such path. What there is{where}: {found}.{others} All of it: /openapi.json.")


def _by_path(routes: Iterable[Route]) -> dict[str, str]:
    methods: dict[str, set[str]] = {}
    for route in routes:
        methods.setdefault(route.path.replace(":path", ""), set()).update((route.methods or {"GET"}) - {"HEAD"})
    return {path: "/".join(sorted(found)) for path, found in methods.items()}


def _part(path: str) -> str:
    return next((part for part in _PARTS if path == part or path.startswith(f"{part}/")), "")
