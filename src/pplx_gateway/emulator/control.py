"""The control path, `/_emulator/...`: scripts in, records out.

- `POST /_emulator/script` `{"path": "/v1/agent", "method"?: "POST", "answers": [{"status"?, "headers"?, "delay"?,
  "steps": [{"bytes": text} | {"base64": text} | {"sleep": seconds} | {"end": true} | {"abort": true} | {"cut": true}],
  "repeat"?: n | "forever", "strict"?: false}]}` queues answers; `DELETE` clears. A path may end with `*`.
- `GET /_emulator/requests?path=&method=&closed=1` lists what came; `DELETE` clears.
- `GET /_emulator/wait?path=&method=&closed=1&ended=1&count=&timeout=` lists it too, once there are `count`.
- `GET /_emulator/state` shows the rest. Each half may add paths of its own.

`delay` and `sleep` are clock seconds, `timeout` is real ones.
"""

from collections.abc import Callable, Mapping
from typing import TypedDict, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.forms import BadControl, read_script
from pplx_gateway.emulator.record import Record
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.wire import unless_left

T = TypeVar("T")


class Control:
    """The control endpoints over one Stage."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/_emulator/script", self.add_script, methods=["POST"]),
            Route("/_emulator/script", self.clear_script, methods=["DELETE"]),
            Route("/_emulator/requests", self.list_requests, methods=["GET"]),
            Route("/_emulator/requests", self.clear_requests, methods=["DELETE"]),
            Route("/_emulator/state", self.show_state, methods=["GET"]),
            Route("/_emulator/wait", self.wait, methods=["GET"]),
        ]

    async def add_script(self, request: Request) -> Response:
        try:
            entries = read_script(await request.body())
        except BadControl as error:
            return refused(str(error))
        self._stage.scripts.add(entries)
        return JSONResponse({"pending": self._stage.scripts.pending()})

    async def clear_script(self, _request: Request) -> Response:
        self._stage.scripts.clear()
        return JSONResponse({"pending": {}})

    async def list_requests(self, request: Request) -> Response:
        found = self._stage.recorder.find(**selection(request))
        return json_response({"requests": [record.view() for record in found]})

    async def clear_requests(self, _request: Request) -> Response:
        self._stage.recorder.clear()
        return JSONResponse({"requests": []})

    async def show_state(self, _request: Request) -> Response:
        stage = self._stage
        views = {name: view() for name, view in stage.views.items()}
        own = {
            "clock_factor": stage.clock.factor,
            "now": stage.clock.now(),
            "pace_seconds": stage.pace_seconds,
            "open_requests": stage.open_requests,
            "scripts": stage.scripts.pending(),
        }
        return json_response({**own, **views})

    async def wait(self, request: Request) -> Response:
        """Answers when `count` requests (1) have come to `path`, with `closed=1` when so many were left early by their
        callers, with `ended=1` when so many have been answered whole. 408 after `timeout` real seconds (10)."""
        chosen = selection(request)
        ended = flag(request, "ended")

        def found() -> list[Record]:
            return [record for record in self._stage.recorder.find(**chosen) if record.ended or not ended]

        return await long_poll(self._stage, request, "requests", found, Record.view, timeout_seconds=10.0)


async def long_poll(
    stage: Stage,
    request: Request,
    name: str,
    find: Callable[[], list[T]],
    view: Callable[[T], object],
    *,
    timeout_seconds: float | None = None,
) -> Response:
    """`{name: [view of what was found]}`, as soon as `count` (1) were found; status 408 if that takes longer than
    `timeout` real seconds.

    Without the query's `timeout` and with `timeout_seconds` None it answers at once, whatever is there.
    """
    try:
        count = int(request.query_params.get("count", "1"))
        given = request.query_params.get("timeout")
        seconds = float(given) if given is not None else timeout_seconds
    except ValueError:
        return refused("count must be a whole number, timeout a number of seconds")
    if seconds is None:
        return json_response({name: [view(item) for item in find()]})
    held = await unless_left(request.receive, stage.recorder.until(lambda: len(find()) >= count), seconds)
    return json_response({name: [view(item) for item in find()]}, 200 if held else 408)


class Selection(TypedDict):
    path: str | None
    method: str | None
    closed: bool


def selection(request: Request) -> Selection:
    """Which records a control request means: `path` (may end with `*`), `method`, `closed=1`."""
    query = request.query_params
    return {"path": query.get("path"), "method": query.get("method"), "closed": flag(request, "closed")}


def flag(request: Request, name: str) -> bool:
    return request.query_params.get(name, "0").lower() in ("1", "true", "yes")


def refused(message: str) -> Response:
    return JSONResponse({"error": message}, 400)


def json_response(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(value), status, headers, "application/json")
