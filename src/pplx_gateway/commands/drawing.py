"""An answer as it comes, in one of two ways: plain text into a pipe, Markdown onto a terminal.

On a terminal a paragraph (a list, a table, a block of code) is drawn for good once it is whole. The one that still
grows is drawn again and again below it, at most to the height of the window.
"""

import asyncio
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from pplx_gateway.commands.screen import console, errors_on_terminal, on_terminal, safe

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.live import Live
    from rich.status import Status

REDRAW_SECONDS = 0.06


class Drawing(Protocol):
    def progress(self, text: str) -> None:
        """What happens before there is text; it goes when that comes."""
        ...

    def thought(self, text: str) -> None: ...

    def text(self, text: str) -> None: ...

    def close(self) -> None:
        """Finishes what is drawn, whole or not. May be called twice."""
        ...


def drawing(*, thoughts: bool = False, notes: bool = False, mute: bool = False) -> Drawing:
    """`thoughts`: show them. `notes`: progress as lines, where there is no terminal to show it and wipe it off. `mute`:
    no text, since the whole answer is printed in another form."""
    progress = Progress(notes=notes)
    if mute:
        return MuteDrawing(progress)
    return MarkdownDrawing(progress, thoughts=thoughts) if on_terminal() else PlainDrawing(progress)


class Progress:
    """On stderr: a line that moves, or lines."""

    def __init__(self, *, notes: bool) -> None:
        self._notes = notes
        self._status: Status | None = None
        self._last = ""

    def tell(self, text: str) -> None:
        text = " ".join(safe(text).split())
        if not text or text == self._last:
            return
        self._last = text
        if errors_on_terminal():
            self._draw(text)
        elif self._notes:
            print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._status is not None:
            self._status.stop()
            self._status = None

    def _draw(self, text: str) -> None:
        from rich.text import Text  # noqa: PLC0415 - only on a terminal

        where = console(stderr=True)
        shown = Text(text, style="dim", overflow="ellipsis", no_wrap=True)
        shown.truncate(max(8, where.width - 4), overflow="ellipsis")
        if self._status is None:
            self._status = where.status(shown)
            self._status.start()
        else:
            self._status.update(shown)


class MuteDrawing:
    """Progress alone."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress

    def progress(self, text: str) -> None:
        self._progress.tell(text)

    def thought(self, text: str) -> None:
        pass

    def text(self, text: str) -> None:
        pass

    def close(self) -> None:
        self._progress.close()


class PlainDrawing:
    """The answer and nothing else on stdout; thoughts are left out."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._last = "\n"

    def progress(self, text: str) -> None:
        self._progress.tell(text)

    def thought(self, text: str) -> None:
        pass

    def text(self, text: str) -> None:
        self._progress.close()
        sys.stdout.write(text)
        sys.stdout.flush()
        self._last = text[-1:] or self._last

    def close(self) -> None:
        self._progress.close()
        if self._last != "\n":
            sys.stdout.write("\n")
            self._last = "\n"
        sys.stdout.flush()


class MarkdownDrawing:
    def __init__(self, progress: Progress, *, thoughts: bool) -> None:
        self._progress = progress
        self._thoughts = thoughts
        self._thought_last = ""
        self._pending = ""
        self._begun = False
        self._live: Live | None = None
        self._later: asyncio.TimerHandle | None = None

    def progress(self, text: str) -> None:
        if not self._begun:
            self._progress.tell(text)

    def thought(self, text: str) -> None:
        if not self._thoughts or self._begun:
            return
        self._progress.close()
        text = safe(text)
        console().out(text, style="dim italic", end="")
        self._thought_last = text[-1:] or self._thought_last

    def text(self, text: str) -> None:
        if not self._begun:
            self._begin()
        self._pending += safe(text)
        whole, self._pending = split_blocks(self._pending)
        if whole:
            self._draw_for_good(whole)
        if self._live is None:
            self._redraw()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(REDRAW_SECONDS, self._redraw)

    def close(self) -> None:
        self._progress.close()
        if self._later is not None:
            self._later.cancel()
            self._later = None
        self._stop_live()
        if self._pending.strip():
            self._print(self._pending)
        self._pending = ""

    def _begin(self) -> None:
        self._progress.close()
        self._begun = True
        if self._thought_last:
            console().out("" if self._thought_last == "\n" else "\n")

    def _draw_for_good(self, text: str) -> None:
        self._stop_live()
        self._print(text)

    def _print(self, text: str) -> None:
        from rich.markdown import Markdown  # noqa: PLC0415

        console().print(Markdown(text.strip("\n")))
        console().line()

    def _redraw(self) -> None:
        self._later = None
        if not self._pending.strip():
            return
        if self._live is None:
            from rich.live import Live  # noqa: PLC0415

            self._live = Live(console=console(), auto_refresh=False, transient=True, vertical_overflow="crop")
            self._live.start()
        self._live.update(_Tail(self._pending), refresh=True)

    def _stop_live(self) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None


class _Tail:
    """The last lines of what grows, as many as the window has."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        from rich.markdown import Markdown  # noqa: PLC0415
        from rich.segment import Segment  # noqa: PLC0415

        lines = console.render_lines(Markdown(self._text), options.update(height=None), pad=False)
        for drawn in lines[-max(1, options.size.height - 2) :]:
            yield from drawn
            yield Segment.line()


def split_blocks(text: str) -> tuple[str, str]:
    """What ends with a blank line outside of a fence, and what may still grow."""
    cut = max(_ends(text), default=0)
    return text[:cut], text[cut:]


def _ends(text: str) -> Iterator[int]:
    """Where blocks end for good: after a blank line, before something that is not indented (else it belongs to a list's
    item above)."""
    fence, place, blank = "", 0, False
    for line in text.splitlines(keepends=True):
        bare = line.strip()
        if blank and not fence and bare and not line.startswith((" ", "\t")):
            yield place
        if fence:
            fence = "" if bare.startswith(fence) and not bare.strip(fence[0]) else fence
        elif bare.startswith(("```", "~~~")):
            fence = bare[:3]
        blank = not bare and not fence
        place += len(line)
