"""Going on where an earlier turn ended, instead of sending the whole conversation again (docs/wire-session.md 1.3).

A conversation is found by a key over the caller, the model and every turn exactly as it was returned, attachments
included: whoever cannot repeat the turns, or is somebody else, does not find it. Only plain talk takes part;
instructions and functions need their whole context.
"""

import hashlib
import hmac
from collections.abc import Sequence
from typing import Protocol

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.question import Message, Question
from pplx_gateway.upstreams.session.transcript import Turn, transcript


class ThreadStore(Protocol):
    """Opaque values by opaque keys; old ones may be forgotten. One with a `response_id` goes with that response."""

    async def get(self, key: bytes) -> bytes | None: ...

    async def put(self, key: bytes, value: bytes, response_id: str | None = None) -> None: ...


class Handle(msgspec.Struct, frozen=True, kw_only=True):
    """What the site needs to go on. `read_write_token` is as good as a password for the thread. `attachments` are the
    addresses of what was uploaded for it: a follow-up must name them again."""

    backend_uuid: str
    model: str
    read_write_token: str | None = None
    context_uuid: str | None = None
    attachments: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Handle(model={self.model!r})"


class Threads:
    """`secret` belongs to the installation, so that keys tell nothing to who reads the store."""

    def __init__(self, store: ThreadStore, secret: bytes) -> None:
        self._store = store
        self._secret = secret

    async def find(self, question: Question, model: Model, caller: str) -> Handle | None:
        """The handle of the turn before the last one, or None."""
        if not eligible(question):
            return None
        turns = transcript(question).turns[:-1]
        if not turns or turns[-1].role != "assistant":
            return None
        value = await self._store.get(self._key(caller, model, turns))
        return None if value is None else _handle(value)

    async def remember(self, question: Question, model: Model, caller: str, text: str, handle: Handle) -> None:
        """Keeps `handle` for the question that continues this one, after `text` as it was returned."""
        if eligible(question) and text:
            turns = (*transcript(question).turns, Turn("assistant", text))
            kept = msgspec.json.encode(handle)
            await self._store.put(self._key(caller, model, turns), kept, question.response_id)

    def _key(self, caller: str, model: Model, turns: Sequence[Turn]) -> bytes:
        told = msgspec.json.encode([caller, model.id, [[turn.role, turn.text, *turn.attachments] for turn in turns]])
        return hmac.new(self._secret, told, hashlib.sha256).digest()


def eligible(question: Question) -> bool:
    """True for a conversation without instructions and functions."""
    if question.functions or question.format is not None:
        return False
    return all(isinstance(turn, Message) and turn.role != "system" for turn in question.turns)


def _handle(value: bytes) -> Handle | None:
    try:
        return msgspec.json.decode(value, type=Handle)
    except msgspec.DecodeError:
        return None  # kept by another version
