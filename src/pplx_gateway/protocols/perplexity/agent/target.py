"""Who answers an Agent request, and what of it that decides: the api where it has a key, else the session.

Sonar's names, which the API refuses, lead to what took their place (sonar/models.py).
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from pplx_gateway.catalogue import LEVELS
from pplx_gateway.errors import InvalidRequest, ModelNotFound
from pplx_gateway.protocols.perplexity.agent.request import AgentRequest, ToolChoice, WebSearch
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.routing import NO_MODEL, Route

OLD_LEVELS: Mapping[str, str] = {
    "fast-search": "fast",
    "pro-search": "low",
    "deep-research": "medium",
    "advanced-deep-research": "high",
}
ON_SESSION: Mapping[str, str] = {
    "fast": "sonar",
    "low": "sonar-pro",
    "medium": "sonar-reasoning-pro",
    "high": "sonar-deep-research",
    "xhigh": "sonar-deep-research",
}
"""Sonar's name for a level, which the session has none of."""


class Target(NamedTuple):
    """`routes` of everything that is named, the first one's target answers; `request` is as it is to be sent there."""

    request: AgentRequest
    routes: tuple[Route, ...]
    warnings: tuple[str, ...] = ()

    @property
    def upstream(self) -> str:
        return self.routes[0].targets[0].upstream

    @property
    def patient(self) -> bool:
        """True if an answer may take minutes."""
        return any(route.targets[0].research for route in self.routes) or bool(self.request.background)

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """What an allow-list may call each of what is named."""
        return tuple(_names(route) for route in self.routes)


def _names(route: Route) -> tuple[str, ...]:
    model = route.targets[0]
    return (route.requested, model.id, *([model.agent.model] if model.agent and model.agent.model else []))


def target(request: AgentRequest, models: SonarModels, chosen: Route | None = None) -> Target:
    """`chosen`: who answers in the place of the model (routed.py). Raises ModelNotFound, ModelNotAllowed,
    InvalidRequest, UpstreamAuth."""
    named = request.models or ([request.model] if request.model else [])
    routes = [models.resolve(name) for name in named] if chosen is None else [chosen]
    if request.level:
        routes.append(_level(request.level, models))
    if not routes:  # a profile decides
        routes.append(models.resolve(NO_MODEL))
    if len({route.targets[0].upstream for route in routes}) > 1:
        where = "models" if request.models else "effort" if request.effort else "preset"
        raise InvalidRequest(f"'{where}' leads to another upstream than the model. Leave one out.", param=where)
    if any(route.tiers is not None for route in routes):
        raise InvalidRequest("The router chooses alone: name it as 'model', and leave 'models' out.", param="models")
    found = Target(request, tuple(routes))
    return found if found.upstream == "session" else _on_api(found)


def _level(name: str, models: SonarModels) -> Route:
    """A level that nobody here knows is for the API to judge."""
    level = OLD_LEVELS.get(name, name)
    if models.upstreams == ["session"]:
        known = ON_SESSION.get(level.partition("@")[0])
        if known is None:
            raise ModelNotFound(f"The session upstream has nothing like the level '{name[:80]}'.", param="effort")
        return models.resolve(known, asked=level)._replace(requested=name)
    target = level if level.partition("@")[0] in LEVELS else NO_MODEL
    return models.resolve(target, asked=level)._replace(requested=name)


def _on_api(found: Target) -> Target:
    request, routes = found.request, found.routes
    if request.models:
        return found._replace(request=msgspec.structs.replace(request, model=None, models=list(_bare(routes, request))))
    if not request.model or (agent := routes[0].targets[0].agent) is None:
        return found
    changes: dict[str, object] = {"model": agent.model}
    if agent.effort and not request.level:
        changes["effort"] = agent.effort
    if agent.search == "never":
        changes["max_tool_calls"] = 0
    if agent.search == "force" and not request.level:
        changes |= _searching(request)
    return found._replace(request=msgspec.structs.replace(request, **changes))


def _bare(routes: tuple[Route, ...], request: AgentRequest) -> Iterator[str]:
    for place, name in enumerate(request.models or ()):
        agent = routes[place].targets[0].agent
        if agent is None or agent.model is None:
            raise InvalidRequest(f"'{name[:80]}' is a level and no model.", param=f"models[{place}]")
        yield agent.model


def _searching(request: AgentRequest) -> dict[str, object]:
    """What this name promises: a search comes first, unless the request says itself what to do."""
    tools = request.tools or []
    if request.tool_choice is not None or request.max_tool_calls == 0:
        return {}
    if not any(isinstance(tool, WebSearch) for tool in tools):
        tools = [*tools, WebSearch()]
    return {"tools": tools, "tool_choice": ToolChoice(type="web_search")}
