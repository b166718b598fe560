"""What is known of a response when it begins, and all that another worker needs to go on with it."""

import secrets

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.protocols.openai.reply import Told
from pplx_gateway.protocols.openai.responses.question import Echo, Prepared, Shown
from pplx_gateway.question import Question


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """`question` goes without its turns where it is kept. `model` is what answers, once that is known; `requested` the
    model's name as the caller wrote it."""

    response_id: str
    caller: str
    created_at: int
    requested: str
    echo: Echo
    shown: Shown
    told: Told
    question: Question
    model: Model | None = None

    def encoded(self) -> bytes:
        return msgspec.json.encode(msgspec.structs.replace(self, question=_without_turns(self.question)))


def plan_of(prepared: Prepared, *, caller: str, requested: str, created_at: int) -> Plan:
    response_id = f"resp_{secrets.token_hex(16)}"
    return Plan(
        response_id=response_id,
        caller=caller,
        created_at=created_at,
        requested=requested,
        echo=prepared.echo,
        shown=prepared.shown,
        told=Told("", dropped=prepared.dropped, warnings=prepared.warnings),
        question=msgspec.structs.replace(prepared.question, response_id=response_id if prepared.store else None),
    )


def decoded(data: bytes) -> Plan | None:
    """What `encoded` gave; None if another release wrote it in another form."""
    try:
        return msgspec.json.decode(data, type=Plan)
    except msgspec.DecodeError:
        return None


def _without_turns(question: Question) -> Question:
    return msgspec.structs.replace(question, turns=())
