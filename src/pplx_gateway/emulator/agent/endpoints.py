"""The paths of api.perplexity.ai that the emulator answers."""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent import faults, models, plan, rules, telling
from pplx_gateway.emulator.agent.access import RateMeter, check_key
from pplx_gateway.emulator.agent.conversation import Conversation
from pplx_gateway.emulator.agent.envelope import envelope
from pplx_gateway.emulator.agent.errors import ApiError, not_found
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.request import AgentRequest, FunctionCallOutput
from pplx_gateway.emulator.agent.run import Run, Runs, StreamCut
from pplx_gateway.emulator.agent.sharing import announced
from pplx_gateway.emulator.agent.strictness import read_request
from pplx_gateway.emulator.control import json_response, long_poll, refused
from pplx_gateway.emulator.fitting import Unfit
from pplx_gateway.emulator.forms import BadControl
from pplx_gateway.emulator.script import Bytes, Cut, Step
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.wire import unless_left
from pplx_gateway.emulator.words import parse_controls

AGENT_PATHS = ("/v1/agent", "/v1/responses")
RETIRED_PATHS = ("/chat/completions", "/v1/sonar", "/v1/chat/completions", "/async/chat/completions", "/v1/async/sonar")
_logger = logging.getLogger("pplx_gateway.emulator")
_RUN_ID = re.compile(r"resp_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EVENT_STREAM = ("content-type", "text/event-stream")


class AgentApi:
    """Endpoints over one Stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._meter = RateMeter(stage.clock)
        self._runs = Runs()
        for path in AGENT_PATHS:
            stage.guard("POST", path, guard(_check))
        stage.show("runs", lambda: [_view(run) for run in self._runs])

    def routes(self) -> list[BaseRoute]:
        runs = [
            route
            for path in AGENT_PATHS
            for route in (
                Route(path, self.create, methods=["POST"]),
                Route(f"{path}/{{run_id}}", self.retrieve, methods=["GET"]),
                Route(f"{path}/{{run_id}}/cancel", self.cancel, methods=["POST"]),
                Route(f"{path}/{{run_id}}/files", self.list_files, methods=["GET"]),
                Route(f"{path}/{{run_id}}/files/{{file_id}}/content", self.file_content, methods=["GET"]),
            )
        ]
        retired = [
            Route(path + tail, self.refuse_retired, methods=["GET", "POST"])
            for path in RETIRED_PATHS
            for tail in ("", "/{rest:path}")
        ]
        return [
            *runs,
            *retired,
            Route("/v1/models", self.list_models, methods=["GET"]),
            Route("/_emulator/runs", self.show_runs, methods=["GET"]),
            Route("/_emulator/runs/{run_id}/cut", self.cut_run, methods=["POST"]),
            Route("/_emulator/keys", self.show_keys, methods=["GET"]),
            Route("/_emulator/keys", self.set_keys, methods=["POST"]),
        ]

    async def create(self, request: Request) -> Response:
        key = check_key(request.headers, self._stage.keys)
        asked = read_request(await request.body())
        rules.check(asked)
        conversation = self._conversation(asked, key)
        shown = faults.answer(parse_controls(conversation.question).fault, self._stage)
        if shown is not None:
            return shown
        run = self._start(asked, conversation, key)
        headers = self._meter.headers(run.uuid)
        if asked.body.stream:
            return self._stage.play(self._steps(run, -1), headers=[_EVENT_STREAM, *headers.items()])
        if asked.body.background or await unless_left(request.receive, run.finished()):
            return self._whole(run, headers)
        return Response(status_code=499)  # nobody is there to read it; the run goes on

    def begin(self, body: bytes, key: str) -> Run:
        """A run that no connection waits for: what a batch asks. Raises ApiError, for faults that are pages too."""
        asked = read_request(body)
        rules.check(asked)
        conversation = self._conversation(asked, key)
        shown = faults.answer(parse_controls(conversation.question).fault, self._stage)
        if shown is not None:
            raise ApiError(shown.status_code, "the upstream gave no answer", "bad_gateway")
        return self._start(asked, conversation, key)

    def _conversation(self, asked: AgentRequest, key: str) -> Conversation:
        """Raises ApiError for a previous response that cannot be continued, with the API's bare words."""
        previous = Conversation()
        if asked.body.previous_response_id is not None:
            run = self._runs.find(asked.body.previous_response_id, key)
            if run is None or run.status not in ("completed", "requires_action"):
                raise ApiError(400, "invalid request")
            previous = run.conversation
        conversation = previous.then(asked)
        outputs = [item for item in asked.items if isinstance(item, FunctionCallOutput)]
        if any(item.call_id not in conversation.calls for item in outputs):
            raise ApiError(400, "invalid request")
        return conversation

    def _start(self, asked: AgentRequest, conversation: Conversation, key: str) -> Run:
        """Raises ApiError for a schema that no value is made for."""
        try:
            planned = plan.make(asked, conversation)
        except Unfit as error:
            raise ApiError(400, f"{error}") from None
        run = Run(
            asked,
            conversation,
            planned,
            key=key,
            created_at=self._stage.clock.now(),
            on_change=self._stage.recorder.changed,
        )
        self._runs.add(run)
        run.task = self._stage.spawn(telling.Telling(run, self._stage).tell())
        run.task.add_done_callback(lambda task: self._told(run, task))
        return run

    def _told(self, run: Run, task: asyncio.Task[None]) -> None:
        """A defect in the telling ends the run as failed, so that nobody waits for it for ever."""
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _logger.error("a run of the emulator broke down", exc_info=error)
            telling.fail(run, self._stage.clock.now())

    async def _steps(self, run: Run, after: int) -> AsyncGenerator[Step, None]:
        try:
            async for event in run.follow(after):
                yield Bytes(event)
        except StreamCut:
            yield Cut()
            return
        if run.broken is not None:
            self._runs.forget(run)
        if run.broken == "drop":
            yield Cut()

    def _whole(self, run: Run, headers: Mapping[str, str]) -> Response:
        body = msgspec.json.encode(envelope(run))
        if run.broken is None:
            return Response(body, 200, dict(headers), "application/json")
        self._runs.forget(run)
        if run.broken == "bad_json":
            return Response(body[: len(body) * 2 // 3], 200, dict(headers), "application/json")
        promised, steps = faults.half_a_body(body)
        return self._stage.play(steps, headers=[*promised, *headers.items()])

    async def retrieve(self, request: Request) -> Response:
        key = check_key(request.headers, self._stage.keys)
        run = self._find(request, key)
        stream, after = _replay_query(request)
        headers = self._meter.headers()
        if not stream:
            whole = envelope(run, read_at=self._stage.clock.now())
            return Response(msgspec.json.encode(whole), 200, dict(headers), "application/json")
        if run.ended and after >= len(run.events):
            raise ApiError(400, "starting_after is past the end of the stream", param="starting_after")
        return self._stage.play(self._steps(run, after), headers=[_EVENT_STREAM, *headers.items()])

    def _find(self, request: Request, key: str) -> Run:
        run_id = request.path_params["run_id"]
        if not _RUN_ID.fullmatch(run_id):
            raise ApiError(400, "invalid response id", param="response_id")
        run = self._runs.find(run_id, key)
        if run is None or run.hidden:
            raise not_found()
        return run

    async def cancel(self, request: Request) -> Response:
        key = check_key(request.headers, self._stage.keys)
        run = self._runs.find(request.path_params["run_id"], key)
        # An unknown run and a finished one are told apart by nobody (docs/wire-agent.md 2.8).
        if run is None or run.ended:
            raise ApiError(400, "the run is already terminal and cannot be cancelled")
        if not run.cancelling:
            run.cancelling = True
            run.stop()
            self._stage.spawn(self._cancel(run))
        return json_response({"response_id": run.id, "status": "cancelling"}, headers=self._meter.headers())

    async def _cancel(self, run: Run) -> None:
        """Work has stopped already; the state says so a little later."""
        await self._stage.clock.sleep(self._stage.cancel_seconds)
        telling.cancel(run, self._stage.clock.now())

    async def list_files(self, request: Request) -> Response:
        run = self._find(request, check_key(request.headers, self._stage.keys))
        made = {"object": "file", "created_at": int(run.created_at)}
        data = [{**made, "id": f.id, "filename": f.filename, "bytes": len(f.content)} for f in announced(run)]
        return json_response({"object": "list", "data": data}, headers=self._meter.headers())

    async def file_content(self, request: Request) -> Response:
        run = self._find(request, check_key(request.headers, self._stage.keys))
        wanted = request.path_params["file_id"]
        file = next((file for file in announced(run) if file.id == wanted), None)
        if file is None:
            raise not_found()
        return Response(file.content, 200, dict(self._meter.headers()), "application/octet-stream")

    async def list_models(self, _request: Request) -> Response:
        """Answers without a key, too."""
        return json_response(models.listing(), headers=self._meter.headers())

    async def refuse_retired(self, request: Request) -> Response:
        check_key(request.headers, self._stage.keys)
        raise ApiError(
            403,
            "Chat completions is not available. Use /v1/responses instead of /v1/sonar.",
            "chat_completions_not_available",
        )

    async def show_runs(self, request: Request) -> Response:
        """Runs by `id` and `status`. With `timeout` (real seconds) waits until there are `count` (1) of them."""
        query = request.query_params
        run_id, status = query.get("id"), query.get("status")

        def found() -> list[Run]:
            return [run for run in self._runs if run_id in (None, run.id) and status in (None, run.status)]

        return await long_poll(self._stage, request, "runs", found, _view)

    async def cut_run(self, request: Request) -> Response:
        """Breaks the streams that follow the run, which itself goes on."""
        runs = [run for run in self._runs if run.id == request.path_params["run_id"]]
        for run in runs:
            run.cut_followers()
        return json_response({"runs": [_view(run) for run in runs]}, 200 if runs else 404)

    async def show_keys(self, _request: Request) -> Response:
        return json_response({"keys": self._stage.keys.view()})

    async def set_keys(self, request: Request) -> Response:
        try:
            self._stage.keys.set(await request.body())
        except BadControl as error:
            return refused(str(error))
        return await self.show_keys(request)


def _view(run: Run) -> dict[str, object]:
    return {
        "id": run.id,
        "status": run.status,
        "cancelling": run.cancelling,
        "background": bool(run.request.body.background),
        "model": run.model,
        "events": len(run.events),
        "question": run.conversation.question,
    }


def _replay_query(request: Request) -> tuple[bool, int]:
    """`stream` and `starting_after` of a GET; -1 = from the beginning. Raises ApiError 400."""
    query = request.query_params
    stream = query.get("stream", "false").lower()
    if stream not in ("true", "false"):
        raise ApiError(400, "stream must be a boolean", param="stream")
    if query.get("format", "default") not in ("default", "short"):
        raise ApiError(400, "format must be default or short", param="format")
    after = query.get("starting_after")
    if after is None:
        return stream == "true", -1
    if stream == "false" or not re.fullmatch(r"\d{1,16}", after) or int(after) >= 1 << 53:
        raise ApiError(400, "starting_after must be a sequence number, with stream=true", param="starting_after")
    return True, int(after)


def _check(body: bytes) -> None:
    rules.check(read_request(body))
