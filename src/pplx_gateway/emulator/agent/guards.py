"""Strictness in front of a script: what the API would have refused, it refuses although an answer lies ready."""

from collections.abc import Callable

from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.record import Record
from pplx_gateway.emulator.script import Bytes, Scripted
from pplx_gateway.emulator.stage import Guard


def guard(check: Callable[[bytes], object]) -> Guard:
    """A guard for Stage.guard that refuses every body for which `check` raises ApiError."""

    def refusal(record: Record) -> Scripted | None:
        try:
            check(record.body)
        except ApiError as error:
            record.refusal = error.message
            headers = [("content-type", "application/json")]
            return Scripted(status=error.status, headers=headers, steps=[Bytes(error.body())])
        return None

    return refusal
