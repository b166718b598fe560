"""How a run unfolds: its events, in the order and at the pace of the real API (docs/wire-agent.md 2.7)."""

import uuid
from typing import Any

from pplx_gateway.emulator import knowledge, pages
from pplx_gateway.emulator.agent.envelope import envelope
from pplx_gateway.emulator.agent.plan import Call
from pplx_gateway.emulator.agent.run import Run
from pplx_gateway.emulator.agent.sharing import share_items
from pplx_gateway.emulator.agent.usage import Counts, bill, tokens
from pplx_gateway.emulator.stage import Stage

# How many pauses between chunks a search, or the reading of pages, takes.
SEARCH_PAUSES = 10
# Long thoughts can use up a small budget whole: the answer is then incomplete without a word of output.
EATS_UP_BUDGET = ("medium", "high", "xhigh", "max")
OVERLOADED = {"message": "the model is overloaded, try again later", "code": "internal_error", "type": "internal_error"}


class Telling:
    """Tells one run from its first event to its last."""

    def __init__(self, run: Run, stage: Stage) -> None:
        self._run = run
        self._plan = run.plan
        self._stage = stage
        self._counts = Counts(tools={})
        self._found = 0

    async def tell(self) -> None:
        await self._begin()
        await self._search()
        await self._linger()
        self._run.output += share_items(self._run)
        self._announce_items()
        for call in self._plan.calls:
            self._call(call)
            if self._breaks():
                return
        text, cut_short = self._within_limit(self._plan.text)
        if text and await self._message(text) == "broken":
            return
        self._finish(cut_short=cut_short)

    async def _begin(self) -> None:
        run = self._run
        run.emit("response.created", response=envelope(run))
        if run.request.body.background:
            await self._stage.clock.sleep(self._stage.background_seconds / 4)
        run.become("in_progress")
        run.emit("response.in_progress", response=envelope(run))

    async def _linger(self) -> None:
        """Background runs take their time with partial output; slow runs that have no text to be slow with, too."""
        if self._run.request.body.background:
            await self._stage.clock.sleep(self._stage.background_seconds * 3 / 4)
        if self._plan.controls.slow and not self._plan.text:
            await self._stage.clock.sleep(self._stage.slow_seconds)

    async def _search(self) -> None:
        plan, run = self._plan, self._run
        thinks = plan.effort not in (None, "none")
        if not (plan.rounds or plan.pictures or plan.specials or plan.skills or thinks):
            return
        thoughts = plan.composed.reasoning
        deep = plan.rounds > 1 or plan.effort not in (None, "none", "minimal")
        run.emit("response.reasoning.started", **({"thought": thoughts[0]} if deep else {}))
        for skill in plan.skills:
            run.output.append({"type": "skill_loaded", "name": skill})
            run.emit("response.skill.loaded", name=skill)
        for place in range(plan.rounds):
            await self._search_round(place, thoughts[1] if deep else None)
        if plan.pictures:
            await self._find_pictures()
        for tool in plan.specials:
            self._count("search_people" if tool == "people_search" else tool)
            run.output.append(self._special_item(tool))
        run.emit("response.reasoning.stopped", **({"thought": thoughts[-1]} if deep else {}))

    async def _search_round(self, place: int, thought: str | None) -> None:
        plan, run = self._plan, self._run
        queries = (
            list(plan.composed.queries) if place == 0 else [f"{plan.composed.topic} {_LATER[place % len(_LATER)]}"]
        )
        run.emit("response.reasoning.search_queries", queries=queries, **({"thought": thought} if thought else {}))
        await self._think()
        results = [self._result(page) for page in self._pages(place)]
        self._count("search_web", len(queries))
        run.emit("response.reasoning.search_results", results=results, usage=None)
        run.output.append({"type": "search_results", "queries": queries, "results": results})
        if "fetch_url" in plan.tools:
            await self._fetch([result["url"] for result in results[:2]])

    def _pages(self, place: int) -> tuple[pages.Page, ...]:
        """The sources in the first round; later ones find an old page again, under a new id, and a new one."""
        sources = self._plan.composed.sources
        if place == 0:
            return sources
        more = pages.find(f"{self._plan.composed.topic} {_LATER[place % len(_LATER)]}", 2)
        return (sources[place % len(sources)], *more) if sources else more

    def _result(self, page: pages.Page) -> dict[str, Any]:
        number = self._plan.result_id(self._found)
        self._found += 1
        return {
            "id": number,
            "title": page.title,
            "url": page.url,
            "snippet": page.snippet,
            "date": page.date,
            "last_updated": page.last_updated,
            "source": "web",
        }

    async def _fetch(self, urls: list[str]) -> None:
        self._run.emit("response.reasoning.fetch_url_queries", urls=urls)
        await self._think()
        titles = {page.url: page for page in self._plan.composed.sources}
        contents = [
            {"url": url, "title": titles[url].title if url in titles else url, "snippet": f"The text of {url}."}
            for url in urls
        ]
        self._count("fetch_url", len(urls))
        self._run.emit("response.reasoning.fetch_url_results", contents=contents)
        self._run.output.append({"type": "fetch_url_results", "contents": contents})

    async def _find_pictures(self) -> None:
        call_id = f"call_{uuid.uuid4().hex[:24]}"
        queries = [f"{self._plan.composed.topic} pictures"]
        self._run.emit("response.reasoning.image_search_queries", queries=queries, call_id=call_id)
        await self._think()
        results = [
            {
                "image_url": picture.image_url,
                "origin_url": picture.origin_url,
                "width": picture.width,
                "height": picture.height,
                "title": picture.title,
            }
            for picture in self._plan.composed.images
        ]
        self._run.emit("response.reasoning.image_search_results", results=results, call_id=call_id)
        self._run.output.append({"type": "image_search_results", "queries": queries, "results": results})

    def _special_item(self, tool: str) -> dict[str, Any]:
        if tool == "sandbox":
            return _sandbox_item()
        kind = "people_search_results" if tool == "people_search" else "finance_results"
        return {"type": kind, "results": [self._result(page) for page in self._plan.composed.sources[:1]]}

    def _announce_items(self) -> None:
        for place, item in enumerate(self._run.output):
            self._run.emit("response.output_item.done", output_index=place, item=item)

    def _call(self, call: Call) -> None:
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{uuid.uuid4().hex[:24]}",
            "call_id": call.call_id,
            "name": call.name,
            "arguments": call.arguments,
            "status": "completed",
        }
        if call.signature:
            item["thought_signature"] = call.signature
        place = len(self._run.output)
        self._run.emit("response.output_item.added", output_index=place, item=item)
        self._run.output.append(item)
        self._run.emit("response.output_item.done", output_index=place, item=item)
        self._counts.output_tokens += tokens(call.arguments)

    def _within_limit(self, text: str) -> tuple[str, bool]:
        """What the output budget leaves of `text`, and whether that is less than all."""
        limit = self._plan.limit
        if limit is None or not text or tokens(text) <= limit:
            return text, False
        return ("" if limit <= 16 and self._plan.effort in EATS_UP_BUDGET else text[: limit * 4]), True

    async def _message(self, text: str) -> str:
        """Streams the message; "broken" if a fault ended the run in it."""
        run, place = self._run, len(self._run.output)
        name = f"msg_{run.uuid.replace('-', '')}"
        item: dict[str, Any] = {"type": "message", "id": name, "role": "assistant"}
        at = {"item_id": name, "output_index": place, "content_index": 0}
        run.emit(
            "response.output_item.added", output_index=place, item={**item, "status": "in_progress", "content": []}
        )
        chunks = knowledge.split(text, self._plan.controls.question)
        pause = self._stage.pause(len(chunks), slow=self._plan.controls.slow).seconds
        for number, chunk in enumerate(chunks):
            if number == (len(chunks) + 1) // 2 and self._breaks():
                return "broken"
            run.emit("response.output_text.delta", **at, delta=chunk)
            if pause:
                await self._stage.clock.sleep(pause)
        run.emit("response.output_text.done", **at, text=text)
        content = [{"type": "output_text", "text": text, "annotations": []}]
        whole = {**item, "status": "completed", "content": content}
        run.output.append(whole)
        run.emit("response.output_item.done", output_index=place, item=whole)
        self._counts.output_tokens += tokens(text)
        return "whole"

    def _breaks(self) -> bool:
        """Breaks the run off where its question asks for that; True if it did."""
        run, fault = self._run, self._plan.controls.fault
        if fault == "midstream_error" or (fault in _BREAKAGES and run.request.body.background):
            fail(run, self._stage.clock.now())
        elif fault in _BREAKAGES:
            if fault == "upstream_bad_json":
                run.emit_raw(
                    b'{"type":"response.output_text.delta","sequence_number":%d,"delta":"and th' % len(run.events)
                )
            run.broken = _BREAKAGES[fault]
            run.end()
        else:
            return False
        return True

    def _finish(self, *, cut_short: bool) -> None:
        run, plan = self._run, self._plan
        self._counts.input_tokens = _input_tokens(run) + 800 * plan.rounds
        self._counts.reasoning_tokens = _REASONING_TOKENS.get(plan.effort or "none", 0)
        self._counts.output_tokens += self._counts.reasoning_tokens
        run.usage = bill(plan.model, self._counts)
        run.completed_at = self._stage.clock.now()
        if cut_short:
            run.incomplete_reason = "max_output_tokens"
            run.become("incomplete")
        else:
            run.become("requires_action" if plan.calls and plan.waits_for_action else "completed")
        run.conversation.calls.update((call.call_id, call.name) for call in plan.calls)
        run.emit("response.incomplete" if cut_short else "response.completed", response=envelope(run))
        run.end()

    def _count(self, tool: str, calls: int = 1) -> None:
        self._counts.tools[tool] = self._counts.tools.get(tool, 0) + calls

    async def _think(self) -> None:
        await self._stage.clock.sleep(SEARCH_PAUSES * self._stage.pace_seconds)


