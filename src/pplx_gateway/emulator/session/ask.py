"""`POST /rest/sse/perplexity_ask`, its reconnection and its stop."""

import asyncio
from collections.abc import AsyncIterator, Sequence

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pplx_gateway.emulator.fitting import Unfit
from pplx_gateway.emulator.script import Bytes, Step
from pplx_gateway.emulator.session import faults, forms, streaming
from pplx_gateway.emulator.session.account import Account, kind_of
from pplx_gateway.emulator.session.asked import Asked, BadAsk, parse
from pplx_gateway.emulator.session.checking import failure_of
from pplx_gateway.emulator.session.cookies import deletion
from pplx_gateway.emulator.session.entry import Entry
from pplx_gateway.emulator.session.forms import Course
from pplx_gateway.emulator.session.frames import Verdict, written
from pplx_gateway.emulator.session.opening import open_entry
from pplx_gateway.emulator.session.reading import renewed
from pplx_gateway.emulator.session.reply import grouped
from pplx_gateway.emulator.session.state import State
from pplx_gateway.emulator.session.streaming import STREAM_HEADERS, Pace
from pplx_gateway.emulator.session.table import Refused, Row, body_of, member_of
from pplx_gateway.emulator.wire import Play

PATH = "/rest/sse/perplexity_ask"


class Termination(msgspec.Struct, frozen=True):
    entry_uuid: str


class Ask:
    def __init__(self, state: State) -> None:
        self._state = state

    def table(self) -> list[Row]:
        return [
            Row("POST", PATH, self.ask),
            Row("POST", PATH + "/reconnect/{uuid}", self.reconnect),
            Row("GET", PATH + "/reconnect/{uuid}", self.reconnect),
            Row("POST", "/rest/sse/perplexity_terminate", self.terminate),
        ]

    async def ask(self, request: Request) -> Play | Response:
        """The answer as a stream. Only a body that makes no sense and a fault of HTTP are not 200."""
        account = self._state.member(request)
        try:
            asked = parse(await request.body())
        except BadAsk as error:
            raise Refused(faults.refusal(400, "BAD_REQUEST", str(error))) from None
        cookies = self._cookies(request, account, asked.controls.fault)
        fault = asked.controls.fault or ""
        if fault in faults.REFUSALS:
            return faults.REFUSALS[fault].response(cookies)
        if fault == "upstream_timeout":
            return self._silence()
        failure = failure_of(self._state, asked, account)
        if failure is not None:
            return self._play(streaming.single(failure), cookies)
        try:
            entry = open_entry(self._state, asked, account, str(request.base_url))
        except Unfit as error:
            raise Refused(faults.refusal(400, "BAD_REQUEST", str(error))) from None
        form = asked.form or self._state.settings.form
        return self._play(self._answer(entry, asked, form, account), cookies)

    def _cookies(self, request: Request, account: Account | None, fault: str | None) -> list[str]:
        """A rotation, or on an error page the deletion that nobody should believe."""
        credential = self._state.credential(request)
        if account is None or not account.words & {"rotate", "rotateask"}:
            return []
        if fault == "upstream_html":
            return deletion(credential)
        return renewed(self._state, credential, account) if "rotateask" in account.words else []

    def _silence(self) -> Play:
        headers = [("content-type", "text/html")]
        delay = self._state.stage.hold_seconds
        return self._state.stage.play([Bytes(faults.GATEWAY_TIMEOUT)], status=504, headers=headers, delay_seconds=delay)

    def _play(self, steps: AsyncIterator[Step] | Sequence[Step], cookies: Sequence[str] = ()) -> Play:
        headers = [*STREAM_HEADERS, *(("set-cookie", cookie) for cookie in cookies)]
        return self._state.stage.play(steps, headers=headers)

    async def _answer(self, entry: Entry, asked: Asked, form: str, account: Account | None) -> AsyncIterator[Step]:
        """The steps of an answer; what they settle is settled before they are sent, because a caller may leave or go on
        as soon as it has read the last frame."""
        course = forms.course(entry, form)
        steps = self._steps(course, asked, entry)
        stop = self._state.stops[entry.backend_uuid] = asyncio.Event()
        try:
            told = streaming.stoppable(
                steps, self._state.stage.clock, stop, lambda taken: self._stopped(entry, form, course, steps[:taken])
            )
            async for step in told:
                if isinstance(step, Verdict):
                    self._settle(entry, step.status, account)
                yield step
        finally:
            self._state.stops.pop(entry.backend_uuid, None)

    def _steps(self, course: Course, asked: Asked, entry: Entry) -> list[Step]:
        stage = self._state.stage
        frame = stage.pause(len(course.text), slow=asked.controls.slow).seconds
        spoil = faults.SPOILERS.get(asked.controls.fault or "")
        if spoil is not None:
            return streaming.paced(spoil(course), frame)
        settings = self._state.settings
        silence = settings.research_seconds if entry.reply.report else 0.0
        answer = settings.ask_back_seconds if asked.go_on and entry.reply.questions else 0.0
        return streaming.whole(course, Pace(frame=frame, silence=silence, answer=answer))

    def _settle(self, entry: Entry, status: str, account: Account | None) -> None:
        """Only a turn of the account itself, and only once, takes from its quota."""
        ends = status == "COMPLETED" and entry.status != "COMPLETED"
        if ends and account is not None and entry.owner == account.key:
            account.use(kind_of(entry.mode, entry.asked_model))
        entry.status = status

    def _stopped(self, entry: Entry, form: str, course: Course, taken: Sequence[Step]) -> list[Step]:
        """The end of an answer that the asker stopped: COMPLETED all the same, with the text so far (2.2)."""
        frames = sum(isinstance(step, Bytes) for step in taken) - len(course.way) - 1
        groups = grouped(entry.reply.chunks)[: max(0, frames)]
        text = "".join(chunk for group in groups for chunk in group.chunks)
        entry.reply = msgspec.structs.replace(entry.reply, text=text, report=None, questions=())
        return streaming.single(forms.course(entry, form).completed)

    async def reconnect(self, request: Request) -> Play:
        """The whole answer once more, now to its end."""
        account = member_of(request, self._state)
        entry = self._owned(account, request.path_params["uuid"])
        course = forms.course(entry, "A")
        self._settle(entry, "COMPLETED", account)
        return self._play([*written([*course.way, *course.text]), *streaming.single(course.completed)])

    async def terminate(self, request: Request) -> Response:
        account = member_of(request, self._state)
        entry = self._owned(account, (await body_of(request, Termination)).entry_uuid)
        if entry.backend_uuid in self._state.stops:
            self._state.stops[entry.backend_uuid].set()
        return JSONResponse({"status": "success"})

    def _owned(self, account: Account, uuid: str) -> Entry:
        entry = self._state.entries.get(uuid)
        if entry is None or entry.owner != account.key:
            raise Refused(faults.refusal(404, "ENTRY_NOT_FOUND", "Entry not found"))
        return entry
