"""The one transport error that tells a caller more than its class does."""

from typing import Literal

from pplx_gateway.errors import UpstreamTimeout

Limit = Literal["connect", "first_byte", "idle", "total"]

_SENTENCES: dict[Limit, str] = {
    "connect": "No connection to {host} within {seconds:g} seconds (connect limit).",
    "first_byte": "{host} took the request and sent no answer within {seconds:g} seconds (first byte limit).",
    "idle": "{host} stopped in the middle of its answer and sent nothing for {seconds:g} seconds (idle limit).",
    "total": "{host} did not finish its answer within {seconds:g} seconds (total limit).",
}


class TransferTimeout(UpstreamTimeout):
    """`limit` is the field of Timeouts that ran out; with "connect" surely nothing was asked. `seconds` are gateway
    seconds."""

    def __init__(self, limit: Limit, seconds: float, host: str, *, message: str | None = None) -> None:
        super().__init__(message or _SENTENCES[limit].format(host=host, seconds=seconds))
        self.limit: Limit = limit
        self.seconds = seconds
