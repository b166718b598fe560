"""Perplexity's Agent API as a model of the `llm` command.

The way to the API is `pplx_agent_mcp`, one file that can be read in one sitting and holds all that opens connections.
"""

from collections.abc import Callable

import llm

from llm_pplx_agent.models import AsyncPplxAgent, PplxAgent
from llm_pplx_agent.version import __version__

__all__ = ["AsyncPplxAgent", "PplxAgent", "__version__", "register_models"]


@llm.hookimpl
def register_models(register: Callable[..., None]) -> None:
    """llm's hook."""
    register(PplxAgent(), AsyncPplxAgent(), aliases=("perplexity-agent",))
