"""A question's turns as the site can take them: instructions, then user and assistant in turn, a user's turn last."""

from collections.abc import Iterable
from itertools import groupby
from typing import Literal, NamedTuple

from pplx_gateway.capabilities import by_address
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import FilePart, ImagePart, Message, Question, TextPart

Attachment = ImagePart | FilePart


class Turn(NamedTuple):
    """`attachments` have their bytes with them, and keep their order."""

    role: Literal["user", "assistant"]
    text: str
    attachments: tuple[Attachment, ...] = ()


class Transcript(NamedTuple):
    """`turns` alternate and end with the user's; `instructions` are the system texts in their order."""

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
    messages = [_message(turn) for turn in question.turns]
    spoken = [message for message in messages if message.role != "system"]
    if spoken and spoken[-1].role == "user":
        instructions = tuple(message.text for message in messages if message.role == "system" and message.text.strip())
        return Transcript(instructions, _alternating(spoken))
    closing = _closing_system(messages)
    if not closing:
        raise InvalidRequest(
            "The last message must be the user's: Perplexity cannot continue an answer.", param="messages"
        )
    asked = Message("user", (TextPart("\n\n".join(message.text for message in closing)),))
    before = messages[: len(messages) - len(closing)]
    instructions = tuple(message.text for message in before if message.role == "system" and message.text.strip())
    return Transcript(instructions, _alternating([*spoken, asked]))


def _message(turn: object) -> Message:
    if not isinstance(turn, Message):
        raise InvalidRequest("Function calls and their results cannot be sent to the session.", param="messages")
    if any(by_address(part) for part in turn.parts):
        raise InvalidRequest(
            "An image or file by its address cannot be sent to the session: send it as a data URL.", param="messages"
        )
    return turn


def _closing_system(messages: list[Message]) -> list[Message]:
    closing: list[Message] = []
    for message in reversed(messages):
        if message.role != "system":
            break
        closing.append(message)
    return closing[::-1]


def _alternating(messages: Iterable[Message]) -> tuple[Turn, ...]:
    said = (message for message in messages if message.text.strip() or _attachments(message))
    turns = [_turn(role, list(neighbours)) for role, neighbours in groupby(said, _speaker)]
    if not turns or turns[-1].role != "user":
        raise InvalidRequest("The last message is empty.", param="messages")
    if not turns[-1].text.strip():
        raise InvalidRequest(
            "The last message holds an attachment alone. Perplexity is asked in words: say what is to be done with it.",
            param="messages",
        )
    return tuple(turns)


def _speaker(message: Message) -> Literal["user", "assistant"]:
    return "assistant" if message.role == "assistant" else "user"


def _turn(role: Literal["user", "assistant"], neighbours: list[Message]) -> Turn:
    attachments = tuple(part for message in neighbours for part in _attachments(message))
    if role == "assistant":
        return Turn(role, neighbours[-1].text, attachments)
    return Turn(role, "\n\n".join(text for message in neighbours if (text := message.text).strip()), attachments)


def _attachments(message: Message) -> tuple[Attachment, ...]:
    return tuple(part for part in message.parts if not isinstance(part, TextPart))
