"""Reads the events of a response, has them drawn, and says how it ended."""

import argparse
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any

from pplx_gateway.commands.door import Door, Json, cure_of
from pplx_gateway.commands.drawing import Drawing
from pplx_gateway.commands.exits import CommandFailed, Exit, exit_of
from pplx_gateway.commands.screen import console, document, errors_on_terminal, safe, tell
from pplx_gateway.errors import GatewayError, one_line

_ENDS = frozenset({"response.completed", "response.incomplete", "response.failed"})


class Reading:
    """One response under way. `number` is that of the last event that was read, from which one may go on."""

    def __init__(self, door: Door, drawing: Drawing) -> None:
        self.number = -1
        self._door = door
        self._drawing = drawing

    async def read(self, events: AsyncIterator[Json]) -> Json:
        """The whole response, be it complete or cut at a limit. Raises CommandFailed for one that failed, and for a
        stream that broke off."""
        async for event in events:
            self.number = event.get("sequence_number", self.number)
            if (kind := event.get("type")) in _ENDS:
                return self._ended(event["response"])
            if kind == "error":
                raise self._failure(event.get("error") or event)
            if (told := _HANDLERS.get(str(kind))) is not None:
                told(self._drawing, event)
        raise CommandFailed("The answer broke off before its end.", Exit.CUT)

    def _ended(self, response: Json) -> Json:
        if response["status"] == "failed":
            raise self._failure(response.get("error") or {})
        return response

    def _failure(self, error: Mapping[str, Any]) -> CommandFailed:
        """`type` of a failed response is the gateway's own code."""
        codes = [str(error.get(name) or "") for name in ("code", "type")]
        code = next((code for code in codes if code in _STATUSES), codes[0])
        message = one_line(str(error.get("message") or "The answer failed."))
        return CommandFailed(message, exit_of(_STATUSES.get(code, 502), code), cure=cure_of(code, self._door))


def _statuses() -> dict[str, int]:
    found: dict[str, int] = {}
    kinds = [GatewayError]
    while kinds:
        kind = kinds.pop()
        found[kind.code] = kind.status
        kinds += kind.__subclasses__()
    return found


_STATUSES = _statuses()


def _step(drawing: Drawing, event: Json) -> None:
    item = event["item"]
    if item["type"] == "web_search_call":
        queries = item.get("action", {}).get("queries") or [item.get("action", {}).get("query", "")]
        drawing.progress(f"Searching: {'; '.join(query for query in queries if query)}")
    elif item["type"] == "reasoning":
        drawing.progress("Thinking")


_HANDLERS: dict[str, Callable[[Drawing, Json], None]] = {
    "response.in_progress": lambda drawing, _: drawing.progress("Asking"),
    "response.output_item.added": _step,
    "response.reasoning_summary_text.delta": lambda drawing, event: drawing.thought(event["delta"]),
    "response.output_text.delta": lambda drawing, event: drawing.text(event["delta"]),
}


def text_of(response: Json) -> str:
    parts = [part for item in response["output"] if item["type"] == "message" for part in item["content"]]
    return "".join(part["text"] for part in parts if part["type"] == "output_text")


def conclude(response: Json, options: argparse.Namespace) -> Exit:
    """What stands below an answer, on stderr: sources, what was left out, and whether it is whole."""
    if not options.no_sources:
        show_sources(response.get("search_results") or [])
    _show_notes(response)
    if response["status"] != "incomplete":
        return Exit.OK
    why = (response.get("incomplete_details") or {}).get("reason", "a limit")
    tell(f"The answer is not whole: it was cut ({why}).")
    return Exit.CUT


def shown_as_json(response: Json) -> Exit:
    document(response)
    return Exit.CUT if response["status"] == "incomplete" else Exit.OK


def show_sources(sources: list[Json]) -> None:
    """Numbered as the marks in the text are."""
    if not sources:
        return
    if not errors_on_terminal():
        tell("\nSources:")
        for source in sources:
            tell(f"[{source['id']}] {' '.join(source['title'].split())} <{source['url']}>")
        return
    from rich.style import Style  # noqa: PLC0415 - only on a terminal
    from rich.text import Text  # noqa: PLC0415

    where = console(stderr=True)
    where.print(Text("Sources", style="bold"))
    for source in sources:
        url = safe(source["url"])
        title = safe(" ".join(source["title"].split())) or url
        link = Style(link=url) if url.startswith(("https://", "http://")) else Style()
        where.print(
            Text.assemble((f"[{source['id']}] ", "bold cyan"), (title, link), (f"  {url}", "dim")), overflow="fold"
        )


def _show_notes(response: Json) -> None:
    more = response.get("pplx") or {}
    for warning in more.get("warnings", ()):
        tell(warning)
    if (other := more.get("substituted_by")) is not None:
        tell(f"Another model than the one asked for answered: {other}.")
    if (code := more.get("failover")) is not None:
        tell(f"The {more['upstream']} upstream answered, because the first one could not ({code}).")
    if not errors_on_terminal():
        return
    told = [str(response.get("model"))]
    with suppress(KeyError, TypeError):
        told.append(f"${json.dumps(response['usage']['cost']['total_cost'])}")
    if (left := more.get("remaining_pro")) is not None:
        told.append(f"{left} Pro searches left")
    tell(" · ".join(told))
