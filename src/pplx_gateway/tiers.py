"""The tiers of the model `router`: what answers simple, medium and complex questions."""

from collections.abc import Callable
from typing import NamedTuple

from pplx_gateway.catalogue import Model
from pplx_gateway.complexity import TIERS, Tier
from pplx_gateway.question import Effort


class Aim(NamedTuple):
    """A target of a tier, and how hard it should think; None = as the question says."""

    model: Model
    effort: Effort | None = None


class Tiers(NamedTuple):
    """`spending`: the decider, which is paid, may be asked."""

    aims: dict[Tier, tuple[Aim, ...]]
    spending: bool

    def from_tier(self, tier: Tier) -> list[Aim]:
        """The tier's own targets, then those of higher tiers, then those of lower ones."""
        place = TIERS.index(tier)
        return [aim for each in (*TIERS[place:], *reversed(TIERS[:place])) for aim in self.aims[each]]

    def within(self, allowed: Callable[[Model], bool]) -> "Tiers":
        """Those targets alone that are allowed."""
        kept = {tier: tuple(aim for aim in aims if allowed(aim.model)) for tier, aims in self.aims.items()}
        return self._replace(aims=kept)
