"""What an answer brings besides its text: steps, thoughts, sources, images, related questions, reports."""

from collections.abc import Callable, Sequence
from typing import Any

from msgspec import UNSET

from pplx_gateway.answer import AnswerEvent, Images, ReasoningDelta, SearchStep, Source, Sources
from pplx_gateway.upstreams.session.asked import Asked
from pplx_gateway.upstreams.session.documents import Documents
from pplx_gateway.upstreams.session.frames import Block, Frame, OptionalRaw, parse
from pplx_gateway.upstreams.session.images import ImageList, ImageWish, related_questions
from pplx_gateway.upstreams.session.oddities import Oddities
from pplx_gateway.upstreams.session.report import Download, report_bodies, report_download
from pplx_gateway.upstreams.session.sources import SourceList
from pplx_gateway.upstreams.session.steps import Steps
from pplx_gateway.upstreams.session.workflow import Workflow


class Findings:
    """Takes blocks and lists, gives the events that are new in them.

    `workflow` may hold text as well; `related` and `download` are for the end.
    """

    def __init__(self, asked: Asked, oddities: Oddities) -> None:
        self.workflow = Workflow(oddities)
        self.steps = Steps(oddities)
        self.related: tuple[str, ...] = ()
        self.download: Download | None = None
        self.reasoning_characters = 0
        self.query_count = 0
        self._wants_images = asked.images is not None
        self._documents = Documents(oddities)
        self._sources = SourceList(oddities)
        self._images = ImageList(asked.images or ImageWish(), oddities)
        self._asset_reports: list[str] = []

    @property
    def reports(self) -> list[str]:
        """The best copy: in an asset, in a workflow, in a step."""
        return self._asset_reports or self.workflow.reports or self.steps.reports

    def block(self, usage: str, block: Block) -> list[AnswerEvent]:
        taken = self._documents.take(usage, block)
        if taken is None or not isinstance(taken[1], dict):
            return []
        events = list(_HANDLERS[taken[0]](self, taken[1]))
        for event in events:
            self._count(event)
        return events

    def old_lists(self, frame: Frame) -> list[AnswerEvent]:
        """Lists that used to stand at the top level of frames (2.3)."""
        events: list[AnswerEvent] = []
        if frame.web_results is not UNSET:
            events += _found(self._sources.results(_plain(frame.web_results)))
        if frame.media_items is not UNSET:
            events += self._pictures(_plain(frame.media_items))
        if frame.related_queries is not UNSET:
            self._relate(_plain(frame.related_queries))
        if frame.related_query_items is not UNSET:
            self._relate(_plain(frame.related_query_items))
        return events

    def rest(self, legacy_results: Any) -> list[AnswerEvent]:
        """At the end: sources that only the legacy text, or rows without a number, hold."""
        old = legacy_results if isinstance(legacy_results, list) else []
        return _found(self._sources.unlisted(old)) + _found(self._sources.rest())

    def _count(self, event: AnswerEvent) -> None:
        if isinstance(event, ReasoningDelta):
            self.reasoning_characters += len(event.text)
        elif isinstance(event, SearchStep):
            self.query_count += len(event.queries)

    # one handler for each field of a block

    def _plan(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        steps = document.get("steps")
        for step in steps if isinstance(steps, list) else []:
            if isinstance(step, dict):
                self._take_assets(step.get("assets"))
        return self.steps.plan(document)

    def _reasoning(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        return self.steps.reasoning(document)

    def _web_results(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        return _found(self._sources.results(document.get("web_results")))

    def _sources_mode(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        if document.get("rows"):
            return _found(self._sources.rows(document["rows"]))
        return self._web_results(document)

    def _media(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        return self._pictures(document.get("media_items"))

    def _followups(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        self._relate(document.get("followups"))
        return ()

    def _assets(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        self._take_assets(document.get("assets"))
        return ()

    def _workflow_root(self, document: dict[str, Any]) -> Sequence[AnswerEvent]:
        events = self.workflow.take(document)
        return events + _found(self._sources.unlisted(self.workflow.pages))

    # pieces

    def _pictures(self, items: Any) -> list[AnswerEvent]:
        images = self._images.take(items) if self._wants_images else []
        return [Images(tuple(images))] if images else []

    def _relate(self, items: Any) -> None:
        self.related = related_questions(list(self.related), items)

    def _take_assets(self, assets: Any) -> None:
        if assets:
            self._asset_reports = report_bodies(assets) or self._asset_reports
            self.download = report_download(assets) or self.download


_HANDLERS: dict[str, Callable[[Findings, dict[str, Any]], Sequence[AnswerEvent]]] = {
    "plan_block": Findings._plan,
    "reasoning_plan_block": Findings._reasoning,
    "web_result_block": Findings._web_results,
    "sources_mode_block": Findings._sources_mode,
    "media_block": Findings._media,
    "image_mode_block": Findings._media,
    "pending_followups_block": Findings._followups,
    "assets_mode_block": Findings._assets,
    "unified_assets_block": Findings._assets,
    "workflow_block": Findings._workflow_root,
}


def _found(sources: list[Source]) -> list[AnswerEvent]:
    return [Sources(tuple(sources))] if sources else []


def _plain(value: OptionalRaw) -> Any:
    return None if value is UNSET else parse(value)
