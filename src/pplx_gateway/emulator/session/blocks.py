"""The blocks of an answer (docs/wire-session.md 2.4), each with its payload, before a form packs them."""

from typing import NamedTuple

import msgspec

from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.reply import Page, Picture, Reply, Report

# Steps name their content after themselves, but for this one.
_CONTENT_KEYS = {"SEARCH_RESULTS": "web_results_content"}
FILLERS = ("Beginning analysis", "Wrapping up analysis")


class Block(NamedTuple):
    """`usage` is `intended_usage`, `field` the key that holds the payload."""

    usage: str
    field: str
    payload: Json

    def whole(self) -> Json:
        return {"intended_usage": self.usage, self.field: self.payload}

    def replaced(self) -> Json:
        """As a patch that puts the payload in place of whatever was there (2.5 C)."""
        return patched(self.usage, self.field, [{"op": "replace", "path": "", "value": self.payload}])


def patched(usage: str, field: str, patches: list[Json]) -> Json:
    return {"intended_usage": usage, "diff_block": {"field": field, "patches": patches}}


def step(entry: Entry, number: int, kind: str, content: Json) -> Json:
    """A pro search step; its uuid is the same wherever the step is told again."""
    key = _CONTENT_KEYS.get(kind, f"{kind.lower()}_content")
    return {"uuid": f"{entry.backend_uuid[:8]}-{number}", "step_type": kind, key: content}


def steps(entry: Entry) -> list[Json]:
    """Every step of the way, in order."""
    reply = entry.reply
    kinds: list[tuple[str, Json]] = [("INITIAL_QUERY", {"query": entry.query})]
    kinds += [("ATTACHMENT", {"url": url}) for url in entry.attachments]
    if reply.queries:
        queries = [{"engine": "web", "query": query, "limit": 8} for query in reply.queries]
        kinds.append(("SEARCH_WEB", {"goal_id": "0", "queries": queries}))
    if reply.pages:
        kinds.append(("SEARCH_RESULTS", {"web_results": [web_result(page) for page in reply.pages]}))
        kinds.append(("READ_RESULTS", {"urls": [page.url for page in reply.pages]}))
    kinds += [("THOUGHT", {"thought": thought}) for thought in reply.thoughts[1:]]
    if reply.questions:
        asked = [{"question_text": question} for question in reply.questions]
        kinds.append(("RESEARCH_CLARIFYING_QUESTIONS", {"questions": asked, "answers": []}))
    return [step(entry, number, kind, content) for number, (kind, content) in enumerate(kinds)]


def steps_block(told: list[Json], *, final: bool = False) -> Block:
    payload: Json = {"progress": "DONE" if final else "IN_PROGRESS", "final": final, "steps": told}
    return Block("pro_search_steps", "plan_block", payload)


def plan(reply: Reply, *, done: int, final: bool = False) -> Block:
    """The plan with its first `done` goals reached."""
    goals = [
        {
            "id": str(number),
            "description": goal,
            "final": number < done,
            "todo_task_status": "COMPLETED" if number < done else "IN_PROGRESS",
        }
        for number, goal in enumerate(reply.goals)
    ]
    payload: Json = {"progress": "DONE" if final else "IN_PROGRESS", "final": final, "goals": goals}
    return Block("plan", "plan_block", payload)


def reasoning_plan(reply: Reply) -> Block:
    """The first thought between the fillers that say nothing; the others are steps."""
    goals = [{"description": text} for text in (FILLERS[0], *reply.thoughts[:1], FILLERS[1])]
    return Block("reasoning_plan", "reasoning_plan_block", {"goals": goals})


def web_result(page: Page) -> Json:
    result: Json = msgspec.to_builtins(page)
    return {**result, "meta_data": {}, "is_attachment": False, "is_image": False}


def web_results(pages: tuple[Page, ...], *, progress: str = "DONE") -> Block:
    payload: Json = {"progress": progress, "web_results": [web_result(page) for page in pages]}
    return Block("web_results", "web_result_block", payload)


def source_rows(pages: tuple[Page, ...], status: str) -> Block:
    rows = [
        {"status": status, "citation": number, "web_result": web_result(page)} for number, page in enumerate(pages, 1)
    ]
    return Block("sources_answer_mode", "sources_mode_block", {"rows": rows})


def media(pictures: tuple[Picture, ...]) -> Block:
    items = [
        {"medium": "image", "source": "web", "thumbnail": picture.image, **msgspec.to_builtins(picture)}
        for picture in pictures
    ]
    return Block("media_items", "media_block", {"media_items": items})


def followups(related: tuple[str, ...]) -> Block:
    return Block("pending_followups", "pending_followups_block", {"followups": [{"text": text} for text in related]})


def assets(report: Report) -> Block:
    download = {"url": report.url, "filename": report.filename, "size": report.size, "media_type": "text/markdown"}
    asset = {"uuid": report.url.rsplit("/", 2)[-2], "asset_type": "DOC_FILE", "download_info": [download]}
    return Block("assets_answer_mode", "assets_mode_block", {"assets": [asset]})


def closing(reply: Reply) -> list[Block]:
    """What the last frame holds beside the text, whichever form it has."""
    told: list[Block] = []
    if reply.goals:
        told.append(plan(reply, done=len(reply.goals), final=True))
    if reply.pages:
        told += [web_results(reply.pages), source_rows(reply.pages, "SELECTED")]
    if reply.pictures:
        told.append(media(reply.pictures))
    if reply.report:
        told.append(assets(reply.report))
    if reply.related:
        told.append(followups(reply.related))
    return told
