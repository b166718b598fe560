"""Browser sessions (docs/wire-agent.md 8)."""

from pplx_gateway.operations import Native, Owned
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path

PATH = "/v1/browser/sessions"
NAMES = ("browser",)
"""What an allow-list calls it."""


class ApiBrowserSessions:
    """BrowserSessions (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def open(self, key_name: str | None = None) -> Native:
        return (await self._calls.paid(PATH, b"{}", NAMES, key_name)).native("session_id")

    async def end(self, session: Owned) -> None:
        await self._calls.send("DELETE", owned_path(PATH, session), session.key_name)
