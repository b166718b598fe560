"""`pplx-gateway search`: pages, without an answer."""

import argparse

from pplx_gateway.commands import running
from pplx_gateway.commands.door import Json, chosen, fetch, open_door
from pplx_gateway.commands.exits import Exit
from pplx_gateway.commands.question_input import question_of
from pplx_gateway.commands.screen import console, document, line, on_terminal, safe, tell

EXCERPT = 600


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    return running.run(_search(options, question_of(options.query, "query")))


async def _search(options: argparse.Namespace, query: str) -> Exit:
    asked = {
        "query": query,
        "max_results": options.results,
        "search_recency_filter": options.recency,
        "search_domain_filter": options.domain,
        "country": options.country,
    }
    async with open_door(chosen(options.url, options.in_process)) as door:
        body = {name: value for name, value in asked.items() if value is not None}
        found = (await fetch(door, "POST", "/v1/search", body)).json
    if options.json:
        document(found)
        return Exit.OK
    pages = found.get("results") or []
    if not pages:
        tell("No page was found. Other words, or fewer filters, may find some.")
    for number, page in enumerate(pages, 1):
        _show(number, page, short=options.short)
    return Exit.OK


def _show(number: int, page: Json, *, short: bool) -> None:
    title = " ".join(str(page.get("title") or page["url"]).split())
    date = f" ({page['date']})" if page.get("date") else ""
    if on_terminal():
        from rich.style import Style  # noqa: PLC0415 - only on a terminal
        from rich.text import Text  # noqa: PLC0415

        url = safe(page["url"])
        link = Style(bold=True, link=url) if url.startswith(("https://", "http://")) else Style(bold=True)
        console().print(Text.assemble((f"{number}. ", "bold cyan"), (safe(title), link), (date, "dim")))
        console().print(Text(f"   {url}", style="dim", overflow="fold"))
    else:
        line(f"{number}. {title}{date}\n   {page['url']}")
    if not short and (excerpt := " ".join(str(page.get("snippet") or "").split())):
        line(f"   {excerpt[:EXCERPT]}{'…' if len(excerpt) > EXCERPT else ''}\n")
