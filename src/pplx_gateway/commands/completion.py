"""`pplx-gateway completion`: what a shell needs to complete commands and options; made from the parser itself."""

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from pplx_gateway.commands.parser import COMMANDS, build_parser, subparsers

_INSTALL = {
    "bash": "# eval \"$(pplx-gateway completion bash)\" in ~/.bashrc",
    "zsh": "# eval \"$(pplx-gateway completion zsh)\" in ~/.zshrc, after compinit",
    "fish": "# pplx-gateway completion fish | source, in ~/.config/fish/config.fish",
}  # fmt: skip


class Words(NamedTuple):
    """What may follow a command: `options` with what each takes (nothing = anything), and words of its own."""

    about: str
    options: dict[str, tuple[str, ...]]
    words: tuple[str, ...]


def run(options: argparse.Namespace) -> None:
    print("\n".join([_INSTALL[options.shell], *_SHELLS[options.shell](_table())]))


def _table() -> dict[str, Words]:
    return {name: _words(name, parser) for name, parser in subparsers(build_parser()).items()}


def _words(name: str, parser: argparse.ArgumentParser) -> Words:
    options: dict[str, tuple[str, ...]] = {}
    words: tuple[str, ...] = tuple(subparsers(parser))
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            continue
        choices = tuple(map(str, action.choices or ()))
        options |= dict.fromkeys(action.option_strings, choices)
        words += choices if not action.option_strings else ()
    return Words(COMMANDS[name].about, options, words)


def _bash(table: dict[str, Words]) -> Iterator[str]:
    yield "_pplx_gateway() {"
    yield "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command= word"
    yield '  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do'
    yield f"    case $word in {'|'.join(table)}) command=$word; break;; esac"
    yield "  done"
    yield "  COMPREPLY=()"
    yield '  case "$command:$prev" in'
    for name, words in table.items():
        for option, choices in words.options.items():
            if choices:
                yield f"    {name}:{option}) {_compgen(choices)}; return;;"
    yield "  esac"
    yield '  case "$command" in'
    yield f"    '') {_compgen((*table, '--help', '--version', '-C'))};;"
    for name, words in table.items():
        yield f"    {name}) {_compgen((*words.words, *words.options))};;"
    yield "  esac"
    yield "}"
    yield "complete -o default -F _pplx_gateway pplx-gateway"


def _compgen(words: tuple[str, ...]) -> str:
    return f'COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur"))'


def _zsh(table: dict[str, Words]) -> Iterator[str]:
    yield "_pplx_gateway() {"
    yield "  local -a commands"
    yield "  commands=("
    yield from (f"    {_quoted(f'{name}:{words.about}')}" for name, words in table.items())
    yield "  )"
    yield "  local word command="
    yield '  for word in "${words[@]:1:$((CURRENT-2))}"; do'
    yield f"    case $word in {'|'.join(table)}) command=$word; break;; esac"
    yield "  done"
    yield '  case "$command:$words[CURRENT-1]" in'
    for name, words in table.items():
        for option, choices in words.options.items():
            if choices:
                yield f"    {name}:{option}) compadd -- {' '.join(choices)}; return;;"
    yield "  esac"
    yield '  case "$command" in'
    yield "    '') _describe command commands;;"
    for name, words in table.items():
        yield f"    {name}) compadd -- {' '.join((*words.words, *words.options))}; _files;;"
    yield "  esac"
    yield "}"
    yield "compdef _pplx_gateway pplx-gateway"


def _fish(table: dict[str, Words]) -> Iterator[str]:
    base = "complete -c pplx-gateway"
    for name, words in table.items():
        yield f"{base} -n __fish_use_subcommand -f -a {name} -d {_quoted(words.about)}"
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        for option, choices in words.options.items():
            flag = f"-l {option[2:]}" if option.startswith("--") else f"-s {option[1:]}"
            yield f"{base} {seen} {flag}" + (f" -x -a {_quoted(' '.join(choices))}" if choices else "")
        if words.words:
            yield f"{base} {seen} -a {_quoted(' '.join(words.words))}"


def _quoted(text: str) -> str:
    inner = text.replace("'", "'\\''")
    return f"'{inner}'"


_SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
