"""Values that fit a schema."""

import json
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pplx_gateway.emulator.fitting import MOST_VALUES, Unfit, fit, spoil

QUESTION = 'Find 12 hotels in Lyon and "Old Town" before 2030'

STRINGS = st.fixed_dictionaries(
    {"type": st.just("string")},
    optional={"minLength": st.integers(0, 30), "maxLength": st.integers(40, 60), "description": st.text(max_size=5)},
)
FORMATS = st.sampled_from(
    [{"type": "string", "format": f} for f in ("date", "date-time", "time", "email", "uri", "uuid", "ipv4", "hostname")]
)
ENUMS = st.lists(st.one_of(st.text(max_size=4), st.integers()), min_size=1, max_size=4).map(lambda v: {"enum": v})
NUMBERS = st.fixed_dictionaries(
    {"type": st.sampled_from(["integer", "number"])},
    optional={"minimum": st.integers(-50, 50), "exclusiveMaximum": st.integers(60, 90)},
)
LEAVES = st.one_of(
    STRINGS, FORMATS, ENUMS, NUMBERS, st.just({"type": "boolean"}), st.just({"type": "null"}), st.just({"const": 3})
)


def _objects(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    properties = st.dictionaries(st.sampled_from("abcdef"), children, max_size=4)
    return properties.flatmap(
        lambda found: st.sets(st.sampled_from(sorted(found) or ["a"]), max_size=len(found)).map(
            lambda required: {
                "type": "object",
                "properties": found,
                "required": sorted(required & found.keys()),
                "additionalProperties": False,
            }
        )
    )


def _nested(children: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    arrays = st.tuples(children, st.integers(0, 3)).map(lambda p: {"type": "array", "items": p[0], "minItems": p[1]})
    choices = st.lists(children, min_size=1, max_size=3).map(lambda options: {"anyOf": options})
    return st.one_of(_objects(children), arrays, choices)


SCHEMAS = st.recursive(LEAVES, _nested, max_leaves=8)


@settings(max_examples=150, deadline=None)
@given(SCHEMAS)
def test_what_is_made_fits(schema: dict[str, Any]) -> None:
    value = fit(schema, QUESTION)
    assert jsonschema_rs.is_valid(schema, value), value


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"type": "string"}, "Old Town"),
        ({"type": "string", "enum": ["Paris", "Lyon"]}, "Lyon"),
        ({"type": "string", "enum": ["low", "high"]}, "low"),
        ({"type": ["null", "string"]}, "Old Town"),
        ({"type": "integer"}, 12),
        ({"type": "integer", "minimum": 100}, 2030),
        ({"type": "number", "minimum": 3000}, 3000),
        ({"type": "integer", "multipleOf": 5}, 2030),
        ({"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}, "2026-11-02"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 2}, ["Old Town", "Lyon"]),
        ({"prefixItems": [{"type": "string"}, {"type": "integer"}]}, ["Old Town", 12]),
        ({"type": "object", "properties": {"a": {"type": "boolean"}, "b": {}}}, {"a": True, "b": "Old Town"}),
        ({"type": "object", "properties": {"a": {}, "b": {"type": "integer"}}, "required": ["b"]}, {"b": 12}),
        ({"allOf": [{"type": "object", "properties": {"a": {"const": 1}}}, {"required": ["a"]}]}, {"a": 1}),
        ({"oneOf": [{"type": "null"}, {"type": "integer"}]}, 12),
        ({"$ref": "#/$defs/city", "$defs": {"city": {"type": "string"}}}, "Old Town"),
        ({"$ref": "https://elsewhere.example/schema"}, "Old Town"),
        ({}, "Old Town"),
        (True, "Old Town"),
    ],
)
def test_words_and_numbers_of_the_question_are_used(schema: object, value: object) -> None:
    assert fit(schema, QUESTION) == value


def test_a_question_without_names_still_fills_strings() -> None:
    assert fit({"type": "string"}, "how are things?") == "things"
    assert fit({"type": "string"}, "?") == "your question"


def test_a_schema_that_contains_itself_comes_to_an_end() -> None:
    node = {
        "type": "object",
        "properties": {"next": {"anyOf": [{"$ref": "#"}, {"type": "null"}]}},
        "required": ["next"],
    }
    assert jsonschema_rs.is_valid(node, fit(node, QUESTION))
    looped = {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}
    assert fit(looped, QUESTION) == "Old Town"
    tree = {"type": "object", "properties": {"children": {"type": "array", "items": {"$ref": "#"}}}}
    assert jsonschema_rs.is_valid(tree, fit(tree, QUESTION))


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "array", "items": {}}}},
        {"type": "object", "properties": {"a": {"enum": [1, 2]}}},
        {"type": "object", "additionalProperties": False},
    ],
)
def test_what_is_spoiled_does_not_fit(schema: dict[str, Any]) -> None:
    assert not jsonschema_rs.is_valid(schema, spoil(schema, QUESTION))


@pytest.mark.parametrize("pattern", ["^(([a-z])+.)+[A-Z]([a-z])+$", r"^(a|a)*\1b$", "(unclosed"])
def test_a_pattern_that_would_be_tried_for_ever_is_given_up(pattern: str) -> None:
    assert isinstance(fit({"type": "string", "pattern": pattern}, f'Call it with "{"a" * 60}!"'), str)


def _tree(*, required: bool, **ends: object) -> dict[str, Any]:
    """A node has three like itself, or one of `ends` in the place of each."""
    below = {"anyOf": [{"$ref": "#"}, *ends.values()]} if ends else {"$ref": "#"}
    names = ["left", "middle", "right"]
    tree: dict[str, Any] = {"type": "object", "properties": dict.fromkeys(names, below)}
    return {**tree, "required": names} if required else tree


@pytest.mark.parametrize(
    "schema",
    [
        _tree(required=False),
        _tree(required=True, null={"type": "null"}),
        _tree(required=True, leaf={"type": "string"}),
        _tree(required=True, leaf={"type": "object", "properties": {"name": {"type": "string"}}}),
        {"type": "object", "properties": {name: {"type": "array", "items": {"$ref": "#"}} for name in "abc"}},
    ],
)
def test_a_schema_that_branches_into_itself_has_a_small_value(schema: dict[str, Any]) -> None:
    value = fit(schema, QUESTION)
    assert jsonschema_rs.is_valid(schema, value)
    assert len(json.dumps(value)) < 40 * MOST_VALUES


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        (_tree(required=True), "levels"),
        ({"type": "string", "minLength": 10**15}, "characters"),
        ({"type": "array", "items": {"type": "string"}, "minItems": 10**15}, "a list of"),
        ({"type": "array", "items": {"type": "string", "minLength": 90_000}, "minItems": 2}, "characters"),
        ({"type": "array", "minItems": 1000, "items": {"type": "array", "minItems": 1000}}, "values"),
        ({"type": "number", "minimum": 1, "multipleOf": 5e-324}, "step"),
    ],
)
def test_a_schema_that_no_small_value_fits_is_refused(schema: dict[str, Any], words: str) -> None:
    with pytest.raises(Unfit, match=words):
        fit(schema, QUESTION)
