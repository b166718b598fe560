"""Values that fit a JSON Schema: function arguments and structured answers, filled with the words of the question.

Whatever a schema says, its value is small: past AMPLE_VALUES only what is required is made, past MOST_VALUES,
MOST_CHARACTERS or DEEPEST nothing, and Unfit says so.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from pplx_gateway.emulator import words
from pplx_gateway.emulator.prose import subject_of
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.schema import Schema

Rule = Mapping[str, Any]
MAX_DEPTH = 12
DEEPEST = 100
AMPLE_VALUES = 200
MOST_VALUES = 2000
MOST_CHARACTERS = 100_000


class Unfit(ValueError):
    """No value is made for a schema; the message says why."""


def fit(schema: object, question: str) -> Any:
    """A value for `schema`. Strings are quoted words of `question`, then its names; numbers are its numbers where they
    fit. Objects carry what is required, or every property where nothing is. Raises Unfit."""
    return Fitter(schema if isinstance(schema, Mapping) else {}, question).value()


def spoil(schema: object, question: str) -> Any:
    """Arguments that do not fit `schema`: a wrong type where one is set, else a property that nobody asked for. Raises
    Unfit."""
    fitted = fit(schema, question)
    arguments = fitted if isinstance(fitted, dict) else {}
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    for name, rule in properties.items():
        if isinstance(rule, Mapping) and ("type" in rule or "enum" in rule):
            return {**arguments, name: [{"not": "what"}, "was asked for"] if rule.get("type") != "array" else "no list"}
    return {**arguments, "unasked": True}


def answering(schema: Mapping[str, Any], question: str, answer: str) -> Any:
    """A value for a `schema` that an answer must have; where that allows anything, the question and `answer`. Raises
    Unfit."""
    if schema.get("properties") or schema.get("required") or schema.get("additionalProperties") is False:
        return fit(schema, question)
    return {"question": question, "answer": answer}


class Fitter:
    """Fills one schema. Words are given out in order and start again when they run out."""

    def __init__(self, root: Rule, question: str) -> None:
        self._root = root
        self._words = words.telling_words(question) or (subject_of(question),)
        self._numbers = words.numbers_in(question)
        self._given = 0
        self._made = 0
        self._characters = 0

    def value(self) -> Any:
        return self._value(self._root, 0)

    def _value(self, schema: object, depth: int) -> Any:
        self._made += 1
        if self._made > MOST_VALUES or depth > DEEPEST:
            raise Unfit(f"the schema wants more than {MOST_VALUES} values, or more than {DEEPEST} levels of them")
        rule = self._resolved(schema, depth)
        if "const" in rule:
            return rule["const"]
        if rule.get("enum"):
            return self._of_enum(rule["enum"])
        maker = _MAKERS.get(_type_of(rule))
        return maker(self, rule, depth) if maker else None

    def _sparing(self, depth: int) -> bool:
        """What need not be made is left out from here on."""
        return depth >= MAX_DEPTH or self._made > AMPLE_VALUES

    def _resolved(self, schema: object, depth: int) -> Rule:
        """`schema` without `$ref`, `allOf`, `anyOf` and `oneOf`: the first branch that is not null is taken."""
        rule: Rule = schema if isinstance(schema, Mapping) else {}
        for _ in range(MAX_DEPTH):
            if "$ref" in rule:
                rule = {**self._target(str(rule["$ref"])), **{k: v for k, v in rule.items() if k != "$ref"}}
            elif rule.get("allOf"):
                rule = _merged([{k: v for k, v in rule.items() if k != "allOf"}, *rule["allOf"]])
            elif branches := rule.get("anyOf") or rule.get("oneOf"):
                rest = {k: v for k, v in rule.items() if k not in ("anyOf", "oneOf")}
                rule = _merged([rest, _branch(branches, sparing=self._sparing(depth))])
            else:
                break
        return rule

    def _target(self, reference: str) -> Rule:
        """What `#/$defs/name` stands for; nothing is ever fetched."""
        found: Any = self._root if reference.startswith("#") else {}
        for part in reference.lstrip("#").strip("/").split("/"):
            name = part.replace("~1", "/").replace("~0", "~")
            if name:
                found = found.get(name, {}) if isinstance(found, Mapping) else {}
        return found if isinstance(found, Mapping) else {}

    def _of_enum(self, options: list[Any]) -> Any:
        """The option that the question speaks of, else the first."""
        spoken = [word.lower() for word in self._words]
        return next((o for o in options if isinstance(o, str) and o.lower() in spoken), options[0])

    def word(self) -> str:
        word = self._words[self._given % len(self._words)]
        self._given += 1
        return word

    def _object(self, rule: Rule, depth: int) -> dict[str, Any]:
        properties = rule.get("properties") or {}
        wanted = rule.get("required", properties)
        if self._sparing(depth) and "required" not in rule:
            return {}
        return {str(name): self._value(properties.get(name, {}), depth + 1) for name in wanted}

    def _array(self, rule: Rule, depth: int) -> list[Any]:
        prefix = rule.get("prefixItems") or []
        least = max(_count(rule, "minItems", 0), len(prefix) if "items" not in rule else 0)
        most = _count(rule, "maxItems", max(least, 1))
        length = least if self._sparing(depth) else min(max(least, 1), most)
        if length > MOST_VALUES:
            raise Unfit(f"the schema wants a list of {length} items; {MOST_VALUES} values are made at the most")
        rules = [*prefix, *[rule.get("items", {})] * length][:length]
        items = [self._value(item, depth + 1) for item in rules]
        return _distinct(items) if rule.get("uniqueItems") else items

    def _string(self, rule: Rule, _depth: int) -> str:
        form = rule.get("format")
        if form in _FORMATS:
            return _FORMATS[form]
        pattern = rule.get("pattern")
        if isinstance(pattern, str):
            return self._by_pattern(pattern)
        text = self.word()
        least = _count(rule, "minLength", 0)
        self._characters += least
        if self._characters > MOST_CHARACTERS:
            raise Unfit(f"the schema wants more than {MOST_CHARACTERS} characters")
        while len(text) < least:
            text += f" {text}"
        return text[: _count(rule, "maxLength", len(text))]

    def _by_pattern(self, pattern: str) -> str:
        """A word, or a common form, that `pattern` takes; a word all the same if none does, or if it is no pattern. The
        validator gives up on a pattern that would be tried for ever, as `re` does not."""
        try:
            schema = Schema({"pattern": pattern}, "pattern")
        except InvalidRequest:
            return self.word()
        return next((text for text in (*self._words, *_FORMS) if schema.breach(text) is None), self.word())

    def _number(self, rule: Rule, _depth: int) -> float:
        return self._numeric(rule, whole=False)

    def _integer(self, rule: Rule, _depth: int) -> int:
        return int(self._numeric(rule, whole=True))

    def _numeric(self, rule: Rule, *, whole: bool) -> float:
        try:
            return self._stepped(rule, whole=whole)
        except OverflowError:
            raise Unfit("the schema wants a number with a step that is too small for it") from None

    def _stepped(self, rule: Rule, *, whole: bool) -> float:
        low, high = _bounds(rule, whole=whole)
        step = rule.get("multipleOf") or (1 if whole else None)
        asked = [n for n in self._numbers if low <= n <= high and (not step or math.isclose(n / step, round(n / step)))]
        if asked:
            return asked[0]
        start = low if math.isfinite(low) else min(1.0, high)
        return math.ceil(start / step) * step if step else start

    def _boolean(self, _rule: Rule, _depth: int) -> bool:
        return True

    def _null(self, _rule: Rule, _depth: int) -> None:
        return None


_MAKERS: dict[str, Callable[[Fitter, Rule, int], Any]] = {
    "object": Fitter._object,
    "array": Fitter._array,
    "string": Fitter._string,
    "number": Fitter._number,
    "integer": Fitter._integer,
    "boolean": Fitter._boolean,
    "null": Fitter._null,
}
_FORMATS = {
    "date": "2026-11-02",
    "date-time": "2026-11-02T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT45M",
    "email": "asker@mail.example",
    "hostname": "notes.example",
    "ipv4": "192.0.2.7",
    "ipv6": "2001:db8::7",
    "uri": "https://notes.example/page",
    "uuid": "5b0f1c1e-0000-4000-8000-0000000000a1",
}
_FORMS = (
    "2026-11-02",
    "09:30",
    "a",
    "A",
    "ab",
    "AB",
    "EUR",
    "1",
    "12",
    "2026",
    "12345",
    "a-b",
    "a_b",
    "#a1b2c3",
    "1.0.0",
    *_FORMATS.values(),
)
_TYPE_KEYS = (
    ("object", ("properties", "required", "additionalProperties")),
    ("array", ("items", "prefixItems", "minItems")),
    ("string", ("minLength", "maxLength", "pattern", "format")),
    ("number", ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum")),
)


def _type_of(rule: Rule) -> str:
    """The type that `rule` names, or that its keys tell; a string where nothing does."""
    named = rule.get("type")
    if isinstance(named, list):
        return next((str(kind) for kind in named if kind != "null"), "null")
    if isinstance(named, str):
        return named
    return next((kind for kind, keys in _TYPE_KEYS if any(key in rule for key in keys)), "string")


def _branch(branches: list[Any], *, sparing: bool) -> Rule:
    """The first branch that is not null; of those of a recursive schema, where its bottom must be found, the one that
    has the least in it."""
    plain = [branch for branch in branches if isinstance(branch, Mapping)]
    if sparing:
        return min(plain, key=_weight, default={})
    return next((branch for branch in plain if branch.get("type") != "null"), plain[0] if plain else {})


def _weight(branch: Rule) -> int:
    """Null, then what has no parts, then what has, then what stands elsewhere."""
    if branch.get("type") == "null":
        return 0
    return 1 + sum(key in branch for key in ("properties", "items", "allOf", "anyOf", "oneOf")) + 9 * ("$ref" in branch)


def _count(rule: Rule, key: str, default: int) -> int:
    found = rule.get(key, default)
    return int(found) if isinstance(found, (int, float)) and math.isfinite(found) else default


def _merged(rules: list[Any]) -> Rule:
    merged: dict[str, Any] = {}
    for rule in rules:
        for key, value in (rule if isinstance(rule, Mapping) else {}).items():
            if key == "properties":
                merged[key] = {**merged.get(key, {}), **value}
            elif key == "required":
                merged[key] = list(dict.fromkeys([*merged.get(key, []), *value]))
            else:
                merged[key] = value
    return merged


def _bounds(rule: Rule, *, whole: bool) -> tuple[float, float]:
    nudge = 1.0 if whole else 1e-6
    low, high = float(rule.get("minimum", -math.inf)), float(rule.get("maximum", math.inf))
    above, below = rule.get("exclusiveMinimum"), rule.get("exclusiveMaximum")
    if isinstance(above, (int, float)) and not isinstance(above, bool):
        low = max(low, (math.floor(above) if whole else above) + nudge)
    if isinstance(below, (int, float)) and not isinstance(below, bool):
        high = min(high, (math.ceil(below) if whole else below) - nudge)
    return low, high


def _distinct(items: list[Any]) -> list[Any]:
    """`items` with strings and numbers made different from each other."""
    seen: list[Any] = []
    for place, item in enumerate(items):
        changed = (
            f"{item} {place}" if isinstance(item, str) else item + place if isinstance(item, (int, float)) else item
        )
        seen.append(changed if item in seen else item)
    return seen
