"""How many tokens a question has: an estimate, since no upstream counts before it answers."""

from math import ceil

from pplx_gateway.answer import CHARACTERS_A_TOKEN
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.question import FilePart, FunctionCall, FunctionResult, ImagePart, Message, Question, TextPart

ESTIMATE = "The number of tokens is an estimate: Perplexity counts only what it answers."
IMAGE_TOKENS = 1_600
"""What a picture of the usual size takes of a model."""
FILE_TOKENS = 3_000
"""What is said of a document whose text is not known here."""
_OVERHEAD = 4
"""Of a turn: who speaks, and where it ends."""
_BASE64 = 4 / 3


def estimated_tokens(question: Question) -> int:
    tokens = sum(_of_turn(turn) + _OVERHEAD for turn in question.turns)
    offered = len(encode(question.functions)) if question.functions else 0
    form = len(encode(question.format)) if question.format else 0
    return tokens + ceil((offered + form) / CHARACTERS_A_TOKEN)


def _of_turn(turn: Message | FunctionCall | FunctionResult) -> int:
    match turn:
        case Message(parts=parts):
            return sum(map(_of_part, parts))
        case FunctionCall(name=name, arguments=arguments):
            return ceil((len(name) + len(arguments)) / CHARACTERS_A_TOKEN)
        case FunctionResult(output=output):
            return ceil(len(output) / CHARACTERS_A_TOKEN)


def _of_part(part: TextPart | ImagePart | FilePart) -> int:
    match part:
        case TextPart(text):
            return ceil(len(text) / CHARACTERS_A_TOKEN)
        case ImagePart():
            return IMAGE_TOKENS
        case FilePart(data=str(data)) if data.startswith("data:text/"):
            return ceil(len(data) / _BASE64 / CHARACTERS_A_TOKEN)
        case FilePart():
            return FILE_TOKENS
