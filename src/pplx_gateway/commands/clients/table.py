"""Which clients there are, where each keeps its file, and what an entry looks like there."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Protocol

from pplx_gateway.commands.clients.json_file import JsonFile
from pplx_gateway.commands.clients.toml_file import TomlFile

Entry = dict[str, object]


class Format(Protocol):
    def entry(self, text: str, name: str) -> object | None: ...

    def with_entry(self, text: str, name: str, entry: Entry) -> str: ...

    def without_entry(self, text: str, name: str) -> str: ...

    def shown(self, name: str, entry: Entry) -> str: ...


class Launch(NamedTuple):
    """How a client starts the server."""

    command: str
    args: list[str]
    env: Mapping[str, str]


class Client(NamedTuple):
    """`path`: its file; `typed`: an entry says that it speaks over stdio; `then`: what to do after a change."""

    title: str
    path: Callable[[], Path]
    format: Format
    typed: bool
    then: str

    def entry(self, launch: Launch) -> Entry:
        entry: Entry = {"type": "stdio"} if self.typed else {}
        entry |= {"command": launch.command, "args": launch.args}
        return entry | ({"env": dict(launch.env)} if launch.env else {})


def _home(*parts: str) -> Path:
    return Path.home().joinpath(*parts)


def _settings_of(*parts: str) -> Path:
    """In the folder where this system keeps the settings of programs with windows."""
    if sys.platform == "darwin":
        return _home("Library", "Application Support", *parts)
    if sys.platform == "win32":
        return Path(os.environ.get("APPDATA") or _home("AppData", "Roaming")).joinpath(*parts)
    return Path(os.environ.get("XDG_CONFIG_HOME") or _home(".config")).joinpath(*parts)


def _codex() -> Path:
    return Path(os.environ.get("CODEX_HOME") or _home(".codex")) / "config.toml"


_SERVERS = JsonFile("mcpServers")
CLIENT_TABLE = {
    "claude-desktop": Client(
        "Claude Desktop",
        lambda: _settings_of("Claude", "claude_desktop_config.json"),
        _SERVERS,
        False,
        "Quit it and start it again.",
    ),
    "claude-code": Client(
        "Claude Code", lambda: _home(".claude.json"), _SERVERS, True, "Start a new session; /mcp shows it."
    ),
    "cursor": Client("Cursor", lambda: _home(".cursor", "mcp.json"), _SERVERS, False, "Switch it on in Settings, MCP."),
    "vscode": Client(
        "VS Code",
        lambda: _settings_of("Code", "User", "mcp.json"),
        JsonFile("servers"),
        True,
        "Start it from 'MCP: List Servers'.",
    ),
    "windsurf": Client(
        "Windsurf",
        lambda: _home(".codeium", "windsurf", "mcp_config.json"),
        _SERVERS,
        False,
        "Refresh the servers in Cascade.",
    ),
    "codex": Client("Codex", _codex, TomlFile("mcp_servers"), False, "Start a new session."),
    "gemini": Client(
        "Gemini CLI", lambda: _home(".gemini", "settings.json"), _SERVERS, False, "Start a new session; /mcp shows it."
    ),
}
