"""What discovery asks, and in which order: the base models that are there, then known families that are not."""

from collections.abc import Callable, Iterable, Iterator

from pplx_gateway.catalogue import Model, Tier
from pplx_gateway.discovering import Step
from pplx_gateway.families import MOST_SUCCESSORS, Family, families, family_of
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.overlay import Entry
from pplx_gateway.upstreams.session.progress import Progress

_RANKS: tuple[Tier, ...] = ("free", "pro", "max")


class Itinerary:
    """`tier`: the owner's plan as it is known now."""

    def __init__(self, keeper: ModelKeeper, tier: Callable[[], Tier]) -> None:
        self._keeper = keeper
        self._tier = tier

    def steps(self, progress: Progress) -> list[Step]:
        """All that a run would ask if the plan had everything, before successors of what has died."""
        return [*self._suspects_first(self._bases(), progress), *self._missing(progress)]

    def _bases(self) -> Iterator[Step]:
        for entry in self._keeper.entries.values():
            route = entry.model.session
            if route is not None and _watched(entry):
                yield Step(entry.model.id, route.upstream_id)

    def _suspects_first(self, steps: Iterable[Step], progress: Progress) -> list[Step]:
        """Those that were dead, then those that the site's list does not have, then the longest unasked."""
        picker = self._keeper.saved.picker

        def order(step: Step) -> tuple[bool, bool, float]:
            listed = not picker or step.upstream_id in picker
            return (step.id not in progress.dead, listed, progress.probed.get(step.id, 0.0))

        return sorted(steps, key=order)

    def _missing(self, progress: Progress) -> list[Step]:
        """The first model of each known family that no entry is of, and none was removed; the highest version that the
        site lists, else the one that the table names."""
        entries = self._keeper.entries.values()
        named = self._keeper.saved.models.keys() | self._keeper.entries.keys()
        there = {family.id for entry in entries if (family := _family(entry.model)) is not None}
        listed = self._keeper.saved.picker
        found = [
            Step(family.id, family.newest(listed) or family.first, missing=True)
            for family in families()
            if family.first is not None and family.id not in named and family.id not in there
        ]
        return sorted(found, key=lambda step: progress.probed.get(step.id, 0.0))

    def candidates(self, upstream_id: str) -> list[str]:
        """Later versions: those that the site lists first, then the nearest."""
        family = family_of(upstream_id)
        names = family.successors(upstream_id) if family else []
        picker = self._keeper.saved.picker
        return sorted(names, key=lambda name: name not in picker)[:MOST_SUCCESSORS]

    def tier_of(self, step: Step) -> Tier:
        entry = self._keeper.entries.get(step.id)
        if entry is not None and entry.model.session is not None:
            return entry.model.session.tier
        row = self._keeper.saved.picker.get(step.upstream_id)
        family = family_of(step.upstream_id)
        return (row.tier if row else None) or (family.tier if family else "pro")

    def affordable(self, step: Step) -> bool:
        """Whether the owner's plan has it."""
        return _RANKS.index(self.tier_of(step)) <= _RANKS.index(self._tier())


def _watched(entry: Entry) -> bool:
    """Named models with a version: what is chosen by the site, researches, is disabled or pinned is left alone."""
    model = entry.model
    named = model.session is not None and model.session.mode == "copilot" and model.session.tier != "free"
    return named and model.enabled and not model.research and not entry.pinned and _family(model) is not None


def _family(model: Model) -> Family | None:
    return family_of(model.session.upstream_id) if model.session else None
