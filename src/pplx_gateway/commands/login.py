"""`pplx-gateway login`: a new session cookie, which the site must call good before it takes the old one's place."""

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from pplx_gateway.commands import running
from pplx_gateway.commands.door import chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import tell

MOST_BYTES = 1 << 20
_ENDS = b"\r\n\x04"  # Enter and Ctrl-D
_BACK = b"\x08\x7f"
_HOW = """Sign in at perplexity.ai in a browser. Open its developer tools, Application (or Storage), Cookies, and copy
the value of __Secure-next-auth.session-token. A whole Cookie header, or an export of all cookies, will do as well.
"""


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed."""
    pasted = _pasted()
    if not pasted.strip():
        raise CommandFailed("No cookie was given.", Exit.USAGE)
    return running.run(_login(options, pasted))


async def _login(options: argparse.Namespace, pasted: str) -> Exit:
    async with open_door(chosen(options.url, options.in_process)) as door:
        session = (await fetch(door, "POST", "/admin/refresh-cookie", {"session_token": pasted})).json["session"]
    print(f"Signed in; plan: {session['account_type'] or 'not known'}.")
    if not session["cookie_kept"]:
        tell("The cookie could not be kept: it is lost when the gateway stops. See: pplx-gateway doctor")
    return Exit.OK


def _pasted() -> str:
    if not sys.stdin.isatty():
        return sys.stdin.buffer.read(MOST_BYTES).decode("utf-8", "replace")
    tell(_HOW)
    with _silent_terminal():
        sys.stderr.write("Paste it here, it does not show; then press Enter: ")
        sys.stderr.flush()
        try:
            return _hidden()
        finally:
            sys.stderr.write("\n")


def _hidden() -> str:
    """A line of a silent terminal. Not by getpass: a terminal's own line holds 4095 bytes, and cookies are longer."""
    typed = bytearray()
    while (part := os.read(0, 4096)) and len(typed) < MOST_BYTES:
        for byte in part:
            if byte in _ENDS:
                return typed.decode("utf-8", "replace")
            if byte in _BACK:
                del typed[-1:]
            else:
                typed.append(byte)
    return typed.decode("utf-8", "replace")


@contextmanager
def _silent_terminal() -> Iterator[None]:
    """Without echo, byte by byte; Ctrl-C still interrupts."""
    try:
        import termios  # noqa: PLC0415 - not on Windows
    except ImportError:
        raise CommandFailed("Pipe the cookie in on this system.", Exit.USAGE) from None
    before = termios.tcgetattr(0)
    silent = termios.tcgetattr(0)
    silent[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(0, termios.TCSAFLUSH, silent)
    try:
        yield
    finally:
        termios.tcsetattr(0, termios.TCSAFLUSH, before)
