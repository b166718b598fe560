"""What is written to, and how: beautiful on a terminal, plain in a pipe.

rich is imported only to draw on a terminal. It knows NO_COLOR, TERM=dumb and the window's width.
"""

import os
import sys
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

# A page of the web must not move the cursor, retitle the window or write to the clipboard of whoever reads it.
_UNSAFE = {number: None for number in (*range(0x20), *range(0x7F, 0xA0)) if chr(number) not in "\n\t"}


def safe(text: str) -> str:
    """Without control characters but for line ends and tabs."""
    return text if text.isprintable() else text.translate(_UNSAFE)


def on_terminal() -> bool:
    """stdout is one that can be drawn on."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def errors_on_terminal() -> bool:
    return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"


@cache
def console(*, stderr: bool = False) -> "Console":
    from rich.console import Console  # noqa: PLC0415

    return Console(stderr=stderr, highlight=False, soft_wrap=False, emoji=False)


def warm() -> None:
    """Imports what drawing an answer takes; to be called while something else is waited for."""
    if on_terminal():
        import rich.live  # noqa: PLC0415
        import rich.markdown  # noqa: F401, PLC0415


def tell(text: str) -> None:
    """A line beside the answer, on stderr."""
    if errors_on_terminal():
        console(stderr=True).print(safe(text), style="dim", markup=False)
    else:
        print(text, file=sys.stderr, flush=True)


def line(text: str = "", style: str | None = None) -> None:
    """A line of the result, on stdout."""
    if on_terminal():
        console().print(safe(text), style=style, markup=False)
    else:
        print(text)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, right: Sequence[str] = ()) -> None:
    """In a pipe a head and rows, cells parted by tabs. On a terminal a table, or, where that does not fit the window,
    each row as lines of its own."""
    cells = [["" if cell is None else " ".join(str(cell).split()) for cell in row] for row in rows]
    if not on_terminal():
        for row in [list(columns), *cells]:
            print("\t".join(row))
        return
    cells = [[safe(cell) for cell in row] for row in cells]
    least = [max(map(_longest_word, column)) for column in zip(columns, *cells, strict=True)]
    if sum(least) + 3 * len(columns) > console().width:
        _draw_records(columns, cells)
    else:
        _draw_table(columns, cells, least, right)


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=1)


def _draw_table(
    columns: Sequence[str], cells: Sequence[Sequence[str]], least: Sequence[int], right: Sequence[str]
) -> None:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column, width in zip(columns, least, strict=True):
        drawn.add_column(column, justify="right" if column in right else "left", overflow="fold", min_width=width)
    for row in cells:
        drawn.add_row(*map(Text, row))
    console().print(drawn)


def _draw_records(columns: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    from rich.text import Text  # noqa: PLC0415

    for row in cells:
        for column, cell in zip(columns, row, strict=True):
            if cell:
                console().print(Text.assemble((f"{column}: ", "dim"), cell, overflow="fold"))
        console().line()


def document(value: Any) -> None:
    """JSON on stdout."""
    import json  # noqa: PLC0415

    print(json.dumps(value, ensure_ascii=False, indent=2))
