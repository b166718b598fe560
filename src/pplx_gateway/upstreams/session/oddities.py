"""What an answer held that could not be used: counted by kind, never fatal, told in one log line at the end."""

import re

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,48}")
_KINDS = 64  # an endless supply of new names must not grow the table


class Oddities:
    """Counts by kind. `counts` holds names only, never text of an answer."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def note(self, kind: str, name: str | None = None) -> None:
        """`name` comes from the wire (a block's usage, a step's type), so it is checked before it is kept."""
        if name is not None:
            kind = f"{kind}:{name}" if _NAME.fullmatch(name) else kind
        if kind in self.counts or len(self.counts) < _KINDS:
            self.counts[kind] = self.counts.get(kind, 0) + 1
