"""The arguments of every command, as tables: one row a command, one group of rows for what several share."""

import argparse
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pplx_gateway import __version__

MOST_WORKERS = 64
NONE = "none"
"""In place of a limit of a key: there is none."""
SOURCES = ("web", "academic", "social", "finance")
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh")
RECENCIES = ("hour", "day", "week", "month", "year")
SHELLS = ("bash", "zsh", "fish")
CLIENTS = ("claude-desktop", "claude-code", "cursor", "vscode", "windsurf", "codex", "gemini")

Add = Callable[[argparse.ArgumentParser], None]


class Command(NamedTuple):
    about: str
    groups: tuple[Add, ...] = ()


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pplx-gateway",
        description="Your own Perplexity for the tools you use, and for your shell.",
        epilog="'pplx-gateway COMMAND --help' tells more. Commands for people ask the gateway at PPLX_GATEWAY_URL, "
        "with PPLX_GATEWAY_KEY, or open one of their own in this process.",
    )
    parser.add_argument("--version", action="version", version=f"pplx-gateway {__version__}")
    parser.add_argument("-C", dest="directory", metavar="FOLDER", help="work in this folder, whose .env is read")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        about = command.about
        added = commands.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
        for add in command.groups:
            add(added)
    return parser


# what several commands share


def _gateway(parser: argparse.ArgumentParser) -> None:
    place = parser.add_argument_group("which gateway").add_mutually_exclusive_group()
    place.add_argument("--url", help="address of a running gateway (PPLX_GATEWAY_URL)")
    place.add_argument("--in-process", action="store_true", help="open one here, although PPLX_GATEWAY_URL is set")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def _question(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("question", nargs="*", help="the question; what is piped in is added to it")


def _asking(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", help="model, as 'models' lists them")
    parser.add_argument("-s", "--sources", action="append", metavar="KIND", type=_sources, help=_either(SOURCES))
    parser.add_argument("-t", "--thinking", action="store_true", help="have it reason, and show how")
    parser.add_argument("--effort", choices=EFFORTS, metavar="LEVEL", help=f"how hard to think: {_either(EFFORTS)}")
    parser.add_argument("--system", metavar="TEXT", help="instructions that stand above the question")
    parser.add_argument("--recency", choices=RECENCIES, metavar="SPAN", help=_pages(RECENCIES))
    parser.add_argument(
        "--domain", action="append", metavar="NAME", help="only pages of it; with -NAME (as --domain=-NAME) none of it"
    )
    parser.add_argument("-f", "--file", action="append", default=[], metavar="PATH", help="send an image or a document")
    parser.add_argument("--no-sources", action="store_true", help="without the list of sources and marks to them")


def _research(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-m", "--model", help="model; else deep-research of the plan, or the level high of the api")
    parser.add_argument("--no-sources", action="store_true", help="without the list of sources and marks to them")
    parser.add_argument("-f", "--file", action="append", default=[], metavar="PATH", help="send an image or a document")
    parser.add_argument("--resume", metavar="ID", help="go on with one that was begun before")
    parser.add_argument("--detach", action="store_true", help="begin, print the id, and leave")


def _port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port_number, help="port to listen on; 0 takes a free one")


def _serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on")
    parser.add_argument("--workers", type=_workers, default=1, help="processes that share the port (1)")


def _clock(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--clock-factor", type=_factor, default=1.0, help="speeds up pauses, for tests (1)")


def _search(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="*", help="what to search for")
    parser.add_argument("-n", "--results", type=_results, help="most pages (10)")
    parser.add_argument("--recency", choices=RECENCIES, metavar="SPAN", help=_pages(RECENCIES))
    parser.add_argument("--domain", action="append", metavar="NAME", help="only pages of it; with -NAME none of it")
    parser.add_argument("--country", metavar="CC", help="of the asker: two letters, such as BE")
    parser.add_argument("--short", action="store_true", help="titles and addresses, without excerpts")


def _models(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", help="only those whose id or name holds this")


def _usage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--days", type=_days, default=30, help="how far to look back (30)")
    parser.add_argument("--by", default="model", help="day, model, upstream, key, caller, or several by commas (model)")


def _act(acts: Any, name: str, about: str) -> argparse.ArgumentParser:
    made: argparse.ArgumentParser = acts.add_parser(name, help=about, description=f"{about[0].upper()}{about[1:]}.")
    return made


def _jobs(parser: argparse.ArgumentParser) -> None:
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    _act(acts, "list", "those of your key, wherever they were begun, and how they stand (the default)")
    for name, about in (
        ("show", "print an answer"),
        ("cancel", "stop one, upstream too"),
        ("forget", "delete one and all that is kept of it"),
    ):
        _act(acts, name, about).add_argument("id", help="as it was told when it began: resp_...")


def _keys(parser: argparse.ArgumentParser) -> None:
    acts = parser.add_subparsers(dest="act", metavar="ACT")
    _act(acts, "list", "all, with their limits and what they may ask (the default)")
    add = _act(acts, "add", "make one; it is shown this once")
    add.add_argument("name", help="whose it is")
    add.add_argument(
        "--use",
        choices=("header", "mcp-path"),
        help="mcp-path: it opens MCP's addresses alone, as a part of them; header: all else (the default)",
    )
    _limits(add)
    changed = _act(acts, "set", "change what one may do; 'none' takes a limit away, what is not named stays")
    changed.add_argument("id", help="its id, or its name")
    changed.add_argument("--name", metavar="NAME", help="whose it is from now on")
    _limits(changed)
    revoke = _act(acts, "revoke", "end one, for good: it opens nothing any more, and what it used stays in 'usage'")
    revoke.add_argument("id", help="its id, or its name; 'keys' lists both")


def _limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--per-minute", type=_count, metavar="N", help="most requests in a minute")
    parser.add_argument("--per-day", type=_count, metavar="N", help="most requests in a day")
    parser.add_argument("--dollars-per-day", metavar="X", help="most US dollars in a day")
    parser.add_argument("--dollars-per-month", metavar="X", help="most US dollars in a month")
    parser.add_argument("--model", action="append", metavar="ID", help="only this model; may hold *; repeatable")
    parser.add_argument("--upstream", action="append", choices=("session", "api", NONE), help="only this upstream")
    parser.add_argument("--origin", action="append", metavar="ORIGIN", help="only from this browser origin")
    parser.add_argument(
        "--unsupported",
        choices=("reject", "drop", NONE),
        help="what becomes of fields that the upstream cannot honour, in place of PPLX_UNSUPPORTED",
    )
    parser.add_argument("--expires", metavar="WHEN", help="ISO 8601, such as 2027-01-31")


def _doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--ask", action="store_true", help="ask one question, too: it takes a search of the plan")
    parser.add_argument("--offline", action="store_true", help="only what needs no network")


def _setup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("client", nargs="*", metavar="CLIENT", help=f"{_either(CLIENTS)} (all that are installed)")
    act = parser.add_mutually_exclusive_group()
    act.add_argument("--write", action="store_true", help="write the entry, and keep a copy of the file as it was")
    act.add_argument("--remove", action="store_true", help="take the entry out again")
    parser.add_argument("--name", default="pplx-gateway", help="name of the entry (pplx-gateway)")
    parser.add_argument("--config", metavar="PATH", help="the client's file, where it is not at its usual place")


def _explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--request", metavar="PATH", help="a whole request as JSON, of chat completions or Responses; - for stdin"
    )


def _config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("pattern", nargs="?", help="only settings whose name holds this")
    parser.add_argument("--changed", action="store_true", help="only those that are set")


def _completion(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS)


COMMANDS = {
    "ask": Command("ask one question", (_question, _asking, _json, _gateway)),
    "research": Command("have something researched, for minutes", (_question, _research, _json, _gateway)),
    "chat": Command("talk, with everything said before in mind", (_asking, _gateway)),
    "search": Command("find web pages, without an answer; takes an API key", (_search, _json, _gateway)),
    "models": Command("list what can be asked", (_models, _json, _gateway)),
    "usage": Command("show what is left of the plan, and what was used and paid", (_usage, _json, _gateway)),
    "jobs": Command("list, show, cancel and forget what runs in the background", (_json, _gateway, _jobs)),
    "keys": Command("give keys of the gateway to others, and take them back", (_json, _gateway, _keys)),
    "login": Command("give the session a new cookie, pasted or piped in", (_gateway,)),
    "doctor": Command("find out what is wrong, and the cure", (_doctor, _json, _gateway)),
    "setup": Command("show, write or remove the MCP entry of a client on this machine", (_setup,)),
    "explain": Command(
        "tell what a question would send, where, at what price, and what it would drop",
        (_question, _asking, _explain, _json, _gateway),
    ),
    "config": Command("show every setting, its value, and where that comes from", (_config, _json)),
    "completion": Command("print the completion of a shell", (_completion,)),
    "serve": Command("run the gateway on the settings of the environment and .env", (_port, _serve)),
    "mcp": Command("serve MCP on stdin and stdout, for a client on this machine"),
    "demo": Command("run the gateway on the built-in emulator: no account needed", (_port, _clock)),
    "emulator": Command("run the emulator of both upstreams alone", (_port, _clock)),
}


# what arguments take


def _either(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


def _pages(spans: Sequence[str]) -> str:
    return f"only pages of the last {_either(spans)}"


def _sources(text: str) -> list[str]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if word not in SOURCES:
            raise argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(SOURCES)}")
    return words


def _port_number(text: str) -> int:
    return _between(text, 0, 65535)


def _workers(text: str) -> int:
    return _between(text, 1, MOST_WORKERS)


def _results(text: str) -> int:
    return _between(text, 1, 20)


def _count(text: str) -> int | str:
    if text != NONE and not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise argparse.ArgumentTypeError(
            f"'{text}' is no whole number from 1 on; 'none' sets no limit, and 'keys revoke' ends a key"
        )
    return text if text == NONE else int(text)


def _days(text: str) -> int:
    return _between(text, 1, 3650)


def _between(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal()) or not least <= int(text) <= most:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from {least} to {most}")
    return int(text)


def _factor(text: str) -> float:
    factor = float(text)
    if not 0 < factor < math.inf:
        raise argparse.ArgumentTypeError(f"'{text}' is no number above 0")
    return factor


def commands_markdown() -> str:
    """The commands and their options for the docs."""
    blocks = []
    for name, parser in subparsers(build_parser()).items():
        text = "\n".join(_rows(parser))
        about = COMMANDS[name].about
        blocks.append(
            f"### `pplx-gateway {name}`\n\n{about[0].upper()}{about[1:]}.\n" + (f"\n{text}\n" if text else "")
        )
    return "\n".join(blocks)


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Those one level below."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found: dict[str, argparse.ArgumentParser] = dict(action.choices)
            return found
    return {}


def _rows(parser: argparse.ArgumentParser) -> list[str]:
    shown = [(_spelt(action), action.help or "") for action in parser._actions if action.dest not in ("help", "act")]
    for name, sub in subparsers(parser).items():
        shown.append((" ".join([name, *_places(sub)]), sub.description or ""))
        shown += [(f"{name} {_spelt(action)}", action.help or "") for action in sub._actions if _is_option(action)]
    return ["| argument | |", "| --- | --- |", *(f"| `{name}` | {about} |" for name, about in shown)] if shown else []


def _places(parser: argparse.ArgumentParser) -> list[str]:
    return [action.dest.upper() for action in parser._actions if not action.option_strings]


def _is_option(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.dest != "help"


def _spelt(action: argparse.Action) -> str:
    if not action.option_strings:
        return str(action.metavar or action.dest)
    value = "" if action.nargs == 0 else f" {action.metavar or action.dest.upper()}"
    return ", ".join(action.option_strings) + value
