"""Callers' keys while the gateway runs: held in memory, the same in every worker within a second."""

import hmac
import logging
from collections.abc import Sequence

import msgspec

from pplx_gateway.caller_keys import CallerKey, Use, digest_of, hint_of, is_one, is_whole, new_id, new_secret
from pplx_gateway.clock import Clock
from pplx_gateway.errors import AuthenticationFailed, Forbidden, InvalidRequest, NotFound, StoreUnavailable
from pplx_gateway.store.caller_keys import CallerKeyRows, NameTaken

logger = logging.getLogger("pplx_gateway.keys")

LOOK_SECONDS = 1.0
"""A key that was revoked by another worker opens nothing after this."""
_INDEX_BYTES = 8


class CallerKeys:
    """Methods that change raise StoreUnavailable, and then nothing is changed. A store that fails leaves what is known
    as it is."""

    def __init__(self, rows: CallerKeyRows, clock: Clock) -> None:
        self.rows = rows
        self._clock = clock
        self._version = -1
        self._keys: dict[str, CallerKey] = {}
        self._digests: dict[bytes, tuple[bytes, str]] = {}
        self._used: dict[str, float] = {}

    @property
    def every(self) -> Sequence[CallerKey]:
        """In the order of their creation, those that were revoked included."""
        return tuple(self._keys.values())

    def one(self, key_id: str) -> CallerKey:
        """Raises NotFound."""
        if key_id not in self._keys:
            raise NotFound("There is no such key.")
        return self._keys[key_id]

    def lacks(self, presented: bytes) -> bool:
        """True for a well-made key that this worker does not know of; another one may have made it just now."""
        return is_one(presented) and is_whole(presented) and self._found(presented) is None

    def let_in(self, presented: bytes, use: Use) -> CallerKey:
        """The key that was presented, where keys of that `use` are. Raises AuthenticationFailed, and Forbidden for one
        that belongs elsewhere."""
        if not is_whole(presented):
            raise AuthenticationFailed("The API key is mistyped or cut off: its checksum is wrong.")
        key = self._found(presented)
        if key is None:
            raise AuthenticationFailed("The API key is wrong. This gateway has none like it.")
        now = self._clock.now()
        status = key.status(now)
        if status != "active":
            raise AuthenticationFailed(f"The API key is {status}. Ask the owner of this gateway for another one.")
        if key.use != use:
            raise Forbidden(_ELSEWHERE[key.use])
        self._used[key.id] = now
        return key

    async def create(self, key: CallerKey) -> tuple[CallerKey, str]:
        """`key` without its id and hint. Gives the whole one and its secret, which is kept nowhere. Raises
        InvalidRequest for a name that is taken."""
        secret = new_secret()
        made = msgspec.structs.replace(key, id=new_id(), hint=hint_of(secret))
        try:
            await self.rows.add(made, digest_of(secret.encode()))
        except NameTaken:
            raise _taken(key.name) from None
        await self.refresh()
        logger.info("a caller's key was made", extra={"key": made.id})
        return made, secret

    async def change(self, key: CallerKey) -> CallerKey:
        """Raises InvalidRequest, NotFound (there is none, or it was revoked)."""
        try:
            changed = await self.rows.change(key)
        except NameTaken:
            raise _taken(key.name) from None
        if not changed:
            raise NotFound("There is no such key, or it was revoked.")
        await self.refresh()
        return self.one(key.id)

    async def revoke(self, key_id: str) -> CallerKey:
        """For good. Raises NotFound."""
        await self.refresh()
        self.one(key_id)
        await self.rows.revoke(key_id, self._clock.now())
        await self.refresh()
        logger.info("a caller's key was revoked", extra={"key": key_id})
        return self.one(key_id)

    async def refresh(self) -> None:
        """Takes up what any worker has changed. Raises StoreUnavailable."""
        version = await self.rows.version()
        if version != self._version:
            await self.load()
            self._version = version

    async def load(self) -> None:
        kept = await self.rows.every()
        self._digests = {digest[:_INDEX_BYTES]: (digest, key.id) for digest, key in kept}
        self._keys = {key.id: key for _, key in kept}

    async def keep_up(self) -> None:
        """For the supervisor, every LOOK_SECONDS: news of other workers, and to them which keys were used."""
        try:
            if self._used:
                used, self._used = self._used, {}
                await self.rows.used(used)
            await self.refresh()
        except StoreUnavailable:
            return  # what is known still holds

    def _found(self, presented: bytes) -> CallerKey | None:
        """A part of the digest finds the place, and the whole is compared in constant time."""
        digest = digest_of(presented)
        whole, key_id = self._digests.get(digest[:_INDEX_BYTES], (b"", ""))
        return self._keys[key_id] if hmac.compare_digest(whole, digest) else None


_ELSEWHERE: dict[Use, str] = {
    "header": "This key is not for addresses, which are logged. Send it to /mcp as 'Authorization: Bearer KEY', or ask "
    "the owner of this gateway for one whose use is mcp-path.",
    "mcp-path": "This key is for MCP's addresses alone (/KEY/mcp, /KEY/sse). Ask the gateway's owner for one that is "
    "sent in a header.",
}


def _taken(name: str) -> InvalidRequest:
    return InvalidRequest(f"There is a key named '{name}'. Names must differ, or revoke that one first.", param="name")
