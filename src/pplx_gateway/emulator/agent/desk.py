"""What every group of endpoints has in common: keys, rate headers, and answers that come whole or fail as asked."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway.emulator.agent import faults
from pplx_gateway.emulator.agent.access import REQUESTS_PER_SECOND, RateMeter, check_key
from pplx_gateway.emulator.control import json_response
from pplx_gateway.emulator.script import Bytes
from pplx_gateway.emulator.stage import Stage
from pplx_gateway.emulator.words import parse_controls

_JSON = ("content-type", "application/json")


class Desk:
    """One for each group of endpoints, since each counts its own requests."""

    def __init__(self, stage: Stage, *, per_second: int = REQUESTS_PER_SECOND) -> None:
        self.stage = stage
        self.meter = RateMeter(stage.clock, per_second)

    def key(self, request: Request) -> str:
        """Raises ApiError 401, 402, 403 or 429."""
        return check_key(request.headers, self.stage.keys)

    def answer(self, value: object) -> Response:
        return json_response(value, headers=self.meter.headers())

    def nothing(self) -> Response:
        """A success without a body."""
        return Response(status_code=204, headers=dict(self.meter.headers()))

    def told(self, text: str, value: object, *, empty: object) -> Response:
        """`value`, or the failure that the control words before `text` ask for; `empty` is what `fault:empty` gets.

        Raises ApiError for the failures that are errors in JSON.
        """
        controls = parse_controls(text)
        shown = faults.answer(controls.fault, self.stage)
        if shown is not None:
            return shown
        body = msgspec.json.encode(empty if controls.fault == "empty" else value)
        headers = self.meter.headers()
        if controls.fault == "upstream_bad_json":
            body = body[: len(body) * 2 // 3]
        elif controls.fault in ("midstream_drop", "midstream_error"):
            promised, steps = faults.half_a_body(body)
            return self.stage.play(steps, headers=[*promised, *headers.items()])
        if controls.slow:
            late = self.stage.slow_seconds
            return self.stage.play([Bytes(body)], headers=[_JSON, *headers.items()], delay_seconds=late)
        return Response(body, 200, dict(headers), "application/json")
