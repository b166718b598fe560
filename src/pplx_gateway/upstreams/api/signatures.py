"""Thought signatures, kept for callers whose protocol has no place for them.

Some models sign the thought behind a function call and want the signature back with the call in the next turn
(docs/wire-agent.md 2.2). An OpenAI client never sees it, so it waits here under the call's id.
"""

import logging
from collections import OrderedDict
from collections.abc import Collection, Mapping

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store.signatures import Kept, StoredSignatures

CAPACITY = 4096
MAX_SIGNATURE_CHARACTERS = 64 * 1024

logger = logging.getLogger(__name__)


class Signatures:
    """The most recently used ones in memory, all of them in `stored` where there is a store. A turn whose signature is
    lost goes without. Nobody reads what another caller's answer left."""

    def __init__(self, stored: StoredSignatures | None = None, capacity: int = CAPACITY) -> None:
        self._stored = stored
        self._capacity = capacity
        self._kept: OrderedDict[tuple[str, str], Kept | None] = OrderedDict()

    async def keep(self, caller: str, key_name: str, signatures: Mapping[str, str]) -> None:
        """By call id. To be called before the caller sees the call: whoever looks for it later finds it then, in any
        worker. One that is too long to be a signature is not kept."""
        fit = {
            call_id: signature
            for call_id, signature in signatures.items()
            if len(signature) <= MAX_SIGNATURE_CHARACTERS
        }
        for call_id, signature in fit.items():
            self._remember(caller, call_id, Kept(signature, key_name))
        if self._stored is None or not fit:
            return
        try:
            await self._stored.put(caller, key_name, fit)
        except StoreUnavailable as error:
            logger.warning("thought signatures not stored", extra={"why": error.message})

    async def find(self, caller: str, call_ids: Collection[str]) -> dict[str, Kept]:
        """Those of `call_ids` that have one. The store is asked once for a call, also for one that never had any."""
        known = {call_id: self._kept[caller, call_id] for call_id in call_ids if (caller, call_id) in self._kept}
        for call_id in known:
            self._kept.move_to_end((caller, call_id))
        unknown = [call_id for call_id in dict.fromkeys(call_ids) if call_id not in known]
        if unknown and self._stored is not None:
            known |= await self._look_up(self._stored, caller, unknown)
        return {call_id: kept for call_id, kept in known.items() if kept is not None}

    async def _look_up(self, stored: StoredSignatures, caller: str, call_ids: list[str]) -> Mapping[str, Kept]:
        try:
            found = await stored.find(caller, call_ids)
        except StoreUnavailable as error:
            logger.warning("thought signatures not read", extra={"why": error.message})
            return {}
        for call_id in call_ids:
            self._remember(caller, call_id, found.get(call_id))
        return found

    def _remember(self, caller: str, call_id: str, kept: Kept | None) -> None:
        self._kept[caller, call_id] = kept
        self._kept.move_to_end((caller, call_id))
        if len(self._kept) > self._capacity:
            self._kept.popitem(last=False)
