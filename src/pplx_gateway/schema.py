"""JSON Schema, checked by jsonschema-rs.

Left to itself that library loads what a `$ref` names, over HTTP and from files, so it is given a retriever that loads
nothing. A `$schema` counts if it is one of the drafts that the library knows by heart.
"""

from collections.abc import Mapping
from typing import NoReturn

from pplx_gateway.errors import InvalidRequest

_LONGEST_REASON = 200
_LONGEST_PATH = 200


class Schema:
    """A schema that values can be held against. Raises InvalidRequest that names `param` where it is none, is nested
    too deep, or refers to something outside itself."""

    def __init__(self, document: Mapping[str, object], param: str) -> None:
        import jsonschema_rs  # noqa: PLC0415 - six megabytes and 20 ms, which a gateway without schemas does without

        self.document = document
        try:
            self._validator = jsonschema_rs.validator_for(dict(document), retriever=_load_nothing)
        except ValueError as error:  # of which jsonschema_rs.ValidationError is one; others say that it is too deep
            message = f"'{param}' is no JSON Schema that can be used: {_reason(error)}"
            raise InvalidRequest(message, param=param) from None

    def breach(self, value: object) -> str | None:
        """Which rule `value` breaks first, as its path in the schema (`properties/city/type`); None if it fits. The
        path holds nothing of the value."""
        try:
            error = next(iter(self._validator.iter_errors(value)), None)
        except ValueError:
            return "its depth"
        return "/".join(map(str, error.schema_path))[:_LONGEST_PATH] if error is not None else None


# A function without parameters takes none.
_NO_PARAMETERS: Mapping[str, object] = {"type": "object", "properties": {}, "additionalProperties": False}


def of_arguments(parameters: Mapping[str, object] | None, param: str, *, strict: bool = False) -> Schema:
    """What a function's arguments are held against; `strict` as OpenAI means it (see `closed`). Raises as Schema does,
    and for what does not describe an object."""
    if parameters is None:
        return Schema(_NO_PARAMETERS, param)
    schema = Schema(parameters, param)
    kinds = parameters.get("type", "object")
    if "object" not in (kinds if isinstance(kinds, list) else [kinds]):
        raise InvalidRequest(f"'{param}' must describe an object: arguments are given by name.", param=param)
    return Schema(closed(parameters), param) if strict else schema


_UNDER_NAMES = ("properties", "patternProperties", "$defs", "definitions")
_LISTED = ("anyOf", "oneOf", "prefixItems")
_SINGLE = ("items", "additionalProperties")


def closed(schema: Mapping[str, object]) -> dict[str, object]:
    """`schema` as OpenAI's `strict` reads it: objects take the properties that are named, and no others, also where it
    does not say so. Parts that are combined by `allOf` know nothing of each other's properties and stay as they are."""
    found = dict(schema)
    for key in _UNDER_NAMES:
        if isinstance(under := found.get(key), Mapping):
            found[key] = {name: _part(part) for name, part in under.items()}
    for key in _LISTED:
        if isinstance(listed := found.get(key), list):
            found[key] = [_part(part) for part in listed]
    for key in _SINGLE:
        if key in found:
            found[key] = _part(found[key])
    if "properties" in found and "allOf" not in found:
        found.setdefault("additionalProperties", False)
    return found


def _part(schema: object) -> object:
    return closed(schema) if isinstance(schema, Mapping) else schema


def _load_nothing(uri: str) -> NoReturn:
    raise ValueError(f"nothing is loaded from outside, and '{uri}' is outside")


def _reason(error: ValueError) -> str:
    message = str(getattr(error, "message", error))
    return " ".join(message.split())[:_LONGEST_REASON].rstrip(".") + "."
