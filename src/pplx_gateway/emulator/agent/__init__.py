"""The half that plays api.perplexity.ai: every endpoint of it, and the refusal of those that were retired."""

from collections.abc import Mapping
from typing import Any

from starlette.routing import BaseRoute

from pplx_gateway.emulator.agent.batches import Batches
from pplx_gateway.emulator.agent.browser import BrowserSessions
from pplx_gateway.emulator.agent.deciding import Decisions
from pplx_gateway.emulator.agent.embedding import Embeddings
from pplx_gateway.emulator.agent.endpoints import AgentApi
from pplx_gateway.emulator.agent.errors import ApiError, on_api_error, on_not_found, on_wrong_method
from pplx_gateway.emulator.agent.files import Files
from pplx_gateway.emulator.agent.search import Searches
from pplx_gateway.emulator.agent.skills import Skills
from pplx_gateway.emulator.stage import Stage


def routes(stage: Stage) -> list[BaseRoute]:
    agent, files = AgentApi(stage), Files(stage)
    groups = (
        agent,
        Searches(stage),
        Embeddings(stage),
        Decisions(stage),
        files,
        Batches(stage, files, agent.begin),
        Skills(stage),
        BrowserSessions(stage),
    )
    return [route for group in groups for route in group.routes()]


def exception_handlers() -> Mapping[Any, Any]:
    """How the whole application answers errors and unknown paths: in the API's words."""
    return {ApiError: on_api_error, 404: on_not_found, 405: on_wrong_method}
