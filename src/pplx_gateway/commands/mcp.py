"""`pplx-gateway mcp`: the gateway's MCP tools on stdio, in this process, on the settings of the environment.

The kernel is the one-file server's. It answers at once, while the gateway, which takes longer to import than most
clients' first questions, is opened beside it. Responses are kept where `serve` keeps them, so that each can collect
what the other one began.
"""

import argparse
import asyncio
import logging
import threading
from concurrent.futures import Future
from importlib import import_module
from typing import TYPE_CHECKING

from pplx_agent_mcp import Call, Fields, Kernel, StdioServer, Work, claim_stdin, claim_stdout

from pplx_gateway import environment, logs
from pplx_gateway.protocols.mcp.about import CAPABILITIES, INFO, INSTRUCTIONS, METHODS
from pplx_gateway.protocols.mcp.tools import TOOLS

if TYPE_CHECKING:
    from pplx_gateway.protocols.mcp.stdio import Calls

logger = logging.getLogger("pplx_gateway")


def run(_: argparse.Namespace) -> None:
    """Until stdin ends and every call is answered, or a signal comes. Raises ValueError, OSError, StoreUnavailable."""
    loaded = environment.load()
    settings = loaded.settings
    logs.set_up(settings.log_level)
    for line in loaded.notes:
        logger.info(line)
    opened: Future[Calls] = Future()
    over: Future[None] = Future()
    kernel = Kernel(INFO, TOOLS, INSTRUCTIONS, METHODS, CAPABILITIES)

    def carry_out(call: Call, work: Work) -> Fields:
        return opened.result().run(call, work)

    server = StdioServer(kernel, carry_out, claim_stdin(), claim_stdout())

    def read() -> None:
        server.serve()
        over.set_result(None)

    threading.Thread(target=read, daemon=True).start()  # it may hang on stdin when a signal ends all
    stdio = import_module("pplx_gateway.protocols.mcp.stdio")
    import uvloop  # noqa: PLC0415 - so late for the sake of the first reply

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(stdio.serve(settings, opened, over))
