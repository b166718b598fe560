"""A question that is ready to go out, with whichever key."""

from collections.abc import Mapping
from functools import partial

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.question import FunctionCall, Question
from pplx_gateway.store.signatures import Kept
from pplx_gateway.upstreams.api.keys import Key, Wanted
from pplx_gateway.upstreams.api.request import AgentRequest, build


class Draft:
    """`signatures` by call id: each goes out with the key that it was made with and with no other, so that key is
    preferred. Raises as `build` does."""

    def __init__(self, question: Question, model: Model, signatures: Mapping[str, Kept]) -> None:
        self._question = question
        self._model = model
        self._signatures = signatures
        self._made_with = next((kept.key_name for kept in reversed([*signatures.values()])), None)
        self.request: AgentRequest = build(question, model, partial(self._signature, self._made_with))
        self.wanted = Wanted(names_of(model), question.key_name, self._made_with)

    def body(self, key: Key) -> bytes:
        if not self._signatures or key.name == self._made_with:
            return msgspec.json.encode(self.request.body)
        return msgspec.json.encode(build(self._question, self._model, partial(self._signature, key.name)).body)

    def _signature(self, key_name: str | None, call_id: str) -> str | None:
        kept = self._signatures.get(call_id)
        return kept.signature if kept is not None and kept.key_name == key_name else None


def unsigned_calls(question: Question) -> list[str]:
    """Calls whose signature the caller did not give back."""
    return [turn.call_id for turn in question.turns if isinstance(turn, FunctionCall) and turn.signature is None]


def names_of(model: Model) -> tuple[str, ...]:
    """What an allow-list may call it."""
    route = model.agent
    return (model.id, route.model) if route is not None and route.model else (model.id,)
