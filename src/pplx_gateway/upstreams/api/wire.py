"""Requests to the Agent API: addresses, headers, bodies (docs/wire-agent.md 1, 2.8)."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

import msgspec

from pplx_gateway import __version__
from pplx_gateway.transport.exchange import Incoming, Outgoing, Streaming, Timeouts

USER_AGENT = f"pplx-gateway/{__version__}"


class Credential(Protocol):
    """A key that does not print."""

    def reveal(self) -> str: ...


class Exchanges(Protocol):
    """What is needed of the transport."""

    async def request(self, outgoing: Outgoing) -> Incoming: ...

    def stream(self, outgoing: Outgoing) -> AbstractAsyncContextManager[Streaming]: ...

    async def close(self) -> None: ...


class _Headers(dict[str, str]):
    """Headers with a credential among them: only their names print."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"

    __str__ = __repr__


class Wire:
    def __init__(self, base_url: str, key: Credential) -> None:
        self._agent = base_url.rstrip("/") + "/v1/agent"
        self._key = key

    def ask(self, body: Mapping[str, object], timeouts: Timeouts) -> Outgoing:
        headers = self._headers("text/event-stream", content="application/json")
        return Outgoing(
            method="POST", url=self._agent, headers=headers, body=msgspec.json.encode(body), timeouts=timeouts
        )

    def resume(self, run_id: str, after: int | None, timeouts: Timeouts) -> Outgoing:
        """The run's events beyond number `after`, all of them if None, and on as they come."""
        cursor = "" if after is None else f"&starting_after={after}"
        url = f"{self._agent}/{run_id}?stream=true{cursor}"
        return Outgoing(method="GET", url=url, headers=self._headers("text/event-stream"), timeouts=timeouts)

    def cancel(self, run_id: str, timeouts: Timeouts) -> Outgoing:
        url, headers = f"{self._agent}/{run_id}/cancel", self._headers("application/json")
        return Outgoing(method="POST", url=url, headers=headers, body=b"", timeouts=timeouts)

    def _headers(self, accept: str, *, content: str | None = None) -> Mapping[str, str]:
        headers = _Headers(authorization=f"Bearer {self._key.reveal()}", accept=accept)
        headers["user-agent"] = USER_AGENT
        if content:
            headers["content-type"] = content
        return headers
