"""Every form in which an answer is known to arrive (docs/wire-session.md 2.5 and 2.6), as pure functions.

A form turns an Entry, whose `reply` is known, into a Course of frames. `FORMS` names them:

=================  ====================================================================================================
A                  chunks by index; the last two frames repeat all of them; the text comes twice, under two usages
A-unnumbered       the same without `chunk_starting_offset`: each frame's chunks follow the last one's
A-mirror           only the usage `ask_text_0_markdown`
A-no-answer        COMPLETED without `answer`, its chunks only the last ones: the index must be obeyed
A-no-blocks        COMPLETED without any block
B                  every frame repeats all chunks so far, from 0
B-unnumbered       the same without `chunk_starting_offset`
C                  patches; COMPLETED has the whole block
patches-only       patches to the end, the last ones in COMPLETED itself
D                  a workflow, by patches; COMPLETED has it whole
D-no-variant       the same as older pages had it: answer items without `variant`
E                  no text at all: it must be read back from the thread
legacy             the `text` field; `legacy-plain`, `-object`, `-dict`, `-bare` and `-deeper` are its variants
=================  ====================================================================================================
"""

from collections.abc import Callable
from typing import NamedTuple

from pplx_gateway.emulator.session import blocks, legacy, markdown, patches, workflow
from pplx_gateway.emulator.session.blocks import Block
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.frames import Frame, Json


class Course(NamedTuple):
    """The frames of one answer. `way` is what comes before the text. The last frame of `text` says `final` one frame
    too early, as the real ones do; `completed` is the true end."""

    way: list[Frame]
    text: list[Frame]
    completed: Frame

    @property
    def frames(self) -> list[Frame]:
        return [*self.way, *self.text, self.completed]


class Form(NamedTuple):
    """What each frame of the way and of the text adds to the common fields, and what COMPLETED adds."""

    way: Callable[[Entry], list[Json]]
    text: Callable[[Entry], list[Json]]
    last: Callable[[Entry], Json]


def course(entry: Entry, form: str) -> Course:
    """The answer to `entry` in the form of that name; one without text is told as E. Raises KeyError for a name that is
    not in FORMS."""
    chosen = FORMS[form if entry.reply.text else "E"]
    way = [pending(entry, fields, number) for number, fields in enumerate(chosen.way(entry))]
    text = [pending(entry, fields, len(way) + number) for number, fields in enumerate(chosen.text(entry))]
    if text:
        text[-1] |= {"final": True, "text_completed": True}
    return Course(way, text, completed(entry, chosen.last(entry)))


def pending(entry: Entry, fields: Json, number: int) -> Frame:
    """A frame before the end. The first names the thread, the second brings the token; later ones are bare. Until the
    last one the model is a placeholder and the mode not yet the true one (2.3)."""
    frame: Frame = {"backend_uuid": entry.backend_uuid, "status": "PENDING"}
    if number == 0:
        frame |= opening(entry)
    elif number == 1:
        frame["read_write_token"] = entry.read_write_token
    return frame | fields


def opening(entry: Entry) -> Json:
    return {
        **identity(entry),
        "final": False,
        "text_completed": False,
        "final_sse_message": False,
        "message_mode": "STREAMING",
        "display_model": "turbo",
        "mode": "CONCISE",
        "query_str": entry.query,
        "search_focus": entry.search_focus,
        "source": "default",
        "sources": list(entry.sources),
        "attachments": list(entry.attachments),
        "privacy_state": "INCOGNITO" if entry.incognito else "NONE",
        "expect_search_results": "true" if entry.reply.queries else "false",
        "reconnectable": True,
        "cursor": None,
    }


def identity(entry: Entry) -> Json:
    return {
        "uuid": entry.backend_uuid,
        "context_uuid": entry.context_uuid,
        "frontend_uuid": entry.frontend_uuid,
        "frontend_context_uuid": entry.frontend_context_uuid,
    }


def completed(entry: Entry, fields: Json) -> Frame:
    frame: Frame = {
        "backend_uuid": entry.backend_uuid,
        **identity(entry),
        "read_write_token": entry.read_write_token,
        "thread_url_slug": entry.slug,
        "thread_title": entry.title,
        "status": "COMPLETED",
        "final": True,
        "text_completed": True,
        "final_sse_message": True,
        "message_mode": "FULL",
        "step_type": "FINAL",
        "mode": entry.mode.upper(),
        "display_model": entry.display_model,
        "user_selected_model": entry.user_selected_model,
        "related_queries": list(entry.reply.related),
        "related_query_items": [{"text": text, "type": "DEFAULT"} for text in entry.reply.related],
        "entry_updated_datetime": entry.created,
        "reconnectable": False,
        "_extras": entry.extras,
    }
    if entry.with_text:
        frame["text"] = legacy.nested(entry)
    return frame | fields


