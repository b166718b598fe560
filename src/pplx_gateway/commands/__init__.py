"""The command line: `pplx-gateway serve`, and all that a person does with a gateway from a shell.

argparse, because everything waits for the command line's import, a server's start too: it takes 20 ms, where cyclopts
takes 200 and typer 150. For the same reason each command is a module that only its own use imports, and rich is only
imported to draw on a terminal.
"""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from typing import cast

from pplx_gateway import collector
from pplx_gateway.commands.exits import CommandFailed, Exit, failed
from pplx_gateway.commands.parser import build_parser
from pplx_gateway.errors import GatewayError


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs a command and exits with its code (exits.py). What fails is one line on stderr, and the way out another."""
    _hold_standard_descriptors()
    sys.exit(int(_run(arguments)))


def _run(arguments: Sequence[str] | None) -> Exit:
    name = "pplx-gateway"
    try:
        options = build_parser().parse_args(arguments)
        name = f"pplx-gateway {options.command}"
        if options.directory is not None:
            os.chdir(options.directory)
        with collector.paused():
            command = import_module(f"pplx_gateway.commands.{options.command}")
        code = cast("Exit | None", command.run(options))
        sys.stdout.flush()
    except CommandFailed as failure:
        return _told(name, failure)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except BrokenPipeError:
        _let_go_of_stdout()
        return Exit.PIPE
    except (ValueError, OSError) as error:
        return _told("pplx-gateway", CommandFailed(str(error), Exit.USAGE))
    except GatewayError as error:
        return _told("pplx-gateway", failed(error))
    return code or Exit.OK


def _told(name: str, failure: CommandFailed) -> Exit:
    lines = [f"{name}: {failure.message}", *([f"  {failure.cure}"] if failure.cure else [])]
    with suppress(OSError):
        sys.stdout.flush()
        print("\n".join(lines), file=sys.stderr)
    return failure.code


def _let_go_of_stdout() -> None:
    """Else Python complains at its end about what it could not write."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def _hold_standard_descriptors() -> None:
    """Opens those of 0 to 2 that are closed: the event loop would get such a number, and libuv aborts the whole process
    when it closes one of them."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
