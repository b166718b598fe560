"""Where the owner asks for a capture and finds it, whichever worker made it."""

import asyncio
from typing import Literal, NamedTuple

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.observing.canary import Canary, Capture
from pplx_gateway.store.facts import Fact, Facts

FACT = "wire_capture"
State = Literal["off", "armed", "held"]


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """`capture` None: it is still waited for. `armed_at`: seconds since the epoch."""

    armed_at: float
    capture: Capture | None = None


class Waiting(NamedTuple):
    state: State
    wish: Wish | None


class CaptureDesk:
    """One capture at most is kept. Methods raise StoreUnavailable."""

    def __init__(self, canary: Canary, facts: Facts, clock: Clock) -> None:
        self._canary = canary
        self._facts = facts
        self._clock = clock
        self._lock = asyncio.Lock()

    async def arm(self) -> Waiting:
        """The next surprise is captured; an older capture goes."""
        async with self._lock:
            wish = Wish(armed_at=self._clock.now())
            await self._facts.put(FACT, msgspec.json.encode(wish))
            self._canary.captured, self._canary.armed = None, True
            return _waiting(wish)

    async def clear(self) -> Waiting:
        async with self._lock:
            await self._facts.remove(FACT)
            self._canary.captured, self._canary.armed = None, False
            return _waiting(None)

    async def state(self) -> Waiting:
        """With what this worker has captured a moment ago."""
        return _waiting(await self.sync())

    async def sync(self) -> Wish | None:
        """Takes up what other workers did, and hands over what this one has. Of several captures the first counts."""
        async with self._lock:
            fact = await self._facts.get(FACT)
            wish = _read(fact)
            if fact is not None and wish is not None and wish.capture is None and self._canary.captured is not None:
                wish = msgspec.structs.replace(wish, capture=self._canary.captured)
                if await self._facts.swap(FACT, msgspec.json.encode(wish), fact.version) is None:
                    wish = _read(await self._facts.get(FACT))
            self._canary.captured = None
            self._canary.armed = wish is not None and wish.capture is None
            return wish


def _read(fact: Fact | None) -> Wish | None:
    return None if fact is None else _WISH.decode(fact.value)


def _waiting(wish: Wish | None) -> Waiting:
    if wish is None:
        return Waiting("off", None)
    return Waiting("armed" if wish.capture is None else "held", wish)


_WISH = msgspec.json.Decoder(Wish)
