"""Thought signatures, kept for callers whose protocol has no place for them.

Some models sign the thought behind a function call and want the signature back with the call in the next turn
(docs/wire-agent.md 2.2). An OpenAI client never sees it, so it waits here under the call's id.
"""

from collections import OrderedDict

CAPACITY = 4096
MAX_SIGNATURE_CHARACTERS = 64 * 1024


class Signatures:
    """The most recently used ones, in memory: after a restart a turn goes without, as it does when too many came since.

    Nobody reads what another caller's answer left.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._kept: OrderedDict[tuple[str, str], str] = OrderedDict()

    def keep(self, caller: str, call_id: str, signature: str) -> None:
        """One that is too long to be a signature is not kept."""
        if len(signature) > MAX_SIGNATURE_CHARACTERS:
            return
        self._kept[caller, call_id] = signature
        self._kept.move_to_end((caller, call_id))
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)

    def find(self, caller: str, call_id: str) -> str | None:
        signature = self._kept.get((caller, call_id))
        if signature is not None:
            self._kept.move_to_end((caller, call_id))
        return signature
