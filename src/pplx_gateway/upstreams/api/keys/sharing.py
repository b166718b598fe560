"""What one worker has learnt of the keys, for all of them: rests and their ends, through the store.

Questions never wait for it: news is written behind their backs, and what others have learnt is taken up with each look
at the keys (keeping.py). A rest is known again after a restart, too.
"""

import hashlib

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store.facts import Fact, Facts
from pplx_gateway.upstreams.api.keys.health import Learnt
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.api.keys.pool import KeyPool

RETRY_SECONDS = 5.0
_PREFIX = "key_health/"
_SIGN_BYTES = 8


class _Kept(msgspec.Struct, frozen=True):
    """`sign` tells whether the key has the same value yet."""

    sign: str
    learnt: Learnt


class SharedHealth:
    def __init__(self, pool: KeyPool, facts: Facts, clock: Clock) -> None:
        self._pool = pool
        self._facts = facts
        self._clock = clock
        self._seen: dict[str, int] = {}

    async def run(self) -> None:
        """For the supervisor: tells the others what is learnt here, for ever."""
        while True:
            await self._pool.news.wait()
            name = self._pool.next_news()
            try:
                await self._tell(name)
            except StoreUnavailable:
                self._pool.note(name)
                await self._clock.sleep(RETRY_SECONDS)

    async def take_up(self) -> None:
        """What others have learnt since the last time. Raises StoreUnavailable."""
        keys = {_PREFIX + key.name: key for key in self._pool.keys if key.usable}
        if len(keys) < 2:  # there is nothing to choose
            return
        for name, fact in (await self._facts.among(*keys)).items():
            if fact.version > self._seen.get(name, 0):
                self._seen[name] = fact.version
                self._adopt(keys[name], fact)

    async def _tell(self, name: str) -> None:
        key = self._pool.one(name)
        if key is None or not key.usable:
            return
        kept = _Kept(_sign(key), self._pool.health(name).learnt())
        fact = await self._facts.put(_PREFIX + name, msgspec.json.encode(kept))
        self._seen[_PREFIX + name] = fact.version

    def _adopt(self, key: Key, fact: Fact) -> None:
        try:
            kept = msgspec.json.decode(fact.value, type=_Kept)
        except msgspec.DecodeError:
            return  # another release wrote it
        if kept.sign == _sign(key):
            self._pool.health(key.name).adopt(kept.learnt)


def _sign(key: Key) -> str:
    return hashlib.blake2b(key.reveal().encode(), digest_size=_SIGN_BYTES, person=b"key health").hexdigest()
