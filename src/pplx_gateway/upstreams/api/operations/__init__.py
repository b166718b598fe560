"""What the API does beside answering questions: each module is one of the interfaces of operations.py."""

from typing import NamedTuple

from pplx_gateway.operations import (
    Agents,
    Batches,
    BrowserSessions,
    Decider,
    Embedder,
    FileStore,
    RunFiles,
    Searcher,
    Skills,
)
from pplx_gateway.upstreams.api.operations.agents import ApiAgents
from pplx_gateway.upstreams.api.operations.batches import ApiBatches
from pplx_gateway.upstreams.api.operations.browser import ApiBrowserSessions
from pplx_gateway.upstreams.api.operations.calls import Calls
from pplx_gateway.upstreams.api.operations.decisions import ApiDecider
from pplx_gateway.upstreams.api.operations.embeddings import ApiEmbedder
from pplx_gateway.upstreams.api.operations.files import ApiFiles
from pplx_gateway.upstreams.api.operations.run_files import ApiRunFiles
from pplx_gateway.upstreams.api.operations.search import ApiSearcher
from pplx_gateway.upstreams.api.operations.skills import ApiSkills
from pplx_gateway.upstreams.api.runner import Runner

__all__ = ["Calls", "Operations", "operations"]


class Operations(NamedTuple):
    searcher: Searcher
    embedder: Embedder
    decider: Decider
    files: FileStore
    batches: Batches
    skills: Skills
    browser: BrowserSessions
    run_files: RunFiles
    agents: Agents


def operations(calls: Calls, runner: Runner) -> Operations:
    """All of them, over one way to call. `runner` has the runs."""
    return Operations(
        searcher=ApiSearcher(calls),
        embedder=ApiEmbedder(calls),
        decider=ApiDecider(calls),
        files=ApiFiles(calls),
        batches=ApiBatches(calls),
        skills=ApiSkills(calls),
        browser=ApiBrowserSessions(calls),
        run_files=ApiRunFiles(calls),
        agents=ApiAgents(calls, runner),
    )
