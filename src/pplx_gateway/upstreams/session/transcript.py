"""A question's turns as the site can take them: instructions, then user and assistant in turn, a user's turn last.

Calls of functions stand between them, each with what it returned. Where calls come last, they were made for the user's
turn before them, which is still what is asked: so it goes to the end, and they are marked as its own.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Literal, NamedTuple, TypeGuard

from pplx_gateway.capabilities import by_address
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import TURNS, FilePart, FunctionCall, FunctionResult, ImagePart, Message, Question, TextPart

Attachment = ImagePart | FilePart


class Called(NamedTuple):
    """A function call. `result` is None if it was never answered; `for_query`: it was made for what is asked now."""

    call: FunctionCall
    result: str | None
    for_query: bool = False


class Turn(NamedTuple):
    """`attachments` have their bytes with them, and keep their order. A `function` is told by `called` alone."""

    role: Literal["user", "assistant", "function"]
    text: str = ""
    attachments: tuple[Attachment, ...] = ()
    called: Called | None = None


class Transcript(NamedTuple):
    """`turns` end with the user's, and alternate but for calls; `instructions` are the system texts in their order."""

    instructions: tuple[str, ...]
    turns: tuple[Turn, ...]

    @property
    def attachments(self) -> tuple[Attachment, ...]:
        """Of all turns, each once."""
        return tuple(dict.fromkeys(part for turn in self.turns for part in turn.attachments))


def transcript(question: Question) -> Transcript:
    """Raises InvalidRequest for what the site cannot take.

    System texts are hoisted, neighbouring user turns joined by a blank line, and of neighbouring assistant turns the
    last holds (clients send rejected branches along). System texts after the last turn, with no user turn to answer,
    are the user's turn themselves: title prompts come so.
    """
    said = _with_results(question.turns)
    spoken = [turn for turn in said if not _is_system(turn)]
    if spoken and (isinstance(spoken[-1], Called) or spoken[-1].role == "user"):
        return Transcript(_instructions(said), _alternating(spoken))
    closing = _closing_system(said)
    if not closing:
        raise InvalidRequest("The last message must be the user's: Perplexity cannot continue an answer.", param=TURNS)
    asked = Message("user", (TextPart("\n\n".join(message.text for message in closing)),))
    return Transcript(_instructions(said[: len(said) - len(closing)]), _alternating([*spoken, asked]))


def _with_results(turns: Sequence[Message | FunctionCall | FunctionResult]) -> list[Message | Called]:
    """Messages as they are, and each call where its result came."""
    calls = {turn.call_id: turn for turn in turns if isinstance(turn, FunctionCall)}
    answered = {turn.call_id for turn in turns if isinstance(turn, FunctionResult)}
    said: list[Message | Called] = []
    for turn in turns:
        match turn:
            case FunctionCall():
                said += [] if turn.call_id in answered else [Called(turn, None)]
            case FunctionResult(call_id, output):
                if call_id not in calls:
                    raise InvalidRequest("A function's result answers no call of the conversation.", param=TURNS)
                said.append(Called(calls[call_id], output))
            case Message():
                said.append(_sendable(turn))
    return said


def _sendable(message: Message) -> Message:
    if any(by_address(part) for part in message.parts):
        raise InvalidRequest(
            "An image or file by its address cannot be sent to the session: send it as a data URL.", param=TURNS
        )
    return message


def _is_system(turn: Message | Called) -> TypeGuard[Message]:
    return isinstance(turn, Message) and turn.role == "system"


def _instructions(turns: Iterable[Message | Called]) -> tuple[str, ...]:
    return tuple(turn.text for turn in turns if _is_system(turn) and turn.text.strip())


def _closing_system(turns: list[Message | Called]) -> list[Message]:
    closing: list[Message] = []
    for turn in reversed(turns):
        if not _is_system(turn):
            break
        closing.append(turn)
    return closing[::-1]


def _alternating(spoken: Iterable[Message | Called]) -> tuple[Turn, ...]:
    said = (turn for turn in spoken if isinstance(turn, Called) or turn.text.strip() or _attachments(turn))
    turns = [turn for role, neighbours in groupby(said, _speaker) for turn in _turns(role, list(neighbours))]
    if turns and turns[-1].role == "function":
        turns = _asked_last(turns)
    if not turns or turns[-1].role != "user":
        raise InvalidRequest("The last message is empty.", param=TURNS)
    if not turns[-1].text.strip():
        raise InvalidRequest(
            "The last message holds an attachment alone. Perplexity is asked in words: say what is to be done with it.",
            param=TURNS,
        )
    return tuple(turns)


def _asked_last(turns: list[Turn]) -> list[Turn]:
    """The user's last turn at the end, and the calls that came after it marked as made for it."""
    place = max((index for index, turn in enumerate(turns) if turn.role == "user"), default=None)
    if place is None:
        raise InvalidRequest("The conversation holds calls and results, but nothing that was asked.", param=TURNS)
    return [*turns[:place], *map(_for_query, turns[place + 1 :]), turns[place]]


def _for_query(turn: Turn) -> Turn:
    return turn._replace(called=turn.called._replace(for_query=True)) if turn.called else turn


def _speaker(turn: Message | Called) -> Literal["user", "assistant", "function"]:
    if isinstance(turn, Called):
        return "function"
    return "assistant" if turn.role == "assistant" else "user"


def _turns(role: Literal["user", "assistant", "function"], neighbours: list[Message | Called]) -> list[Turn]:
    messages = [turn for turn in neighbours if isinstance(turn, Message)]
    if role == "function":
        return [Turn(role, called=turn) for turn in neighbours if isinstance(turn, Called)]
    return [_turn(role, messages)]


def _turn(role: Literal["user", "assistant"], neighbours: list[Message]) -> Turn:
    attachments = tuple(part for message in neighbours for part in _attachments(message))
    if role == "assistant":
        return Turn(role, neighbours[-1].text, attachments)
    return Turn(role, "\n\n".join(text for message in neighbours if (text := message.text).strip()), attachments)


def _attachments(message: Message) -> tuple[Attachment, ...]:
    return tuple(part for part in message.parts if not isinstance(part, TextPart))
