"""A Sonar request as a Question, and what the caller is told about the difference."""

from datetime import date
from typing import NamedTuple

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.openai.attachments import NO_FILES, Attached
from pplx_gateway.protocols.openai.question import Prepared, question_of
from pplx_gateway.protocols.openai.settling import Target, settled
from pplx_gateway.protocols.openai.slips import hints, meant
from pplx_gateway.protocols.perplexity.sonar import fields
from pplx_gateway.protocols.perplexity.sonar.normal import Normal, normal
from pplx_gateway.protocols.perplexity.sonar.request import SonarBody, SonarRequest


class Read(NamedTuple):
    """A request as it was understood. `unknown` are the paths of those of its keys that nobody here knows."""

    asked: Normal
    unknown: tuple[str, ...]

    @property
    def request(self) -> SonarRequest:
        return self.asked.request


def read(body: bytes, today: date) -> Read:
    """Raises InvalidRequest and its kinds."""
    return Read(normal(decode(body, SonarBody), today), unknown_keys(body, SonarBody))


def prepare(read: Read, model: str, target: Target, files: Attached = NO_FILES) -> Prepared:
    """`files` are those that the messages name by id. Raises InvalidRequest and its kinds.

    A field that looks like a slip of the pen is refused: it would be left out, and the answer would look right."""
    asked = read.asked
    if target.policy == "reject":
        _refuse_slips(read)
    with asked.errors_as_written():
        question, warnings = question_of(asked.request, model, files)
        question, dropped, told = settled(question, fields.uses(asked), target)
    if not question.turns:
        raise InvalidRequest("'messages' holds nothing that this upstream can be asked.", param="messages")
    slips = hints(read.unknown, asked.request, fields.MISNAMED)
    return Prepared(question, (*dropped, *fields.advisory(asked), *read.unknown), (*warnings, *told, *slips))


def _refuse_slips(read: Read) -> None:
    for name in read.unknown:
        if near := meant(name, read.request, fields.MISNAMED):
            raise InvalidRequest(f"There is no field '{name}'. Did you mean '{near}'?", param=name)
