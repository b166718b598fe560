"""The arguments of a call that a conversation already holds: JSON text, as the model wrote it."""

import msgspec

from pplx_gateway.errors import InvalidRequest


def arguments_text(given: str, at: str) -> str:
    """The text itself, and `{}` for none at all, as some models have it. Raises InvalidRequest that names `at`: whoever
    reads the conversation next would take the text for the call's arguments."""
    if not given.strip():
        return "{}"
    try:
        msgspec.json.decode(given)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise InvalidRequest(f"'{at}' must be JSON text, such as \"{{}}\".", param=at) from None
    return given
