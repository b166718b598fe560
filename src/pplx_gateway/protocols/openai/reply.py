"""What a plain reply and a stream have in common: who speaks, and what is told beside the answer."""

from typing import NamedTuple

from pplx_gateway import fresh
from pplx_gateway.answer import Answer, Finished
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.complexity import Rating
from pplx_gateway.protocols.openai.chat_objects import Extension, Routed


class Head(NamedTuple):
    """The same in every chunk of a stream. `created` is in seconds since the epoch."""

    id: str
    created: int
    model: str


class Told(NamedTuple):
    """What is known before the answer comes. `show_steps`: the caller sees the upstream's search steps as reasoning.
    `remaining_pro`: searches left of the plan as last heard. `rating`: of a question to the router."""

    upstream: str
    show_steps: bool = False
    dropped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    failover: str | None = None
    remaining_pro: int | None = None
    rating: Rating | None = None


def fresh_id() -> str:
    return fresh.name("chatcmpl-")


def told_with(told: Told, answer: Answer) -> Told:
    """`told`, and what the answer has brought of the same kind."""
    if not answer.left_out and not answer.warnings:
        return told
    return told._replace(dropped=told.dropped + tuple(answer.left_out), warnings=told.warnings + tuple(answer.warnings))


class Collecting:
    """An answer that is sent once it is whole: fed with every batch, `finished` is None until then."""

    def __init__(self, told: Told) -> None:
        self.told = told
        self.answer = Answer()

    @property
    def finished(self) -> Finished | None:
        return self.answer.finished

    @property
    def told_so_far(self) -> Told:
        return told_with(self.told, self.answer)


def extension(told: Told, answer: Answer, finished: Finished) -> Extension:
    whole = told_with(told, answer)
    return Extension(
        upstream=told.upstream,
        served_model=finished.served_model,
        substituted_by=finished.substituted_by,
        remaining_pro=finished.remaining_pro,
        needs_input=finished.needs_input,
        usage_estimated=bool(finished.usage and finished.usage.estimated),
        failover=told.failover,
        dropped=whole.dropped,
        warnings=whole.warnings,
        router=Routed(**told.rating._asdict()) if told.rating else None,
    )


def answered_by(finished: Finished, served_by: Model, catalogue: Catalogue) -> str:
    """The id of what answered: ours where one is known, else the upstream's word."""
    return catalogue.answered(served_by, finished.served_model)
