"""How the session's model ids are spelt, as data: where the version stands, and how the thinking variant is called.

`data/families.json` holds one row a family. Ids turn over every few weeks, and their spelling follows no rule.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Literal

import msgspec

from pplx_gateway.catalogue import Tier

MOST_SUCCESSORS = 10  # up to a whole version more

_PLACE = "{version}"
# The numbers of a version in an id, and how one is written in tenths.
_NUMBERS: dict[str, tuple[str, str]] = {
    "joined": (r"(\d)(\d)", "{major}{minor}"),
    "underscored": (r"(\d)_(\d)", "{major}_{minor}"),
    "whole": (r"(\d{1,2})", "{major}"),
}


class Family(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`id` is ours. `first` = the upstream's id to begin with where the family is not in the list yet; None = it is in
    the list that a release brings. `former`: how ids of the family were spelt before."""

    id: str
    upstream_id: str
    numbers: Literal["joined", "underscored", "whole"]
    name: str
    owner: str
    thinking_id: str | None = None
    tier: Tier = "pro"
    first: str | None = None
    former: tuple[str, ...] = ()

    def version(self, upstream_id: str) -> int | None:
        """In tenths: 56 for 5.6. None for an id of another family."""
        found = _pattern(self.upstream_id, self.numbers).fullmatch(upstream_id)
        if found is None:
            return None
        return int(found[1]) * 10 + (int(found[2]) if found.re.groups > 1 else 0)

    def knows_later(self, upstream_id: str, than: str) -> bool:
        """True if `upstream_id` of this family is later than `than`, by its version or because that is spelt as ids
        were before."""
        ours, theirs = self.version(upstream_id), self.version(than)
        if any(_pattern(former, self.numbers).fullmatch(than) for former in self.former):
            return ours is not None
        return ours is not None and theirs is not None and theirs < ours

    def thinking(self, version: int) -> str | None:
        return self._written(self.thinking_id, version) if self.thinking_id else None

    def title(self, version: int) -> str:
        major, minor = divmod(version, 10)
        return self.name.replace(_PLACE, f"{major}.{minor}" if minor else f"{major}")

    def successors(self, upstream_id: str) -> list[str]:
        """The ids of later versions, the nearest first."""
        version = self.version(upstream_id)
        if version is None:
            return []
        step = 10 if self.numbers == "whole" else 1
        later = range(version + step, version + MOST_SUCCESSORS + 1, step)
        return [self._written(self.upstream_id, number) for number in later if number < 100]

    def newest(self, upstream_ids: Iterable[str]) -> str | None:
        """The highest version among them; None if none is of this family."""
        found = {version: name for name in upstream_ids if (version := self.version(name)) is not None}
        return found[max(found)] if found else None

    def _written(self, template: str, version: int) -> str:
        major, minor = divmod(version, 10)
        return template.replace(_PLACE, _NUMBERS[self.numbers][1].format(major=major, minor=minor))


class FamilyFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    families: tuple[Family, ...]


@cache
def families() -> tuple[Family, ...]:
    text = files("pplx_gateway").joinpath("data/families.json").read_bytes()
    return msgspec.json.decode(text, type=FamilyFile).families


def family_of(upstream_id: str) -> Family | None:
    return next((family for family in families() if family.version(upstream_id) is not None), None)


def spelt_thinking(upstream_id: str) -> str | None:
    """The thinking variant of a base id, by the table; None where the table knows none."""
    family = family_of(upstream_id)
    version = family.version(upstream_id) if family else None
    return family.thinking(version) if family and version is not None else None


@cache
def _pattern(template: str, numbers: str) -> re.Pattern[str]:
    before, _, after = template.partition(_PLACE)
    return re.compile(re.escape(before) + _NUMBERS[numbers][0] + re.escape(after))
