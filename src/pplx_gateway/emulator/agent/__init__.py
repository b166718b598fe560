"""The half that plays api.perplexity.ai: the Agent API, the search API and the list of models."""

from collections.abc import Mapping
from typing import Any

from starlette.routing import BaseRoute

from pplx_gateway.emulator.agent.endpoints import AgentApi
from pplx_gateway.emulator.agent.errors import ApiError, on_api_error, on_not_found, on_wrong_method
from pplx_gateway.emulator.stage import Stage


def routes(stage: Stage) -> list[BaseRoute]:
    return AgentApi(stage).routes()


def exception_handlers() -> Mapping[Any, Any]:
    """How the whole application answers errors and unknown paths: in the API's words."""
    return {ApiError: on_api_error, 404: on_not_found, 405: on_wrong_method}
