"""`setup` on clients' files: valid afterwards, everything else untouched to the byte, idempotent, undoable."""

import json
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.commands.clients.json_file import JsonFile
from pplx_gateway.commands.clients.json_tree import JsonError, parse
from pplx_gateway.commands.clients.table import CLIENT_TABLE
from pplx_gateway.commands.clients.toml_file import TomlFile
from tests.commands.shell import piped

NAME = "pplx-gateway"
ENTRY: dict[str, object] = {"command": "/bin/p", "args": ["mcp"], "env": {"PPLX_DATA_DIR": "/d"}}

CLAUDE_DESKTOP = """{
    "globalShortcut": "Ctrl+Space",
    "mcpServers": {
        "files": { "command": "npx", "args": ["-y", "server-files", "/home/me"] }
    },
    "weird":[1,2,   3]
}
"""
CLAUDE_CODE = (
    '{"numStartups":12,"projects":{"/a":{"mcpServers":{"x":{"command":"y"}},"history":["\\u00e9 {"]}},"tips":{}}'
)
VSCODE = """// Servers of mine
{
\t"inputs": [/* none */],
\t"servers": {
\t\t"github": {
\t\t\t"url": "https://api.example/mcp", // theirs
\t\t}, // the last one
\t},
}
"""
CURSOR = '{\r\n  "mcpServers": {}\r\n}'
WINDSURF = '\ufeff{\n  "mcpServers": {\n    "a": {"command": "b"} // why\n  }\n}\n'
GEMINI = '{\n  "theme": "Dark",\n  "selectedAuthType": "x"\n}\n'
CODEX = """model = "o9"   # mine

[mcp_servers.docs]
command = "docs"
args = ["--all"]

[mcp_servers.docs.env]
KEY = "v"

[profiles.x]
text = '''
[mcp_servers.pplx]
'''"""
SAMPLES = {
    "claude-desktop": CLAUDE_DESKTOP,
    "claude-code": CLAUDE_CODE,
    "cursor": CURSOR,
    "vscode": VSCODE,
    "windsurf": WINDSURF,
    "codex": CODEX,
    "gemini": GEMINI,
}


def read(client: str, text: str) -> Any:
    """As the client reads it."""
    text = text.removeprefix("\ufeff")
    return tomllib.loads(text) if client == "codex" else parse(text).value


def pieces_of(text: str) -> list[str]:
    """The text without the commas, brackets and blanks that may be put between what is there and what is new."""
    return re.split(r"[\s,{}]+", text)


def table_of(client: str) -> str:
    return {"vscode": "servers", "codex": "mcp_servers"}.get(client, "mcpServers")


@pytest.mark.parametrize("client", SAMPLES)
def test_an_entry_comes_and_goes_and_nothing_else_changes(client: str) -> None:
    before, form = SAMPLES[client], CLIENT_TABLE[client].format
    after = form.with_entry(before, NAME, ENTRY)
    wanted = read(client, before)
    wanted.setdefault(table_of(client), {})[NAME] = ENTRY
    assert read(client, after) == wanted
    assert form.entry(after, NAME) == ENTRY
    assert form.with_entry(after, NAME, ENTRY) == after
    place = 0
    for piece in pieces_of(before):
        place = after.index(piece, place) + len(piece)
    other = form.with_entry(after, NAME, {"command": "/else"})
    assert form.entry(other, NAME) == {"command": "/else"}
    assert form.with_entry(other, NAME, ENTRY) == after
    gone = form.without_entry(after, NAME)
    assert read(client, gone).get(table_of(client), {}) == read(client, before).get(table_of(client), {})
    if table_of(client) in read(client, before) and client != "cursor":
        assert gone.removesuffix("\n") == before.removesuffix("\n")


def test_an_entry_between_others_leaves_both_as_they_are() -> None:
    text = (
        '{\n  "mcpServers": {\n    "a": {"x": 1}, // one\n    "pplx-gateway": {"command": "c"},\n    "b": 2\n  }\n}\n'
    )
    assert JsonFile("mcpServers").without_entry(text, NAME) == text.replace(
        '\n    "pplx-gateway": {"command": "c"},', ""
    )


