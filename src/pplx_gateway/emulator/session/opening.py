"""From an ask to the entry that will answer it."""

import msgspec

from pplx_gateway.emulator.session import answering
from pplx_gateway.emulator.session.account import Account
from pplx_gateway.emulator.session.answering import Material
from pplx_gateway.emulator.session.asked import Asked
from pplx_gateway.emulator.session.checking import owner_of
from pplx_gateway.emulator.session.entry import Entry, new_id
from pplx_gateway.emulator.session.reading import subscription
from pplx_gateway.emulator.session.reply import Reply, Report
from pplx_gateway.emulator.session.state import State, Upload
from pplx_gateway.emulator.session.storage import ROOT

ANONYMOUS_MODEL = "turbo"
RESEARCH = "pplx_alpha"
REPORT_NAME = "report.md"
_TITLE = 80


def open_entry(state: State, asked: Asked, account: Account | None, base_url: str) -> Entry:
    """A new entry with its reply, already findable. `base_url`: where reports can be downloaded."""
    if asked.controls.fault == "logged_out":
        if account is not None:
            state.spoil(account)
        account = None
    params, backend_uuid = asked.body.params, new_id()
    previous = state.entries.get(params.last_backend_uuid)
    display, selected = _models(state, asked, account)
    entry = Entry(
        owner=owner_of(account),
        query=asked.body.query_str,
        question=asked.question,
        asked_model=params.model_preference,
        display_model=display,
        user_selected_model=selected,
        mode=params.mode,
        backend_uuid=backend_uuid,
        context_uuid=previous.context_uuid if previous else new_id(),
        slug=previous.slug if previous else backend_uuid,
        title=previous.title if previous else asked.question[:_TITLE] or "New thread",
        frontend_uuid=str(params.frontend_uuid),
        frontend_context_uuid=previous.frontend_context_uuid if previous else str(params.frontend_context_uuid),
        search_focus=params.search_focus,
        sources=tuple(params.sources),
        attachments=tuple(params.attachments),
        incognito=params.is_incognito,
        previous=previous.backend_uuid if previous else None,
        created=state.timestamp(),
        with_text=params.send_back_text_in_streaming_api,
        extras={} if account is None else subscription(account),
    )
    entry.reply = _reply(state, asked, entry, base_url)
    state.entries.put(backend_uuid, entry)
    return entry


def _models(state: State, asked: Asked, account: Account | None) -> tuple[str, str]:
    """What answers, and what is said to have been asked for. Nobody's asks become turbo (docs/wire-session.md 1.1)."""
    model = asked.body.params.model_preference
    if account is None:
        return ANONYMOUS_MODEL, ANONYMOUS_MODEL
    if asked.controls.fault == "substituted":
        return state.models.another(model), model
    return model, model


def _reply(state: State, asked: Asked, entry: Entry, base_url: str) -> Reply:
    files = _files(state, entry)
    thinks = state.models.thinks(entry.display_model)
    reply = answering.reply_to(asked, Material(state.earlier(state.entries.get(entry.previous)), files, thinks))
    if asked.controls.fault == "empty":
        return msgspec.structs.replace(reply, text="")
    if entry.display_model != RESEARCH:
        return reply
    questions = answering.research_questions(asked) if asked.ask_back else ()
    if questions and not asked.go_on:
        return Reply(text="", goals=reply.goals, thoughts=reply.thoughts, questions=questions)
    report = _kept_report(state, asked, entry, base_url)
    return msgspec.structs.replace(reply, text=answering.introduction(asked), report=report, questions=questions)


def _files(state: State, entry: Entry) -> list[Upload]:
    """The attachments that reach the model: images, and documents that were read before. Others are left out without a
    word, as on the real one."""
    if not entry.attachments:
        return []
    uploads = [upload for upload in state.uploads if upload.attachment in entry.attachments]
    return [upload for upload in uploads if upload.is_image or upload.processed]


def _kept_report(state: State, asked: Asked, entry: Entry, base_url: str) -> Report:
    data = answering.report(asked).encode()
    path = f"assets/{entry.backend_uuid}/{REPORT_NAME}"
    if not asked.lost_report:
        state.assets.put(path, data)
    return Report(filename=REPORT_NAME, url=base_url.rstrip("/") + ROOT + path, size=len(data))
