"""Function names that the Agent API keeps for its own tools, and the detour around them."""

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
        taken = {*used, *RESERVED}
        self._sent: dict[str, str] = {}
        for name in sorted(RESERVED.intersection(taken)):
            sent = PREFIX + name
            while sent in taken:
                sent = PREFIX + sent
            taken.add(sent)
            self._sent[name] = sent
        self._own = {sent: name for name, sent in self._sent.items()}

    def sent(self, name: str) -> str:
        """The name that goes upstream."""
        return self._sent.get(name, name)

    def own(self, name: str) -> str:
        """The caller's name for one that came back."""
        return self._own.get(name, name)
