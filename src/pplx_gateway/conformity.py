"""Whether a whole answer has the form that it was asked for.

Upstreams promise a form by constraint, by prompt, or not at all; callers parse what comes. So the answer is held
against the form: what was promised strictly and broken is an error, what was only tried is told.
"""

import msgspec

from pplx_gateway.answer import Batch, Finished, Warned
from pplx_gateway.errors import UpstreamError
from pplx_gateway.question import JsonObjectFormat, JsonSchemaFormat, OutputFormat
from pplx_gateway.schema import Schema

_OBJECT = {"type": "object"}


class Form:
    """`strict`: a breach is an error, else a warning."""

    def __init__(self, schema: Schema, *, strict: bool) -> None:
        self._schema = schema
        self._strict = strict

    def held_to(self, batch: Batch, text: str) -> Batch:
        """`batch`, which ends with Finished, with a warning if `text`, the whole answer, breaks the form; raises
        UpstreamError if it must not. What was cut, by a limit or a filter, and what calls a function is not looked at.
        """
        *others, finished = batch
        if not isinstance(finished, Finished) or finished.reason != "stop" or (broken := self._breach(text)) is None:
            return batch
        if self._strict:
            raise UpstreamError(f"The answer is not in the form that was asked for: {broken}.")
        return [*others, Warned(f"The answer is not in the form that was asked for: {broken}."), finished]

    def _breach(self, text: str) -> str | None:
        try:
            value = msgspec.json.decode(text)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return "it is no valid JSON"
        broken = self._schema.breach(value)
        return None if broken is None else f"it breaks the JSON Schema at '{broken}'"


def form_of(format_: OutputFormat | None) -> Form | None:
    """None where the form is free. Raises InvalidRequest for a schema that nothing can be held against; protocols have
    looked at it before."""
    match format_:
        case JsonSchemaFormat(schema=document):
            return Form(Schema(document, "schema"), strict=bool(format_.strict))
        case JsonObjectFormat():
            return Form(Schema(_OBJECT, "schema"), strict=False)
        case _:
            return None
