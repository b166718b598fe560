"""Requests to the Agent API: addresses, headers, bodies (docs/wire-agent.md 1, 2.8)."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from pplx_gateway import __version__
from pplx_gateway.transport.exchange import Incoming, Method, Outgoing, Streaming, Timeouts
from pplx_gateway.upstreams.api.keys.key import Key

USER_AGENT = f"pplx-gateway/{__version__}"


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
    """`more` are headers that the owner wants on every request."""

    def __init__(self, base_url: str, more: Mapping[str, str] | None = None) -> None:
        self._base = base_url.rstrip("/")
        self._agent = self._base + "/v1/agent"
        self._more = {name.lower(): value for name, value in (more or {}).items()}

    def ask(self, key: Key, body: bytes, timeouts: Timeouts) -> Outgoing:
        headers = self._headers(key, "text/event-stream", content="application/json")
        return Outgoing(method="POST", url=self._agent, headers=headers, body=body, timeouts=timeouts)

    def resume(self, key: Key, run_id: str, after: int | None, timeouts: Timeouts) -> Outgoing:
        """The run's events beyond number `after`, all of them if None, and on as they come."""
        cursor = "" if after is None else f"&starting_after={after}"
        url = f"{self._agent}/{run_id}?stream=true{cursor}"
        return Outgoing(method="GET", url=url, headers=self._headers(key, "text/event-stream"), timeouts=timeouts)

    def retrieve(self, key: Key, run_id: str, timeouts: Timeouts) -> Outgoing:
        """The run as it stands."""
        headers = self._headers(key, "application/json")
        return Outgoing(method="GET", url=f"{self._agent}/{run_id}", headers=headers, timeouts=timeouts)

    def cancel(self, key: Key, run_id: str, timeouts: Timeouts) -> Outgoing:
        url, headers = f"{self._agent}/{run_id}/cancel", self._headers(key, "application/json")
        return Outgoing(method="POST", url=url, headers=headers, body=b"", timeouts=timeouts)

    def call(
        self,
        method: Method,
        path: str,
        key: Key,
        timeouts: Timeouts,
        *,
        body: bytes | None = None,
        content: str = "application/json",
        accept: str = "application/json",
        more: Mapping[str, str] | None = None,
    ) -> Outgoing:
        """Any other request. `path` is below the base, with its query; `content` is the type of `body`."""
        headers = {**self._headers(key, accept, content=content if body else None), **(more or {})}
        return Outgoing(method=method, url=self._base + path, headers=_Headers(headers), body=body, timeouts=timeouts)

    def _headers(self, key: Key, accept: str, *, content: str | None = None) -> Mapping[str, str]:
        headers = _Headers(self._more, authorization=f"Bearer {key.reveal()}", accept=accept)
        headers.setdefault("user-agent", USER_AGENT)
        if content:
            headers["content-type"] = content
        return headers
