"""The command line: `pplx-gateway serve | demo | emulator`.

argparse, because a server's start waits for the command line's import: it takes 10 ms where richer libraries take 190.
"""

import argparse
import math
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from pplx_gateway import __version__, collector
from pplx_gateway.errors import GatewayError

MOST_WORKERS = 64
_COMMANDS = {
    "serve": "run the gateway on the settings of the environment and .env",
    "demo": "run the gateway on the built-in emulator: no account needed",
    "emulator": "run the emulator of both upstreams alone",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command. Exits with 2 and one line on stderr where a setting or an argument cannot be used."""
    _hold_standard_descriptors()
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        with collector.paused():
            command = import_module(f"pplx_gateway.commands.{options.command}")
        command.run(options)
    except (ValueError, OSError, GatewayError) as error:
        print(f"pplx-gateway: {error}", file=sys.stderr)
        sys.exit(2)


def _hold_standard_descriptors() -> None:
    """Opens those of 0 to 2 that are closed: the event loop would get such a number, and libuv aborts the whole process
    when it closes one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="pplx-gateway", description="Your own Perplexity for the tools you use.")
    parser.add_argument("--version", action="version", version=f"pplx-gateway {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, about in _COMMANDS.items():
        command = commands.add_parser(name, help=about, description=about)
        command.add_argument("--port", type=_port, help="port to listen on; 0 takes a free one")
        if name == "serve":
            command.add_argument("--host", help="address to listen on")
            command.add_argument("--workers", type=_workers, default=1, help="processes that share the port (1)")
        else:
            command.add_argument("--clock-factor", type=_factor, default=1.0, help="speeds up pauses, for tests (1)")
    return parser


def _port(text: str) -> int:
    return _between(text, 0, 65535)


def _workers(text: str) -> int:
    return _between(text, 1, MOST_WORKERS)


def _between(text: str, least: int, most: int) -> int:
    if not text.isdecimal() or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} to {most}")
    return int(text)


def _factor(text: str) -> float:
    factor = float(text)
    if not 0 < factor < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return factor