def told(*packed: Json) -> Json:
    return {"blocks": list(packed)}


def way_blocks(entry: Entry) -> list[list[Block]]:
    """What happens before the text, frame by frame. Each frame tells only new steps (2.4)."""
    steps, reply = blocks.steps(entry), entry.reply
    found = [step for step in steps if step["step_type"] in ("SEARCH_RESULTS", "READ_RESULTS")]
    asked = [step for step in steps if step["step_type"] in ("ATTACHMENT", "SEARCH_WEB")]
    rest = [step for step in steps[1:] if step not in found and step not in asked]
    frames = [
        [blocks.steps_block(steps[:1])],
        [*([blocks.steps_block(asked)] if asked else []), *([blocks.plan(reply, done=0)] if reply.goals else [])],
        [blocks.reasoning_plan(reply)] if reply.thoughts else [],
        _found(entry, found),
        [blocks.media(reply.pictures)] if reply.pictures else [],
        [blocks.steps_block(rest)] if rest else [],
    ]
    return [frame for frame in frames if frame]


def _found(entry: Entry, steps: list[Json]) -> list[Block]:
    pages = entry.reply.pages
    if not pages:
        return []
    return [blocks.steps_block(steps), blocks.web_results(pages), blocks.source_rows(pages, "REVIEWING")]


def plain_way(entry: Entry) -> list[Json]:
    return [told(*(block.whole() for block in frame)) for frame in way_blocks(entry)]


def patched_way(entry: Entry) -> list[Json]:
    frames = [told(*(patches.pack(block) for block in frame)) for frame in way_blocks(entry)]
    if entry.reply.goals:
        frames.append(told(patches.goal_reached()))
    return frames


def _closing(entry: Entry) -> list[Json]:
    """The blocks of the last frame that are not the text: every step again, then the rest."""
    told_again = blocks.steps_block(blocks.steps(entry), final=True)
    return [told_again.whole(), *(block.whole() for block in blocks.closing(entry.reply))]


def _last(*text: Callable[[Entry], list[Json]]) -> Callable[[Entry], Json]:
    return lambda entry: told(*(block for part in text for block in part(entry)), *_closing(entry))


def _bare(entry: Entry) -> Json:  # noqa: ARG001 - has the shape of its siblings
    return {}


def _no_text(entry: Entry) -> list[Json]:  # noqa: ARG001 - has the shape of its siblings
    return [{}]


def _legacy(variant: Callable[[Entry], str]) -> Form:
    """The old way: frames hold the whole step list as text, and no block holds any of the answer."""
    return Form(
        way=lambda entry: [*plain_way(entry), *legacy.steps_frames(entry)],
        text=_no_text,
        last=lambda entry: {"text": variant(entry), "blocks": []},
    )


def _markdown(style: markdown.Style, last: Callable[[Entry], Json]) -> Form:
    def text(entry: Entry) -> list[Json]:
        return [told(*blocks_) for blocks_ in markdown.frames(entry, style)]

    return Form(way=plain_way, text=text, last=last)


_DONE = _last(markdown.done)
_A = markdown.Style()
_B = markdown.Style(cumulative=True)

FORMS: dict[str, Form] = {
    "A": _markdown(_A, _DONE),
    "A-unnumbered": _markdown(_A._replace(numbered=False), _DONE),
    "A-mirror": _markdown(_A._replace(usages=markdown.MIRROR_ONLY), _last(markdown.done_mirror)),
    "A-no-answer": _markdown(_A._replace(held_back=True), _last(markdown.remainder)),
    "A-no-blocks": _markdown(_A, _bare),
    "B": _markdown(_B, _DONE),
    "B-unnumbered": _markdown(_B._replace(numbered=False), _DONE),
    "C": Form(patched_way, patches.text_frames, _DONE),
    "patches-only": Form(patched_way, patches.unfinished_frames, patches.last),
    "D": Form(workflow.way, workflow.text_frames(workflow.ANSWER), workflow.last(workflow.ANSWER)),
    "D-no-variant": Form(workflow.way, workflow.text_frames(workflow.BARE_ANSWER), workflow.last(workflow.BARE_ANSWER)),
    "E": Form(plain_way, _no_text, _last()),
    "legacy": _legacy(legacy.nested),
    "legacy-plain": _legacy(legacy.plain),
    "legacy-object": _legacy(legacy.as_object),
    "legacy-dict": _legacy(legacy.as_dict),
    "legacy-bare": _legacy(legacy.bare),
    "legacy-deeper": _legacy(legacy.deeper),
}
DEFAULT_FORM = "A"
