"""Output formats that the site does not have, asked for in words. Whether it obeys is not guaranteed, and told so."""

import msgspec

from pplx_gateway.answer import Warned
from pplx_gateway.question import JsonObjectFormat, JsonSchemaFormat, OutputFormat

_OBJECT = "Answer with one JSON object and nothing else: no prose, no code fence, no citation marks."
TRIED = Warned("The answer's format was asked for in words only; Perplexity may not keep to it.")


def format_instruction(format_: OutputFormat | None) -> str | None:
    """What is added to the instructions; it never passes the whitelist, being ours."""
    match format_:
        case JsonObjectFormat():
            return _OBJECT
        case JsonSchemaFormat(schema=schema):
            return f"{_OBJECT} It must be valid under this JSON Schema: {msgspec.json.encode(schema).decode()}"
        case _:
            return None
