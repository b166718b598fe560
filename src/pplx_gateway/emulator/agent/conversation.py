"""What was said so far: the question of this turn, and what the caller's functions returned for it."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec

from pplx_gateway.emulator.agent.request import (
    AgentRequest,
    DetailedImage,
    FunctionCall,
    FunctionCallOutput,
    InputFile,
    InputImage,
    InputText,
    Message,
)


class Conversation(msgspec.Struct, kw_only=True):
    """`questions` are the user's turns, oldest first; the last one is being answered. `calls` are function names by
    call id; `results` are (name, output) since the last question; `system` is everything that instructs."""

    questions: list[str] = []
    calls: dict[str, str] = {}
    results: list[tuple[str, str]] = []
    system: list[str] = []
    attachments: list[str] = []

    @property
    def question(self) -> str:
        return self.questions[-1] if self.questions else (self.system[-1] if self.system else "")

    @property
    def earlier(self) -> tuple[str, ...]:
        return tuple(self.questions[:-1])

    def then(self, request: AgentRequest) -> "Conversation":
        """This conversation, continued by `request`; itself left as it is."""
        grown = msgspec.structs.replace(
            self, questions=[*self.questions], calls={**self.calls}, results=[], system=[*self.system], attachments=[]
        )
        if request.body.instructions:
            grown.system.insert(0, request.body.instructions)
        for item in request.items:
            grown._take(item)
        return grown

    def _take(self, item: object) -> None:
        match item:
            case Message(role="user"):
                self.questions.append(text_of(item.content))
                self.attachments = attachments_of(item.content)
                self.results = []
            case Message(role="system" | "developer"):
                self.system.append(text_of(item.content))
            case FunctionCall():
                self.calls[item.call_id] = item.name
            case FunctionCallOutput():
                self.results.append((self.calls.get(item.call_id, item.name or item.call_id), text_of(item.output)))
            case _:
                pass


def text_of(content: str | Sequence[Any]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content if isinstance(part, InputText))


def attachments_of(content: str | Sequence[Any]) -> list[str]:
    """One phrase for each image and file."""
    if isinstance(content, str):
        return []
    phrases = []
    for part in content:
        if isinstance(part, (InputImage, DetailedImage)):
            phrases.append(f"an image ({_kind(part.image_url)})")
        elif isinstance(part, InputFile):
            phrases.append(f"the file {part.filename or part.file_url or '(without a name)'}")
    return phrases


def _kind(url: str) -> str:
    """The media type of a data URL; of any other the address."""
    return re.split("[;,]", url[5:85], maxsplit=1)[0] if url[:5].lower() == "data:" else url[:80]
