"""`perplexity_web_search`: pages without an answer, each with an excerpt."""

from collections.abc import Mapping, Sequence
from typing import Any

from pplx_agent_mcp import MAX_ANSWER, ToolResult, clip, spotlight

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.operations import Lookup, Page
from pplx_gateway.protocols import search_values

TOKENS_OF_A_PAGE = 1024
"""What is asked of the upstream, so that twenty pages fit into one result."""
_DOCUMENTED = "search"


async def pages(arguments: Mapping[str, Any], gateway: Gateway, caller: str) -> ToolResult:
    """Raises GatewayError; InvalidRequest before anything is sent."""
    lookup = _lookup(arguments)
    searcher = gateway.operations.searcher
    found = await searcher.search(lookup, gateway.paying(_DOCUMENTED, caller=caller))
    if not found.pages:
        text = "No page was found. A broader question, or fewer filters, may find some."
    else:
        text = spotlight("\n\n".join(_listed(found.pages)))
    sources = [{"ids": [number], "url": page.url} for number, page in enumerate(found.pages, start=1)]
    return ToolResult(text, structured={"status": "completed", "sources": sources, "text": text})


def _lookup(arguments: Mapping[str, Any]) -> Lookup:
    after = search_values.day(arguments["after"], "after")
    before = search_values.day(arguments["before"], "before")
    search_values.check_order(after, before, "after")
    if arguments["recency"] and (after or before):
        other = "after" if after else "before"
        raise InvalidRequest(f"'recency' cannot be combined with '{other}'.", param="recency")
    return Lookup(
        queries=(arguments["query"],),
        max_results=arguments["max_results"],
        max_tokens_per_page=TOKENS_OF_A_PAGE,
        country=search_values.country(arguments["country"], "country"),
        domains=search_values.domains(arguments["domains"] or (), "domains"),
        recency=arguments["recency"],
        after=after,
        before=before,
    )


def _listed(pages: Sequence[Page]) -> list[str]:
    """Titles and addresses whole, excerpts as far as there is room."""
    heads = [_head(number, page) for number, page in enumerate(pages, start=1)]
    room = max(0, MAX_ANSWER - sum(map(len, heads))) // len(pages)
    return [f"{head}\n{clip(page.snippet.strip(), max(1, room))}" for head, page in zip(heads, pages, strict=True)]


def _head(number: int, page: Page) -> str:
    told = f" ({page.date})" if page.date else ""
    return f"[{number}] {' '.join(page.title.split()) or page.url}{told} — {page.url}"
