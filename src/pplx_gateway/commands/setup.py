"""`pplx-gateway setup`: the MCP entry of each client on this machine, shown, written, or taken out again."""

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from pplx_gateway import environment
from pplx_gateway.commands.clients.changing import ClientFile
from pplx_gateway.commands.clients.table import CLIENT_TABLE, Client, Launch
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.screen import line, tell


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed. Where one client fails, the others are still served."""
    _check(options)
    launch = _launch()
    failures = [failure for name in _wanted(options) if (failure := _served(name, options, launch))]
    for secret in _only_here():
        tell(f"{secret} is only set in this shell, where no client sees it: put it into .env in this folder.")
    for failure in failures[:-1]:
        tell(failure.message)
    if failures:
        raise failures[-1]
    return Exit.OK


def _served(name: str, options: argparse.Namespace, launch: Launch) -> CommandFailed | None:
    client = CLIENT_TABLE[name]
    path = Path(options.config).expanduser() if options.config else client.path()
    file = ClientFile(path, client.format, options.name)
    try:
        if options.write:
            _write(client, file, launch)
        elif options.remove:
            _remove(client, file)
        else:
            _show(client, file, launch, options.name)
    except CommandFailed as failure:
        return failure
    return None


def _write(client: Client, file: ClientFile, launch: Launch) -> None:
    if not file.put(client.entry(launch)):
        line(f"{client.title}: it is there already, in {file.path}.")
        return
    kept = f" As it was before: {file.copy.name}." if file.copy.exists() else ""
    line(f"{client.title}: written to {file.path}.{kept} {client.then}")


def _remove(client: Client, file: ClientFile) -> None:
    gone = file.take_out()
    line(f"{client.title}: {'taken out of' if gone else 'nothing of ours is in'} {file.path}.")


def _show(client: Client, file: ClientFile, launch: Launch, name: str) -> None:
    entry = client.entry(launch)
    line(f"{client.title}: {_STATES[file.state(entry)]}, {file.path}", "bold")
    line(f"\n{client.format.shown(name, entry)}\n")


_STATES = {
    "no file": "it has no such file yet",
    "not there": "not set up",
    "there": "set up",
    "another one": "set up, but with another entry than this",
}


def _check(options: argparse.Namespace) -> None:
    """Raises CommandFailed."""
    for name in options.client:
        if name not in CLIENT_TABLE:
            raise CommandFailed(f"'{name}' is none of {', '.join(CLIENT_TABLE)}.", Exit.USAGE)
    if options.config and len(options.client) != 1:
        raise CommandFailed("--config needs the name of one client.", Exit.USAGE)


def _wanted(options: argparse.Namespace) -> list[str]:
    """Those that are named, else those that are installed: their folder, or the file itself, is there. Raises
    CommandFailed where there are none."""
    if options.client:
        return list(dict.fromkeys(options.client))
    found = [name for name, client in CLIENT_TABLE.items() if _installed(client.path())]
    if not found:
        raise CommandFailed(
            "None of the clients is installed here.", Exit.NOT_FOUND, cure=f"Name one: {', '.join(CLIENT_TABLE)}."
        )
    return found


def _installed(path: Path) -> bool:
    return path.exists() or (path.parent != Path.home() and path.parent.is_dir())


def _launch() -> Launch:
    """This program, in this folder if settings lie here: clients start servers wherever they please."""
    folder = Path.cwd()
    args = [*(["-C", str(folder)] if (folder / ".env").is_file() else []), "mcp"]
    data = os.environ.get("PPLX_DATA_DIR", "").strip()
    env = {"PPLX_DATA_DIR": str(Path(data).absolute())} if data else {}
    command, *first = _program()
    return Launch(command, [*first, *args], env)


def _program() -> list[str]:
    started = Path(sys.argv[0])
    if started.name.startswith("pplx-gateway") and started.is_file():
        return [str(started.absolute())]
    found = shutil.which("pplx-gateway")
    return [found] if found else [sys.executable, "-c", "from pplx_gateway.commands import main; main()"]


def _only_here() -> Iterator[str]:
    dotenv = environment.variables({})
    for row in environment.settings_table():
        if row.secret and row.env.name not in dotenv and os.environ.get(row.env.name, "").strip():
            yield row.env.name
