"""The gateway behind the one file's stdio kernel, in this process: opened while the kernel answers already."""

import asyncio
import contextlib
import signal
from concurrent.futures import Future
from pathlib import Path
from typing import NamedTuple

from pplx_agent_mcp import Call, Cancelled, Fields, Work

from pplx_gateway import collector, fresh, logs
from pplx_gateway.clock import Clock
from pplx_gateway.ledger import Ledger
from pplx_gateway.opening import open_gateway, secrets_of
from pplx_gateway.protocols.mcp.face import GatewayFace
from pplx_gateway.protocols.mcp.runs import Asker
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.settings import Settings
from pplx_gateway.store.ledger import Entry
from pplx_gateway.web.authentication import OWNER

CANCEL_SECONDS = 0.2
"""How often a call looks whether anybody still waits for it."""


async def serve(settings: Settings, opened: "Future[Calls]", over: "Future[None]") -> None:
    """Until `over`, or a signal. Raises ValueError, StoreUnavailable."""
    logs.hide(lambda: [secret.reveal() for secret in secrets_of(settings)])
    collector.settle()
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    over.add_done_callback(lambda _: _tell(loop, ended))
    gateway = await open_gateway(settings, Clock(settings.clock_factor), Path.cwd())
    try:
        background = Background(gateway)
        background.begin()
        opened.set_result(Calls(GatewayFace(gateway, background), gateway.ledger, loop))
        await ended.wait()
    finally:
        await gateway.close()


def _tell(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    with contextlib.suppress(RuntimeError):  # the loop is closed: a signal came first
        loop.call_soon_threadsafe(ended.set)


class Calls(NamedTuple):
    """Carries calls that come from other threads out on the loop."""

    face: GatewayFace
    ledger: Ledger
    loop: asyncio.AbstractEventLoop

    def run(self, call: Call, work: Work) -> Fields:
        """Blocks. Raises RpcError, Cancelled."""
        going = asyncio.run_coroutine_threadsafe(self._carry_out(call, work), self.loop)
        while True:
            try:
                return going.result(CANCEL_SECONDS)
            except TimeoutError:
                if work.cancelled.is_set():
                    going.cancel()
                    raise Cancelled from None

    async def _carry_out(self, call: Call, work: Work) -> Fields:
        async def report(seconds: float, line: str) -> None:
            await asyncio.to_thread(work.report, seconds, line)  # whoever reads stdout may be slow

        asker = Asker(OWNER, report=report)
        if not call.name:
            return await self.face.perform(call.method, call.arguments, asker)
        entry = Entry(id=fresh.name("req_"), at=self.ledger.clock.now(), caller=OWNER)
        entry.face = entry.operation = "mcp"
        tab = self.ledger.tab(entry)
        try:
            return await self.face.call(call.name, call.arguments, asker)
        finally:
            tab.end(200, None)
