"""`pplx-gateway chat`: a conversation. Each turn brings all that was said before."""

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, suppress

from pplx_gateway.commands.answering import Reading, conclude, text_of
from pplx_gateway.commands.door import Door, Json, chosen, follow, open_door
from pplx_gateway.commands.drawing import drawing
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.question_input import request_of, turn_of
from pplx_gateway.commands.running import until_signalled
from pplx_gateway.commands.screen import safe, tell, warm

HELP = """/model ID   ask another model      /new     forget what was said
/file PATH  send it with the next turn   /undo    forget the last turn
/save PATH  write it all as Markdown     /quit    or Ctrl-D, leave
Ctrl-C stops an answer, and the conversation goes on without that turn."""


def run(options: argparse.Namespace) -> Exit:
    """Raises CommandFailed, also for a turn that failed where nobody types."""
    typed = sys.stdin.isatty()
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()
        try:
            choice = chosen(options.url, options.in_process)
            door: Door = runner.run(opened.enter_async_context(open_door(choice)))
            runner.run(asyncio.to_thread(warm))
            return Conversation(runner, door, options).talk(_typed() if typed else _piped(), typed=typed)
        finally:
            runner.run(opened.aclose())


class Conversation:
    def __init__(self, runner: asyncio.Runner, door: Door, options: argparse.Namespace) -> None:
        self._runner = runner
        self._door = door
        self._options = options
        self._turns: list[Json] = []
        self._files: list[str] = list(options.file)

    def talk(self, lines: Iterator[str], *, typed: bool) -> Exit:
        """Raises CommandFailed where nobody types, KeyboardInterrupt then, too."""
        if typed:
            tell(f"{self._door.place}. /help tells what there is, Ctrl-D leaves.")
        code = Exit.OK
        for line in lines:
            if line.startswith("/") and typed:
                if not self._told(line):
                    break
                continue
            try:
                code = self._runner.run(until_signalled(self._turn(line))) or Exit.OK
            except CommandFailed as failure:
                if not typed:
                    raise
                tell(failure.message)
                if failure.cure:
                    tell(f"  {failure.cure}")
            except KeyboardInterrupt:
                if not typed:
                    raise
                tell("Stopped.")
            if code is Exit.TERMINATED:
                return code
        return Exit.OK if typed else code

    async def _turn(self, text: str) -> Exit:
        asked = turn_of(text, self._files)
        drawn = drawing(thoughts=self._options.thinking)
        try:
            drawn.progress("Asking")
            request = request_of(self._options, [*self._turns, asked])
            async with follow(self._door, "POST", "/v1/responses", request) as events:
                response = await Reading(self._door, drawn).read(events)
        finally:
            drawn.close()
        self._turns += [asked, {"role": "assistant", "content": text_of(response)}]
        self._files = []
        return conclude(response, self._options)

    # commands

    def _told(self, line: str) -> bool:
        """False: it is over."""
        name, _, rest = line.partition(" ")
        if name in ("/quit", "/exit"):
            return False
        act = _ACTS.get(name)
        if act is None:
            tell(f"There is no {safe(name)}. {HELP}")
        else:
            act(self, rest.strip())
        return True

    def help(self, _: str) -> None:
        tell(HELP)

    def model(self, name: str) -> None:
        if name:
            self._options.model = name
        tell(f"The model is {self._options.model or 'the default one'}.")

    def new(self, _: str) -> None:
        self._turns, self._files = [], []
        tell("A new conversation.")

    def undo(self, _: str) -> None:
        del self._turns[-2:]
        tell(f"{len(self._turns) // 2} turns are left.")

    def file(self, path: str) -> None:
        try:
            turn_of("", [path])
        except CommandFailed as failure:
            tell(failure.message)
        else:
            self._files.append(path)
            tell(f"{path} goes with the next turn.")

    def save(self, path: str) -> None:
        if not path:
            tell("Where to? /save PATH")
            return
        said = "\n\n".join(f"## {turn['role']}\n\n{_said(turn)}" for turn in self._turns)
        try:
            with open(path, "x", encoding="utf-8") as file:
                file.write(said + "\n")
        except OSError as error:
            tell(f"{path}: {error.strerror}.")
        else:
            tell(f"Written to {path}.")


_ACTS: dict[str, Callable[[Conversation, str], None]] = {
    "/help": Conversation.help,
    "/model": Conversation.model,
    "/new": Conversation.new,
    "/undo": Conversation.undo,
    "/file": Conversation.file,
    "/save": Conversation.save,
}


def _said(turn: Json) -> str:
    content = turn["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _typed() -> Iterator[str]:
    with suppress(ImportError):
        import readline  # noqa: F401, PLC0415 - gives input() its line editing and history
    while True:
        try:
            line = input("> ").strip()
        except EOFError:
            print()
            return
        except KeyboardInterrupt:
            print()
            continue
        if line:
            yield line


def _piped() -> Iterator[str]:
    """Each line is a turn."""
    for line in sys.stdin:
        if line.strip():
            yield line.strip()
