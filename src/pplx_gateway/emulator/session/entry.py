"""One turn of a conversation: what the frames say about it again and again."""

from uuid import uuid4

import msgspec

from pplx_gateway.emulator.session.reply import Reply


def new_id() -> str:
    return str(uuid4())


class Entry(msgspec.Struct, kw_only=True):
    """A turn. `status` is the wire's: PENDING until it ends, then COMPLETED or FAILED.

    `owner` is the account's key, empty for nobody. `query` is what was asked, `question` the same without control
    words. `asked_model` is the ask's; `display_model` what answered; `user_selected_model` what the upstream says was
    asked for. `previous` is the `backend_uuid` of the turn before.
    """

    owner: str
    query: str
    question: str
    asked_model: str
    context_uuid: str
    frontend_uuid: str
    frontend_context_uuid: str
    display_model: str
    user_selected_model: str
    mode: str
    slug: str
    title: str
    backend_uuid: str = msgspec.field(default_factory=new_id)
    read_write_token: str = msgspec.field(default_factory=new_id)
    search_focus: str = "internet"
    sources: tuple[str, ...] = ()
    attachments: tuple[str, ...] = ()
    incognito: bool = False
    previous: str | None = None
    status: str = "PENDING"
    reply: Reply = Reply(text="")
    created: str = ""
    with_text: bool = False
    extras: dict[str, str] = {}
