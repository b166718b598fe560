"""Function names that Perplexity's own tools bear, and the detour around them.

The Agent API keeps them for itself; on the session a model would take the function for its own tool."""

from collections.abc import Iterable

RESERVED = frozenset(
    (
        "web_search",
        "search_web",
        "people_search",
        "search_people",
        "fetch_url",
        "finance_search",
        "image_search",
        "sandbox",
    )
)
"""A function of such a name is a 400 (docs/wire-agent.md 2.3); image_search is a tool of its own all the same."""

PREFIX = "fn_"


class Names:
    """`used` are the names of one question, offered or called before. Two of them never meet under one sent name."""

    def __init__(self, used: Iterable[str]) -> None:
        taken = set(used)
        self._sent = _USUAL if taken.isdisjoint(_USUAL.values()) else _around(taken)
        self._taken = taken

    def sent(self, name: str) -> str:
        """The name that goes upstream."""
        return self._sent.get(name, name)

    def own(self, name: str) -> str:
        """The caller's name for one that came back. Any number of prefixes leads home, so that an answer can also be
        read by whoever no longer knows what was called before."""
        if name in self._taken:
            return name
        bare = name
        while bare.startswith(PREFIX):
            bare = bare.removeprefix(PREFIX)
        return bare if bare in RESERVED and bare in self._taken else name


_USUAL = {name: PREFIX + name for name in sorted(RESERVED)}


def _around(taken: set[str]) -> dict[str, str]:
    sent: dict[str, str] = {}
    for name, usual in _USUAL.items():
        other = usual
        while other in taken or other in sent.values():
            other = PREFIX + other
        sent[name] = other
    return sent
