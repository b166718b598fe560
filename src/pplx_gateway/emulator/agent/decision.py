"""What `POST /v1/decisions` takes, and what it refuses (docs/wire-agent.md 5)."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from pplx_gateway.emulator.agent import pictures
from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.request import Strict, Tagged
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.agent.usage import tokens

Described = str | dict[str, Any] | list[Any]

_MODELS = """
pplx-decider-v1-27b pplx-decider-v1.1-27b pplx-decider-v1.1-27b-20261006 pplx-decider-v1.2 pplx-decider-v1.3
pplx-decider-latest pplx-decider-flash-v1.2 pplx-decider-flash-v1.3 pplx-decider-flash-latest
"""
MODELS = frozenset(_MODELS.split())
MOST_QUESTIONS = 128
MOST_OPTIONS = 255
MOST_LEVELS = 10
MOST_IMAGES = 8
MOST_TILES = 2048
CONTEXT_TOKENS = 262_144
_IMAGE_TOKENS = 100  # beside one for each tile


class DecisionError(ApiError):
    """A refusal in one of the two shapes that ApiError has not: the gateway's, whose `code` is null, and the model
    server's, whose `code` is a word and which names its `model`."""

    def __init__(
        self, message: str, *, status: int = 400, kind: str = "invalid_request", word: str | None = None
    ) -> None:
        super().__init__(status, message, kind)
        self._word = word
        self.model: str | None = None

    def body(self) -> bytes:
        error: dict[str, object] = {"message": self.message, "type": self.kind, "code": self._word, "param": None}
        return msgspec.json.encode({"error": error if self.model is None else {**error, "model": self.model}})


class Stalled(Exception):
    """An image so large that the model server never answers."""


class NoulCriteria(Strict):
    true: Described | None = None
    false: Described | None = None


class Noul(Tagged, tag="noul"):
    instructions: Described | None = None
    criteria: NoulCriteria | None = None


class Choice(Tagged, tag="choice"):
    criteria: dict[str, Described | None]
    instructions: Described | None = None


class Score(Tagged, tag="score"):
    criteria: list[Described]
    instructions: Described | None = None


Question = Noul | Choice | Score


class DecisionBody(Strict):
    model: str
    state: Described
    questions: dict[str, Question]


class ImageUrl(Strict):
    url: str


class ImageState(Tagged, tag="image_url"):
    image_url: ImageUrl


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """A request that was found good. `text` is what the state says, `vision_tokens` what its images cost."""

    body: DecisionBody
    text: str
    vision_tokens: int

    @property
    def input_tokens(self) -> int:
        """About 116 for one question and 92 for each further one, on top of the state; a choice that has but one option
        is free."""
        paid = [question for question in self.body.questions.values() if not settled(question)]
        if not paid:
            return 0
        asked = sum(tokens(words(question)) for question in paid)
        return 116 + 92 * (len(paid) - 1) + tokens(self.text) + asked + self.vision_tokens

    @property
    def output_tokens(self) -> int:
        return sum(not settled(question) for question in self.body.questions.values())


def settled(question: Question) -> bool:
    return isinstance(question, Choice) and len(question.criteria) == 1


def read_decision(body: bytes) -> Decision:
    """Raises ApiError 413, DecisionError 400, Stalled."""
    try:
        asked = read_as(read_object(body), DecisionBody)
    except ApiError as error:
        if error.status != 400:
            raise
        raise DecisionError(error.message) from error
    if asked.model not in MODELS:
        raise DecisionError(f'model "{asked.model}" is not supported', kind="invalid_model")
    if not 1 <= len(asked.questions) <= MOST_QUESTIONS:
        raise DecisionError(f"questions must contain 1 to {MOST_QUESTIONS} entries")
    for name, question in asked.questions.items():
        _check_question(name, question)
    return _within_context(asked)


def _check_question(name: str, question: Question) -> None:
    match question:
        case Noul(instructions=None, criteria=criteria) if criteria is None or criteria == NoulCriteria():
            raise DecisionError(f"questions.{name}: instructions or criteria are required")
        case Choice(criteria=options) if not 1 <= len(options) <= MOST_OPTIONS:
            raise DecisionError(f"questions.{name}.criteria must contain 1 to {MOST_OPTIONS} options")
        case Score(criteria=levels) if not 1 <= len(levels) <= MOST_LEVELS:
            raise DecisionError(f"questions.{name}.criteria must contain 1 to {MOST_LEVELS} levels")
        case _:
            pass


def _within_context(asked: DecisionBody) -> Decision:
    """What the model server judges; its refusals name the model."""
    try:
        images = _images(asked.state)
        found = Decision(body=asked, text=words(asked.state), vision_tokens=_vision_tokens(images))
        _check_size(found)
    except pictures.NoPicture as error:
        raise _of_model(DecisionError(str(error), word="invalid_image"), asked.model) from error
    except DecisionError as error:
        raise _of_model(error, asked.model) from None
    return found


def _check_size(asked: Decision) -> None:
    used = asked.input_tokens
    if used >= CONTEXT_TOKENS:
        raise DecisionError(f"the request has {used} tokens, the limit is {CONTEXT_TOKENS}", word="context_length")


def _of_model(error: DecisionError, model: str) -> DecisionError:
    error.model = model
    return error


def _images(state: Described) -> list[bytes]:
    """Image parts, which may stand in a list alone: as its members, or in the content of a message that is one."""
    parts = list(_parts(state)) if isinstance(state, list) else []
    if len(parts) > MOST_IMAGES:
        raise DecisionError(f"at most {MOST_IMAGES} images are allowed", word="too_many_images")
    return [pictures.unpack(part) for part in parts]


def _parts(items: list[Any]) -> Iterator[str]:
    for item in items:
        if isinstance(item, dict) and item.get("type") == "image_url":
            yield _as_image(item).image_url.url
        elif isinstance(item, dict) and isinstance(item.get("content"), list):
            yield from _parts(item["content"])


def _as_image(item: dict[str, Any]) -> ImageState:
    try:
        return read_as(item, ImageState, at="state")
    except ApiError as error:
        raise DecisionError(error.message) from error


def _vision_tokens(images: list[bytes]) -> int:
    tiles = [pictures.tiles(image) for image in images]
    if any(count > MOST_TILES for count in tiles):
        raise Stalled
    return sum(tiles) + _IMAGE_TOKENS * len(tiles)


def words(value: object) -> str:
    """All that is said in `value`, in order; images say nothing."""
    return " ".join(_words(value))


def _words(value: object) -> Iterator[str]:
    match value:
        case str():
            yield value
        case {"type": "image_url"}:
            return
        case Mapping():
            for key, part in value.items():
                yield from () if key in ("type", "role") else _words(part)
        case list():
            for part in value:
                yield from _words(part)
        case Noul(instructions=said, criteria=criteria):
            yield from _words(said)
            yield from _words([criteria.true, criteria.false] if criteria else None)
        case Choice(instructions=said, criteria=options):
            yield from _words(said)
            yield from _words([[name, option] for name, option in options.items()])
        case Score(instructions=said, criteria=levels):
            yield from _words(said)
            yield from _words(levels)
        case bool() | None:
            return
        case _:
            yield str(value)