def fail(run: Run, now: float) -> None:
    """The end of a run that broke down: the error in the object, HTTP 200 all the same."""
    run.error = dict(OVERLOADED)
    run.completed_at = now
    run.become("failed")
    run.emit("response.failed", error=run.error, response=envelope(run))
    run.end()


def cancel(run: Run, now: float) -> None:
    """The end of a run that was cancelled: no usage, partial output."""
    run.error = dict.fromkeys(("code", "message", "type"), "cancelled")
    run.incomplete_reason = "cancelled"
    run.completed_at = now
    run.become("cancelled")
    run.emit("response.cancelled", response=envelope(run))
    run.end()


_LATER = ("details", "criticism", "figures 2026", "history")
_BREAKAGES: dict[str | None, Any] = {"midstream_drop": "drop", "upstream_bad_json": "bad_json"}
_REASONING_TOKENS = {"minimal": 32, "low": 96, "medium": 320, "high": 960, "xhigh": 2400, "max": 4800}


def _sandbox_item() -> dict[str, Any]:
    result = {"stdout": "42\n", "stderr": "", "exit_code": 0, "duration_ms": 31, "status": "completed"}
    return {
        "type": "sandbox_results",
        "call_id": f"call_{uuid.uuid4().hex[:24]}",
        "language": "python",
        "code": "print(6 * 7)",
        "results": [result],
        "status": "completed",
    }


def _input_tokens(run: Run) -> int:
    said = [*run.conversation.system, *run.conversation.questions, *(text for _, text in run.conversation.results)]
    return sum(tokens(text) for text in said) + 20
