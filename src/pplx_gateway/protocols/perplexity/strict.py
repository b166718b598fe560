"""Bodies of Perplexity's own endpoints, which take no key that they do not know."""

from typing import TypeVar

import msgspec

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest

T = TypeVar("T", bound=msgspec.Struct)


def decode_strict(body: bytes, type_: type[T]) -> T:
    """Raises InvalidRequest as `decode` does, and for the first key that `type_` does not know."""
    value = decode(body, type_)
    for path in unknown_keys(body, type_):
        raise unknown_field(path)
    return value


def unknown_field(path: str) -> InvalidRequest:
    return InvalidRequest(f"There is no field '{path[:200]}' here. Leave it out.", param=path[:200])
