"""Schemas: what they take, where a value breaks them, and that `strict` closes them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.schema import Schema, closed, of_arguments

CITY: dict[str, object] = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
DRAFTS = (
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
KEYWORDS = st.sampled_from(
    [
        "type",
        "properties",
        "items",
        "required",
        "$ref",
        "$schema",
        "$id",
        "enum",
        "pattern",
        "anyOf",
        "minimum",
        "$defs",
    ]
)


def nested(levels: int, inner: Any) -> Any:
    for _ in range(levels):
        inner = {"properties": {"a": inner}}
    return inner


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"city": "Lyon"}, None),
        ({"city": "Lyon", "unit": "C"}, None),
        ({"city": 5}, "properties/city/type"),
        ({}, "required"),
        ([], "type"),
    ],
)
def test_a_breach_is_named_by_its_path_in_the_schema(value: object, path: str | None) -> None:
    assert Schema(CITY, "p").breach(value) == path


@pytest.mark.parametrize("draft", DRAFTS)
def test_known_drafts_need_no_loading(draft: str) -> None:
    assert Schema({"$schema": draft, **CITY}, "p").breach({"city": 5}) == "properties/city/type"


def test_a_schema_may_refer_to_itself() -> None:
    schema = Schema({"$defs": {"n": {"type": "integer"}}, "properties": {"a": {"$ref": "#/$defs/n"}}}, "p")
    assert schema.breach({"a": "x"}) == "$defs/n/type"


def test_a_schema_without_end_is_refused_and_a_value_without_end_is_none_that_hangs() -> None:
    with pytest.raises(InvalidRequest) as raised:
        Schema(nested(5000, {}), "tools[0].parameters")
    assert raised.value.param == "tools[0].parameters"
    assert len(raised.value.message) < 400
    everything = Schema({"$ref": "#/$defs/n", "$defs": {"n": {"additionalProperties": {"$ref": "#/$defs/n"}}}}, "p")
    value: dict[str, Any] = {}
    for _ in range(5000):
        value = {"a": value}
    everything.breach(value)


@given(st.dictionaries(KEYWORDS | st.text(max_size=5), JSON, max_size=5))
def test_whatever_comes_is_a_schema_or_refused_by_name(document: dict[str, object]) -> None:
    try:
        of_arguments(document, "there", strict=True).breach({"a": 1})
    except InvalidRequest as error:
        assert error.param == "there"
        assert "\n" not in error.message


def test_strict_takes_no_property_that_is_not_named_at_any_depth() -> None:
    inner = {"properties": {"x": {"type": "integer"}}}
    document = {
        "properties": {"a": inner, "b": {"items": inner}, "c": {"anyOf": [inner, {"type": "null"}]}},
        "$defs": {"d": inner},
    }
    schema = of_arguments(document, "p", strict=True)
    loose = of_arguments(document, "p")
    for value in ({"z": 1}, {"a": {"y": 1}}, {"b": [{"x": 1}, {"y": 1}]}, {"c": {"y": 1}}):
        assert schema.breach(value) is not None, value
        assert loose.breach(value) is None, value
    assert schema.breach({"a": {"x": 1}, "b": [{}], "c": None}) is None


def test_strict_leaves_alone_what_says_something_itself() -> None:
    free = {"properties": {"a": {}}, "additionalProperties": {"type": "string"}}
    assert closed(free) == free
    combined = {"allOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}], "properties": {"c": {}}}
    assert Schema(closed(combined), "p").breach({"a": 1, "b": 1, "c": 1}) is None
    values = {"default": {"properties": {"a": 1}}, "enum": [{"properties": {}}], "const": {"properties": {}}}
    assert closed(values) == values


def test_no_parameters_take_no_arguments() -> None:
    assert of_arguments(None, "p").breach({}) is None
    assert of_arguments(None, "p").breach({"a": 1}) == "additionalProperties"


@pytest.mark.parametrize("kinds", ["object", ["object", "null"]])
def test_parameters_describe_an_object(kinds: object) -> None:
    assert of_arguments({"type": kinds}, "p").breach({}) is None
