"""What the upstream did on the way: plan goals and search steps (docs/wire-session.md 2.4), each told once.

A stream brings new steps only and its last frame repeats them all, so what was told is remembered by step and content.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from pplx_gateway.answer import SearchStep
from pplx_gateway.upstreams.session.chunks import texts_of
from pplx_gateway.upstreams.session.oddities import Oddities

FILLERS = frozenset({"Beginning analysis", "Wrapping up analysis"})
QUESTIONS_STEP = "RESEARCH_CLARIFYING_QUESTIONS"
ANSWER_STEP = "RESEARCH_ANSWER"

Kind = Literal["plan", "search", "read", "think"]


class Steps:
    """`questions` are open questions of the upstream to the asker; `reports` the texts of research answers."""

    def __init__(self, oddities: Oddities) -> None:
        self.questions: tuple[str, ...] = ()
        self.reports: list[str] = []
        self._oddities = oddities
        self._told: set[tuple[str, str]] = set()

    def plan(self, document: Any) -> list[SearchStep]:
        """From a `plan_block`: goals, then steps."""
        if not isinstance(document, dict):
            return []
        return self._goals(document.get("goals"), "plan") + self.steps(document.get("steps"))

    def reasoning(self, document: Any) -> list[SearchStep]:
        """From a `reasoning_plan_block`."""
        return self._goals(document.get("goals"), "think") if isinstance(document, dict) else []

    def rare(self, steps: Sequence[Any]) -> None:
        """From the legacy text: only questions and reports, since blocks tell the rest."""
        for step in steps:
            if isinstance(step, dict) and step.get("step_type") in (QUESTIONS_STEP, ANSWER_STEP):
                self._step(step)

    def steps(self, steps: Any) -> list[SearchStep]:
        """From a list of steps."""
        known = [step for step in steps if isinstance(step, dict)] if isinstance(steps, list) else []
        return [event for step in known if (event := self._step(step)) is not None]

    def _goals(self, goals: Any, kind: Kind) -> list[SearchStep]:
        found = []
        for goal in goals if isinstance(goals, list) else []:
            text = goal.get("description") if isinstance(goal, dict) else None
            if isinstance(text, str) and text and text.rstrip(".") not in FILLERS and self._new("", text):
                found.append(SearchStep(kind=kind, text=text))
        return found

    def _step(self, step: Mapping[str, Any]) -> SearchStep | None:
        kind = step.get("step_type")
        content = _content(step)
        if kind == QUESTIONS_STEP:
            self._ask_back(content)
            return None
        if kind == ANSWER_STEP:
            self._report(content.get("answer"))
            return None
        reader = _READERS.get(kind) if isinstance(kind, str) else None
        if reader is None:
            self._oddities.note("step", kind if isinstance(kind, str) else None)
            return None
        uuid = step.get("uuid")
        return reader(self, str(uuid or ""), content)

    def _search(self, uuid: str, content: Mapping[str, Any]) -> SearchStep | None:
        queries = content.get("queries")
        texts = [q.get("query") if isinstance(q, dict) else q for q in queries] if isinstance(queries, list) else []
        new = self._all_new(uuid, texts_of(texts))
        return SearchStep(kind="search", queries=new) if new else None

    def _read(self, uuid: str, content: Mapping[str, Any]) -> SearchStep | None:
        pages = content.get("pages")
        urls = texts_of(content.get("urls")) + texts_of([content.get("url")])
        urls += texts_of([p.get("url") for p in pages if isinstance(p, dict)]) if isinstance(pages, list) else []
        new = self._all_new(uuid, urls)
        return SearchStep(kind="read", urls=new) if new else None

    def _think(self, uuid: str, content: Mapping[str, Any]) -> SearchStep | None:
        text = content.get("thought") or content.get("text")
        if not isinstance(text, str) or text in FILLERS or not self._new(uuid, text):
            return None
        return SearchStep(kind="think", text=text)

    def _nothing(self, _uuid: str, _content: Mapping[str, Any]) -> None:
        return None

    def _ask_back(self, content: Mapping[str, Any]) -> None:
        """Open only while nobody has answered; the upstream itself skips them after a minute (2.7)."""
        questions = content.get("questions")
        if content.get("answers") or not isinstance(questions, list):
            return
        texts = [
            q.get("question_text") or q.get("question") or q.get("text") if isinstance(q, dict) else q
            for q in questions
        ]
        self.questions = tuple(texts_of(texts))

    def _report(self, text: Any) -> None:
        if isinstance(text, str) and text.strip() and text not in self.reports:
            self.reports.append(text)

    def _new(self, uuid: str, text: str) -> bool:
        if (uuid, text) in self._told:
            return False
        self._told.add((uuid, text))
        return True

    def _all_new(self, uuid: str, texts: list[str]) -> tuple[str, ...]:
        return tuple(text for text in texts if text and self._new(uuid, text))


_READERS: dict[str, Callable[[Steps, str, Mapping[str, Any]], SearchStep | None]] = {
    "SEARCH_WEB": Steps._search,
    "READ_RESULTS": Steps._read,
    "URL_NAVIGATE": Steps._read,
    "GET_URL_CONTENT": Steps._read,
    "THOUGHT": Steps._think,
    # the question itself, what other blocks bring too, and the end
    "INITIAL_QUERY": Steps._nothing,
    "ATTACHMENT": Steps._nothing,
    "SEARCH_RESULTS": Steps._nothing,
    "FINAL": Steps._nothing,
}


def _content(step: Mapping[str, Any]) -> Mapping[str, Any]:
    """`content` in the legacy text, `<name>_content` in blocks."""
    for key, value in step.items():
        if isinstance(value, dict) and (key == "content" or key.endswith("_content")):
            return value
    return {}
