"""`/v1/batches`: batches that run by themselves (docs/wire-agent.md 7)."""

import asyncio
import uuid
from collections.abc import Callable

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent.batch import (
    WINDOW_SECONDS,
    Batch,
    BatchBody,
    Line,
    Status,
    read_lines,
    result,
    unfinished,
)
from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.envelope import envelope
from pplx_gateway.emulator.agent.errors import ApiError, not_found
from pplx_gateway.emulator.agent.files import Files
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.paging import by_id
from pplx_gateway.emulator.agent.run import Run
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.control import long_poll
from pplx_gateway.emulator.stage import Stage

Ask = Callable[[bytes, str], Run]


class Batches:
    """`ask` begins a run from a request's bytes and a key; it raises ApiError."""

    def __init__(self, stage: Stage, files: Files, ask: Ask) -> None:
        self._stage = stage
        self._desk = Desk(stage)
        self._files = files
        self._ask = ask
        self._batches: dict[str, Batch] = {}
        self._working: dict[str, asyncio.Task[None]] = {}
        self._once: dict[tuple[str, str], Batch] = {}
        stage.guard("POST", "/v1/batches", guard(read_batch))
        stage.show("batches", lambda: [batch.view() for batch in self._batches.values()])

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/batches", self.create, methods=["POST"]),
            Route("/v1/batches", self.list, methods=["GET"]),
            Route("/v1/batches/{batch_id}", self.retrieve, methods=["GET"]),
            Route("/v1/batches/{batch_id}/cancel", self.cancel, methods=["POST"]),
            Route("/_emulator/batches", self.show, methods=["GET"]),
        ]

    async def create(self, request: Request) -> Response:
        key = self._desk.key(request)
        body = read_batch(await request.body())
        if self._files.find(body.input_file_id, key) is None:
            raise ApiError(400, f'no file with the id "{body.input_file_id[:80]}"', param="input_file_id")
        word = request.headers.get("idempotency-key")
        batch = self._known(key, word, body) or self._start(body, key, word)
        return self._desk.answer(batch.view())

    def _known(self, key: str, word: str | None, body: BatchBody) -> Batch | None:
        """The batch that this call has made before."""
        batch = self._once.get((key, word)) if word else None
        if batch is not None and batch.body != body:
            raise ApiError(409, "the idempotency key was used for another batch", "conflict")
        return batch

    def _start(self, body: BatchBody, key: str, word: str | None) -> Batch:
        file = self._files.find(body.input_file_id, key)
        batch = Batch(body, key, self._stage.clock.now())
        self._batches[batch.id] = batch
        if word:
            self._once[key, word] = batch
        self._working[batch.id] = self._stage.spawn(self._work(batch, file.content if file else b""))
        return batch

    async def _work(self, batch: Batch, content: bytes) -> None:
        """From validating to the end. A cancel ends this task and does the rest itself."""
        clock, step = self._stage.clock, self._stage.background_seconds / 3
        await clock.sleep(step)
        batch.lines, batch.errors = read_lines(content)
        if batch.errors:
            self._become(batch, "failed")
            return
        self._become(batch, "in_progress")
        await clock.sleep(step)
        while batch.unanswered:
            if clock.since(batch.created) >= WINDOW_SECONDS:
                self._give_up(batch, "batch_expired", "the request was not begun within the window")
                self._finish(batch, "expired")
                return
            await self._answer(batch, batch.unanswered[0])
        self._become(batch, "finalizing")
        await clock.sleep(step)
        self._finish(batch, "completed")

    async def _answer(self, batch: Batch, line: Line) -> None:
        try:
            run = await self._run(batch, line)
        except ApiError as error:
            told = {"status_code": error.status, "request_id": str(uuid.uuid4()), "body": msgspec.Raw(error.body())}
            batch.wrong.append(result(line, response=told))
            batch.failed += 1
        else:
            batch.count(run.usage)
            told = {"status_code": 200, "request_id": run.uuid, "body": envelope(run)}
            batch.right.append(result(line, response=told))
        self._stage.recorder.changed()

    async def _run(self, batch: Batch, line: Line) -> Run:
        """The finished run of one line. Raises ApiError."""
        if line.body.get("stream") or line.body.get("background"):
            raise ApiError(400, "stream and background are not available in a batch", param="stream")
        run = self._ask(msgspec.json.encode(line.body), batch.key)
        await run.finished()
        if run.broken is not None:
            raise ApiError(502, "the run was lost", "bad_gateway")
        return run

    def _give_up(self, batch: Batch, code: str, message: str) -> None:
        left = batch.unanswered
        batch.wrong += unfinished(left, code, message)
        batch.failed += len(left)

    def _become(self, batch: Batch, status: Status) -> None:
        batch.become(status, self._stage.clock.now())
        self._stage.recorder.changed()

    def _finish(self, batch: Batch, status: Status) -> None:
        """The end of a batch that has begun: what there is becomes files."""
        if batch.right:
            output = self._files.add(batch.key, f"{batch.id}_output.jsonl", "batch_output", b"".join(batch.right))
            batch.output_file_id = output.id
        if batch.wrong:
            errors = self._files.add(batch.key, f"{batch.id}_errors.jsonl", "batch_output", b"".join(batch.wrong))
            batch.error_file_id = errors.id
        self._become(batch, status)

    async def list(self, request: Request) -> Response:
        key = self._desk.key(request)
        found = [batch for batch in reversed(self._batches.values()) if batch.key == key]
        return self._desk.answer(by_id(found, request.query_params, lambda batch: batch.id, Batch.view))

    async def retrieve(self, request: Request) -> Response:
        return self._desk.answer(self._asked_for(request).view())

    async def cancel(self, request: Request) -> Response:
        batch = self._asked_for(request)
        if batch.ended:
            raise ApiError(400, f"the batch is already {batch.status} and cannot be cancelled")
        if batch.status != "cancelling":
            self._working[batch.id].cancel()
            self._become(batch, "cancelling")
            self._stage.spawn(self._cancel(batch))
        return self._desk.answer(batch.view())

    async def _cancel(self, batch: Batch) -> None:
        """What was answered stays; what was not is told in the file of errors."""
        await self._stage.clock.sleep(self._stage.cancel_seconds)
        self._give_up(batch, "batch_cancelled", "the batch was cancelled before this request")
        self._finish(batch, "cancelled")

    async def show(self, request: Request) -> Response:
        """Batches by `id` and `status`; with `timeout` (real seconds) waits until there are `count` (1) of them."""
        query = request.query_params
        batch_id, status = query.get("id"), query.get("status")

        def found() -> list[Batch]:
            return [b for b in self._batches.values() if batch_id in (None, b.id) and status in (None, b.status)]

        return await long_poll(self._stage, request, "batches", found, Batch.view)

    def _asked_for(self, request: Request) -> Batch:
        key = self._desk.key(request)
        batch = self._batches.get(request.path_params["batch_id"])
        if batch is None or batch.key != key:
            raise not_found()
        return batch


def read_batch(body: bytes) -> BatchBody:
    """Raises ApiError 400 and 413."""
    asked = read_as(read_object(body), BatchBody)
    metadata = asked.metadata or {}
    if len(metadata) > 16 or any(len(name) > 64 or len(value) > 512 for name, value in metadata.items()):
        raise ApiError(400, "metadata takes at most 16 keys of 64 characters with values of 512", param="metadata")
    return asked
