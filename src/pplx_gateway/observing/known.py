"""What is known of either wire, as data (`data/wire.json`), and what a payload holds beside it. Without I/O.

A place is an object on the wire: which keys it can have, which of them hold places in turn, and which key tells its
kind. A `*` at the end or the begin of a name stands for anything.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal, NamedTuple

import msgspec

WireName = Literal["session", "api"]
Kind = Literal["block", "step", "event", "item", "field", "form"]
MOST_ENTRIES = 50
"""Of a list so many are looked at; the others are like them."""


class Surprise(NamedTuple):
    """`name` comes from the wire as it is: whoever shows it checks it first."""

    kind: Kind
    name: str


class Names:
    """A set of names; those with a star are rare, and tried last."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._exact = frozenset(name for name in names if "*" not in name)
        self._begins = tuple(name[:-1] for name in names if name.endswith("*"))
        self._ends = tuple(name[1:] for name in names if name.startswith("*"))

    def __contains__(self, name: str) -> bool:
        return name in self._exact or name.startswith(self._begins) or name.endswith(self._ends)


class PlaceForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    known: tuple[str, ...]
    within: Mapping[str, str] = {}
    kind: str | None = None
    kinds: tuple[str, ...] = ()


class WireForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    begin: str
    places: Mapping[str, PlaceForm]


class _Place(NamedTuple):
    name: str
    known: Names
    within: Mapping[str, str]
    kind: str | None
    kinds: Names


# Places whose kinds are told by a word of their own; those of any other place are a field's values.
_KINDS: Mapping[str, Kind] = {"block": "block", "step": "step", "event": "event", "item": "item"}


class KnownWire:
    def __init__(self, form: WireForm) -> None:
        self._begin = form.begin
        self._places = {
            name: _Place(name, Names(place.known), place.within, place.kind, Names(place.kinds))
            for name, place in form.places.items()
        }

    def knows(self, kind: Kind, name: str) -> bool:
        place = self._places.get(kind)
        return place is not None and name in place.kinds

    def surprises(self, payload: Any) -> Iterator[Surprise]:
        """Those of one frame or event, again where they come again."""
        return self._at(payload, self._begin)

    def _at(self, value: Any, name: str) -> Iterator[Surprise]:
        if isinstance(value, list):
            for entry in value[:MOST_ENTRIES]:
                yield from self._at(entry, name)
        elif isinstance(value, dict):
            yield from self._object(value, self._places[name])

    def _object(self, value: dict[str, Any], place: _Place) -> Iterator[Surprise]:
        found = value.get(place.kind) if place.kind else None
        if isinstance(found, str) and found not in place.kinds:
            kind = _KINDS.get(place.name)
            yield Surprise(kind, found) if kind else Surprise("field", f"{place.name}.{place.kind}.{found}")
        for key, inner in value.items():
            if key not in place.known:
                yield Surprise("field", f"{place.name}.{key}")
            elif (below := place.within.get(key)) is not None:
                yield from self._at(inner, below)


@cache
def known_wire(name: WireName) -> KnownWire:
    data = files("pplx_gateway").joinpath("data/wire.json").read_bytes()
    return KnownWire(msgspec.json.decode(data, type=dict[WireName, WireForm])[name])