@pytest.mark.parametrize("client", SAMPLES)
async def test_the_command_writes_keeps_a_copy_and_undoes_to_the_byte(client: str, tmp_path: Path) -> None:
    file = tmp_path / "their" / "file"
    file.parent.mkdir()
    file.write_bytes(SAMPLES[client].encode())
    file.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(file)
    (tmp_path / ".env").write_text("PPLX_LANGUAGE=de-DE\n")
    where = (client, "--config", str(link))
    shown = await piped("setup", *where, folder=tmp_path)
    assert (shown.code, "not set up" in shown.out) == (0, True)
    assert file.read_bytes() == SAMPLES[client].encode()
    written = await piped("setup", *where, "--write", folder=tmp_path)
    assert written.code == 0, written
    copy = file.with_name("file.before-pplx-gateway")
    assert copy.read_bytes() == SAMPLES[client].encode()
    entry: Any = CLIENT_TABLE[client].format.entry(file.read_bytes().decode(), NAME)
    assert entry["args"][-3:] == ["-C", str(tmp_path), "mcp"]
    assert entry["env"] == {"PPLX_DATA_DIR": str(tmp_path / "data")}
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o640
    assert link.is_symlink()
    once = file.read_bytes()
    assert "there already" in (await piped("setup", *where, "--write", folder=tmp_path)).out
    assert file.read_bytes() == once
    assert (await piped("setup", *where, "--remove", folder=tmp_path)).code == 0
    assert file.read_bytes() == SAMPLES[client].encode()
    assert not copy.exists()
    assert "nothing of ours" in (await piped("setup", *where, "--remove", folder=tmp_path)).out


async def test_without_a_name_every_client_that_is_installed_is_served(tmp_path: Path) -> None:
    none = await piped("setup", folder=tmp_path)
    assert (none.code, "vscode" in none.err) == (7, True)
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".codex").mkdir()
    (tmp_path / ".claude.json").write_text("[]")
    done = await piped("setup", "--write", folder=tmp_path, PPLX_COOKIE="only-in-this-shell-0123")
    assert done.code == 1
    assert (tmp_path / ".claude.json").read_text() == "[]"
    assert ".claude.json" in done.err
    assert NAME in json.loads((tmp_path / ".cursor" / "mcp.json").read_text())["mcpServers"]
    assert NAME in tomllib.loads((tmp_path / ".codex" / "config.toml").read_text())["mcp_servers"]
    assert stat.S_IMODE((tmp_path / ".cursor" / "mcp.json").stat().st_mode) == 0o600
    assert "PPLX_COOKIE is only set in this shell" in done.err
    assert "only-in-this-shell" not in done.out + (tmp_path / ".cursor" / "mcp.json").read_text()
    await piped("setup", "cursor", "codex", "--remove", folder=tmp_path)
    assert not (tmp_path / ".cursor" / "mcp.json").exists()
    assert not (tmp_path / ".codex" / "config.toml").exists()


async def test_what_was_changed_since_is_kept_when_the_entry_goes(tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(GEMINI)
    where = ("gemini", "--config", str(file))
    await piped("setup", *where, "--write", folder=tmp_path)
    file.write_text(file.read_text().replace("Dark", "Light"))
    assert (await piped("setup", *where, "--remove", folder=tmp_path)).code == 0
    assert json.loads(file.read_text()) == {"theme": "Light", "selectedAuthType": "x", "mcpServers": {}}


@pytest.mark.parametrize("text", ['{"a": }', "{", '{"a" 1}', "[1", '{"a": 1} x', '{"a": nul}', '{"a": 01}', "{a: 1}"])
def test_a_file_that_is_broken_is_told_with_its_place(text: str) -> None:
    with pytest.raises(JsonError, match="in line 1, column"):
        parse(text)


@pytest.mark.parametrize(
    "text", ['mcp_servers = { "pplx-gateway" = { command = "x" } }', 'mcp_servers.pplx-gateway.command = "x"', "a = "]
)
def test_toml_that_cannot_be_changed_line_by_line_is_left_alone(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        TomlFile("mcp_servers").with_entry(text, NAME, {"command": "other"})


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)


@given(
    rest=st.dictionaries(st.text(max_size=5), _VALUES, max_size=3),
    servers=st.dictionaries(st.text(min_size=1, max_size=5), _VALUES, max_size=3),
    indent=st.sampled_from([None, 1, 2, "\t"]),
    newline=st.sampled_from(["\n", "\r\n"]),
)
def test_any_json_gets_the_entry_alone_and_loses_it_again(
    rest: dict[str, Any], servers: dict[str, Any], indent: int | str | None, newline: str
) -> None:
    document = {**rest, "mcpServers": servers}
    text = json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)
    form = JsonFile("mcpServers")
    after = form.with_entry(text, NAME, ENTRY)
    assert json.loads(after) == {**document, "mcpServers": {**servers, NAME: ENTRY}}
    assert json.loads(form.without_entry(after, NAME)) == document
    assert form.without_entry(after, NAME) == text or not servers
