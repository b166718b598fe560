"""What an answer has beside its content: found pages and pictures, and everything told about it."""

from math import ceil
from typing import Any

from pplx_gateway.answer import CHARACTERS_A_TOKEN, Answer, Finished, Usage
from pplx_gateway.protocols.openai.chat_objects import extras
from pplx_gateway.protocols.openai.reply import Told, extension


def beside(told: Told, answer: Answer, finished: Finished) -> dict[str, Any]:
    """The top-level keys that this protocol does not know; the list of mere addresses is left to others."""
    found = {key: value for key, value in extras(answer).items() if key != "citations"}
    return {**found, "pplx": extension(told, answer, finished)}


def usage_of(finished: Finished, input_tokens: int, characters: int) -> Usage:
    """The upstream's count; else an estimate, since this protocol cannot do without."""
    if finished.usage is not None:
        return finished.usage
    return Usage(input_tokens=input_tokens, output_tokens=ceil(characters / CHARACTERS_A_TOKEN), estimated=True)
