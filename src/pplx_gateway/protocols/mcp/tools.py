"""The tools, as clients see them. Their schemas are part of every conversation of every client, so they are short."""

from typing import NamedTuple

from pplx_agent_mcp import RECENCIES, Parameter, Tool, agent_tools

from pplx_gateway.question import Effort

WAIT_SECONDS = 45
"""For one call. Clients give up after 60, and HTTP adds hops; whatever takes longer comes back as a response_id."""
MOST_PAGES = 20
USUAL_PAGES = 10
DEFAULT = "default"

START, RESULT, CANCEL = "perplexity_agent", "perplexity_agent_result", "perplexity_agent_cancel"
MODELS, WEB_SEARCH = "perplexity_models", "perplexity_web_search"
ALWAYS_ALLOWED = frozenset((MODELS, RESULT, CANCEL))
"""They ask nobody, so they count against no limit: what was paid for can be fetched and stopped always."""


class Ask(NamedTuple):
    """What a tool asks where its caller names no model. `session` None = DEFAULT_MODEL; `api` None = what stands in
    for that."""

    session: str | None = None
    api: str | None = None
    effort: Effort | None = None


ASKS = {
    "perplexity_search": Ask(),
    "perplexity_ask": Ask("auto", "fast"),
    "perplexity_reason": Ask(None, "medium", effort="medium"),
    "perplexity_research": Ask("deep-research", "high"),
}

_READS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": False, "openWorldHint": True}
_LOOKS = {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False}

_QUERY = Parameter("string", "The question, complete in itself.", required=True)
_MODEL = Parameter("string", "An id that perplexity_models lists.", default=DEFAULT)
_SOURCES = Parameter("string", "web, academic, social or finance; several by commas.", default="web")
_LANGUAGE = Parameter("string", "Of the answer, such as en-US.")
_WHICH_PAGES = {
    "recency": Parameter("string", "Only pages of the last hour, day, ...", choices=RECENCIES),
    "domains": Parameter("array", "At most 20 to search only, or, each with a leading '-', to leave out."),
    "after": Parameter("string", "Only pages published since, YYYY-MM-DD."),
    "before": Parameter("string", "Only pages published until, YYYY-MM-DD."),
    "country": Parameter("string", "Of the asker: two letters, such as BE."),
}
_CONTEXT = {"context_size": Parameter("string", "How much of the pages is read.", choices=("low", "medium", "high"))}
_LATER = f"What takes longer than {WAIT_SECONDS} seconds returns a response_id for {RESULT}."


def _asking(
    name: str, title: str, about: str, *, first: dict[str, Parameter], more: dict[str, Parameter] | None = None
) -> Tool:
    parameters = {**first, "language": _LANGUAGE, **_WHICH_PAGES, **_CONTEXT, **(more or {})}
    return Tool(name, title, about, parameters, _READS)


TOOLS: tuple[Tool, ...] = (
    _asking(
        "perplexity_search",
        "Search with Perplexity",
        f"Answers from a web search, with a model and kinds of sources of your choice. {_LATER}",
        first={"query": _QUERY, "model": _MODEL, "sources": _SOURCES},
    ),
    _asking(
        "perplexity_ask",
        "Ask Perplexity",
        "A quick answer from the web, with sources.",
        first={"query": _QUERY},
    ),
    _asking(
        "perplexity_reason",
        "Reason with Perplexity",
        f"Searches the web and thinks before it answers. {_LATER}",
        first={"query": _QUERY, "model": _MODEL},
    ),
    _asking(
        "perplexity_research",
        "Research with Perplexity",
        f"A deep research of minutes that ends in a report with sources. {_LATER}",
        first={"query": _QUERY},
        more={"wait": Parameter("boolean", "false returns a response_id at once.", default=True)},
    ),
    Tool(MODELS, "Perplexity's models", "Lists the models that can be asked.", {}, _LOOKS),
    Tool(
        WEB_SEARCH,
        "Find web pages",
        "Finds pages and excerpts of them, without an answer. Takes an API key; each search is billed.",
        {
            "query": Parameter("string", "What to search for.", required=True),
            "max_results": Parameter("integer", "Pages.", default=USUAL_PAGES, minimum=1, maximum=MOST_PAGES),
            **_WHICH_PAGES,
        },
        _READS,
    ),
    *agent_tools(WAIT_SECONDS),
)
