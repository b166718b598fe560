"""The library: list, read back, delete (docs/wire-session.md 6.2)."""

from typing import Annotated

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pplx_gateway.emulator.session import forms, legacy
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.faults import refusal
from pplx_gateway.emulator.session.frames import Json
from pplx_gateway.emulator.session.state import State
from pplx_gateway.emulator.session.table import Refused, Row, body_of, member_of

APP_HEADERS = ("x-app-apiclient", "x-app-apiversion")
_PREVIEW = 200
_NOT_FOUND = refusal(404, "THREAD_NOT_FOUND", "Thread not found")
_DELETED = refusal(400, "ENTRY_DELETED", "This thread is gone")
_NO_GET = refusal(400, "BAD_REQUEST", "The list is asked for by POST")


class Listing(msgspec.Struct, frozen=True):
    limit: Annotated[int, msgspec.Meta(ge=1, le=100)] = 20
    offset: Annotated[int, msgspec.Meta(ge=0)] = 0
    ascending: bool = False
    search_term: str = ""
    with_temporary_threads: bool = False
    exclude_asi: bool = False


class Deletion(msgspec.Struct, frozen=True):
    entry_uuid: str
    read_write_token: str | None = None


class Threads:
    def __init__(self, state: State) -> None:
        self._state = state

    def table(self) -> list[Row]:
        return [
            Row("POST", "/rest/thread/list_ask_threads", self.listing),
            Row("GET", "/rest/thread/list_ask_threads", self.listing_by_get),
            Row("DELETE", "/rest/thread/delete_thread_by_entry_uuid", self.delete),
            Row("GET", "/rest/thread/{slug}", self.read),
        ]

    async def listing(self, request: Request) -> Response:
        """The newest first. Without the app headers, or without a login, it is empty and still 200."""
        account = self._state.member(request)
        wanted = await body_of(request, Listing)
        if account is None or not all(name in request.headers for name in APP_HEADERS):
            return JSONResponse([])
        threads = self._threads(account.key, wanted)
        page = threads[wanted.offset : wanted.offset + wanted.limit]
        more = wanted.offset + wanted.limit < len(threads)
        return JSONResponse(
            [_summary(thread) | {"total_threads": len(threads), "has_next_page": more} for thread in page]
        )

    async def listing_by_get(self, _request: Request) -> Response:
        return _NO_GET.response()

    def _threads(self, owner: str, wanted: Listing) -> list[list[Entry]]:
        threads: dict[str, list[Entry]] = {}
        for entry in self._state.entries:
            if entry.owner == owner and (wanted.with_temporary_threads or not entry.incognito):
                threads.setdefault(entry.context_uuid, []).append(entry)
        found = [thread for thread in threads.values() if wanted.search_term.lower() in thread[0].title.lower()]
        return found if wanted.ascending else found[::-1]

    async def read(self, request: Request) -> Response:
        """A thread by its slug or by any of its entries. A turn that still runs has nothing to read yet."""
        account = member_of(request, self._state)
        slug = request.path_params["slug"]
        if self._state.deleted.get(slug) == account.key:
            raise Refused(_DELETED)
        first = next((entry for entry in self._state.entries if slug in (entry.slug, entry.backend_uuid)), None)
        if first is None or first.owner != account.key:
            raise Refused(_NOT_FOUND)
        schematized = request.query_params.get("with_schematized_response") == "true"
        thread = self._state.thread(first.context_uuid)
        return JSONResponse(
            {
                "status": "success",
                "entries": [_read_back(entry, schematized=schematized) for entry in thread],
                "thread_metadata": {"title": thread[0].title, "context_uuid": first.context_uuid, "slug": first.slug},
                "has_next_page": False,
                "next_cursor": None,
            }
        )

    async def delete(self, request: Request) -> Response:
        """The whole thread, for good; a second time is fine too."""
        account = member_of(request, self._state)
        wanted = await body_of(request, Deletion)
        entry = self._state.entries.get(wanted.entry_uuid)
        owner = entry.owner if entry is not None else self._state.deleted.get(wanted.entry_uuid)
        if owner != account.key:
            raise Refused(_NOT_FOUND)
        for turn in self._state.thread(entry.context_uuid) if entry is not None else []:
            self._state.entries.drop(turn.backend_uuid)
            self._state.deleted.put(turn.backend_uuid, owner)
        return JSONResponse({"status": "success"})


def _summary(thread: list[Entry]) -> Json:
    first, last = thread[0], thread[-1]
    return {
        "uuid": last.backend_uuid,
        "context_uuid": first.context_uuid,
        "slug": first.slug,
        "title": first.title,
        "query_str": first.query,
        "answer_preview": last.reply.text[:_PREVIEW],
        "first_answer": legacy.as_dict(first),
        "last_query_datetime": last.created,
        "mode": last.mode.upper(),
        "display_model": last.display_model,
        "query_count": len(thread),
        "thread_status": last.status,
        "read_write_token": last.read_write_token,
    }


def _read_back(entry: Entry, *, schematized: bool) -> Json:
    """A turn as it is read back: blocks or `text`, never both."""
    frame = forms.course(entry, "A").completed | {"query_str": entry.query, "status": entry.status}
    if entry.status != "COMPLETED":
        return frame | {"blocks": []}
    return frame if schematized else frame | {"blocks": [], "text": legacy.nested(entry)}
