"""Keys of a body that nobody here knows, at any depth: they have no effect, and callers are told so.

A field whose annotation carries `SKIPPED` is not looked into: the long lists of a conversation would be read twice.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple, cast

import msgspec
from msgspec import inspect

SKIPPED = msgspec.Meta(extra={"unknown_keys": "skipped"})


class Shape(NamedTuple):
    """What may stand in one place: structs by their tag (None = untagged), each as its known keys, and the elements
    of a list."""

    tag_field: str | None
    structs: Mapping[object, "Keys"]
    elements: "Shape | None"


Keys = Mapping[str, Shape | None]
"""Known keys; None where nothing below a key can be unknown."""


def unknown_paths(found: Mapping[str, object], type_: type[msgspec.Struct]) -> Iterator[str]:
    """Paths such as `reasoning.context` or `tools[0].cache`, in the order of `found`, which must fit `type_`.

    Its values may be decoded or raw; raw ones are read only where a struct can stand.
    """
    return _paths(found, _keys_of(type_), "")


def _paths(found: Mapping[str, object], known: Keys, at: str) -> Iterator[str]:
    for key, value in found.items():
        if key not in known:
            yield f"{at}{key}"
        elif (shape := known[key]) is not None:
            yield from _below(_opened(value), shape, f"{at}{key}")


def _below(value: object, shape: Shape, at: str) -> Iterator[str]:
    if isinstance(value, dict):
        tag = value.get(shape.tag_field)
        keys = shape.structs.get(msgspec.json.decode(tag) if isinstance(tag, msgspec.Raw) else tag)
        if keys is not None:
            yield from _paths(value, keys, f"{at}.")
    elif isinstance(value, list) and shape.elements is not None:
        for index, element in enumerate(value):
            yield from _below(_opened(element), shape.elements, f"{at}[{index}]")


def _opened(value: object) -> object:
    """Raw objects and lists one level deep; raw scalars stay as they are."""
    if not isinstance(value, msgspec.Raw):
        return value
    match bytes(memoryview(value)[:1]):
        case b"{":
            return _object.decode(value)
        case b"[":
            return _list.decode(value)
        case _:
            return value


_object = msgspec.json.Decoder(dict[str, msgspec.Raw])
_list = msgspec.json.Decoder(list[msgspec.Raw])


@cache
def _keys_of(type_: type[msgspec.Struct]) -> Keys:
    return _keys(cast(inspect.StructType, inspect.type_info(type_)))


def _keys(struct: inspect.StructType) -> Keys:
    known = {field.encode_name: _shape(field.type) for field in struct.fields}
    return known if struct.tag_field is None else {**known, struct.tag_field: None}


def _shape(type_: inspect.Type) -> Shape | None:
    """None where no struct can stand."""
    match type_:
        case inspect.Metadata(extra={"unknown_keys": "skipped"}):
            return None
        case inspect.Metadata(type=inner):
            return _shape(inner)
        case inspect.StructType(tag=tag, tag_field=tag_field):
            return Shape(tag_field, {tag: _keys(type_)}, None)
        case inspect.ListType(item_type=item):
            elements = _shape(item)
            return elements and Shape(None, {}, elements)
        case inspect.UnionType(types=types):
            return _merged([shape for each in types if (shape := _shape(each))])
        case _:
            return None


def _merged(shapes: list[Shape]) -> Shape | None:
    if not shapes:
        return None
    return Shape(
        tag_field=next((shape.tag_field for shape in shapes if shape.tag_field), None),
        structs={tag: keys for shape in shapes for tag, keys in shape.structs.items()},
        elements=next((shape.elements for shape in shapes if shape.elements), None),
    )
