import json
from typing import Annotated, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.unknown import SKIPPED, unknown_paths


class Red(msgspec.Struct, tag_field="kind", tag="red"):
    depth: int = 0


class Blue(msgspec.Struct, tag_field="kind", tag="blue"):
    height: int = 0


class Plain(msgspec.Struct):
    size: int = 0
    free: dict[str, object] | None = None


class Body(msgspec.Struct):
    plain: Plain | None = None
    many: list[Plain] | None = None
    either: Plain | list[Plain] | str | None = None
    colours: list[Red | Blue] | None = None
    skipped: Annotated[list[Plain] | None, SKIPPED] = None
    number: int = 0


def unknown(**fields: Any) -> list[str]:
    body = json.dumps(fields, indent=1).encode()
    decode(body, Body)
    by_bytes = list(unknown_keys(body, Body))
    assert list(unknown_paths(fields, Body)) == by_bytes
    return by_bytes


@pytest.mark.parametrize(
    ("fields", "paths"),
    [
        ({}, []),
        ({"number": 1, "odd": 1}, ["odd"]),
        ({"plain": {"size": 1, "odd": {"a": 1}}}, ["plain.odd"]),
        ({"plain": None, "odd": None}, ["odd"]),
        ({"plain": {"free": {"anything": {"goes": 1}}}}, []),
        ({"many": [{"size": 1}, {"odd": 1}, {"a.b": 1}]}, ["many[1].odd", "many[2].a.b"]),
        ({"either": {"odd": 1}}, ["either.odd"]),
        ({"either": [{"odd": 1}]}, ["either[0].odd"]),
        ({"either": "odd"}, []),
        ({"colours": [{"kind": "red", "depth": 1}, {"kind": "blue", "depth": 1}]}, ["colours[1].depth"]),
        ({"skipped": [{"odd": 1}]}, []),
    ],
)
def test_keys_that_nobody_knows_are_told_by_their_path(fields: dict[str, Any], paths: list[str]) -> None:
    assert unknown(**fields) == paths


PLAIN = st.fixed_dictionaries({}, optional={"size": st.integers(0, 9), "free": st.dictionaries(st.text(), st.none())})
ODD = st.dictionaries(st.sampled_from(["x", "y"]), st.none() | st.lists(st.integers()), max_size=2)


@given(st.lists(st.tuples(PLAIN, ODD), max_size=4))
def test_what_is_added_is_what_is_told(many: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    told = unknown(many=[{**plain, **odd} for plain, odd in many])
    assert told == [f"many[{index}].{key}" for index, (_, odd) in enumerate(many) for key in odd]
