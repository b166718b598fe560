"""Scripts: answers told beforehand, as lists of steps on the wire."""

from collections import deque
from collections.abc import Iterable, Sequence

import msgspec


class Bytes(msgspec.Struct, frozen=True):
    """One network write of body bytes."""

    data: bytes


class Pause(msgspec.Struct, frozen=True):
    """Clock seconds in which nothing is sent."""

    seconds: float


class End(msgspec.Struct, frozen=True):
    """The clean end of the HTTP message. Implied after the last step."""


class Abort(msgspec.Struct, frozen=True):
    """A reset of the connection (RST), after what was written has left."""


class Cut(msgspec.Struct, frozen=True):
    """A close of the connection (FIN) that leaves the HTTP message unfinished."""


Step = Bytes | Pause | End | Abort | Cut


class Scripted(msgspec.Struct, frozen=True, kw_only=True):
    """One answer. `delay_seconds` pass before the status line; `headers` may repeat a name."""

    status: int = 200
    headers: Sequence[tuple[str, str]] = ()
    steps: Sequence[Step] = ()
    delay_seconds: float = 0.0


class Entry(msgspec.Struct, kw_only=True):
    """A scripted answer in the queue. `path` is exact, or ends with `*`. `left` None = for ever; `strict=False` uses it
    even for a request that the API would have refused."""

    path: str
    answer: Scripted
    left: int | None = 1
    method: str | None = None
    strict: bool = True

    def fits(self, method: str, path: str) -> bool:
        return self.method in (None, method) and matches(self.path, path)


def matches(pattern: str, path: str) -> bool:
    """True if `path` is `pattern`, or begins with what stands before a final `*`."""
    return path.startswith(pattern[:-1]) if pattern.endswith("*") else path == pattern


class ScriptBook:
    """First in, first out for each path; an exact path comes before a pattern."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entries: Iterable[Entry]) -> None:
        self._entries.extend(entries)

    def clear(self) -> None:
        self._entries.clear()

    def peek(self, method: str, path: str) -> Entry | None:
        """The entry that would answer this request; None if no script does."""
        fitting = [entry for entry in self._entries if entry.fits(method, path)]
        return next((entry for entry in fitting if entry.path == path), fitting[0] if fitting else None)

    def use(self, entry: Entry) -> Scripted:
        """Counts `entry` down and gives its answer."""
        if entry.left is not None:
            entry.left -= 1
            if entry.left <= 0:
                self._entries.remove(entry)
        return entry.answer

    def pending(self) -> dict[str, int | str]:
        """How many answers wait for each path."""
        waiting: dict[str, int | str] = {}
        for entry in self._entries:
            before = waiting.get(entry.path, 0)
            waiting[entry.path] = "forever" if entry.left is None or isinstance(before, str) else before + entry.left
        return waiting
