"""Files that runs share (docs/wire-agent.md 2.8)."""

from collections.abc import AsyncIterable
from contextlib import AbstractAsyncContextManager

from pplx_gateway.operations import Native, Owned
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path, segment

PATH = "/v1/agent"


class ApiRunFiles:
    """RunFiles (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def files_of(self, run: Owned) -> Native:
        return (await self._calls.get(owned_path(PATH, run, "/files"), run.key_name)).native()

    def content_of(self, run: Owned, file_id: str) -> AbstractAsyncContextManager[AsyncIterable[bytes]]:
        return self._calls.stream(owned_path(PATH, run, f"/files/{segment(file_id)}/content"), run.key_name)
