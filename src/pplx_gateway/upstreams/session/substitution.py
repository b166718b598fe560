"""Which model answered, and whether it is the one that was asked (docs/wire-session.md 2.8)."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from pplx_gateway.catalogue import SessionRoute
from pplx_gateway.upstreams.session.outlet import TAIL_CHARACTERS, TAIL_SHARE

ANONYMOUS = "turbo"  # what a question without a login is answered by; also a placeholder in early frames
ROUTER = "pplx_pro"
# These name a way of answering, not a model: whoever answers in it was Perplexity's own choice.
_FREE_CHOICE = frozenset({"turbo", "default", "pplx_pro", "pplx_reasoning", "pplx_pro_upgraded"})
_PRODUCT = "pplx_"

Sign = Literal["hint", "doubt", "proof"]
"""How much an answer, or a refusal, looks like one for a stranger. `hint`: only a dead session explains it so. `doubt`:
only a good session explains it otherwise. `proof`: the site itself says that nobody was signed in."""


class Served(NamedTuple):
    """`model` None = not known. `substitute` is set if the model is not what was asked for."""

    model: str | None = None
    substitute: str | None = None


class ModelWatch:
    """Follows the model's name through the frames. `preference` is the id that was sent."""

    def __init__(self, route: SessionRoute, preference: str) -> None:
        self._preference = preference
        self._family = {_base(name) for name in (route.upstream_id, route.thinking_id, preference) if name}
        self._display: str | None = None
        self._selected: str | None = None
        self._writer: str | None = None  # who was named while the bulk of the text came
        self._written = 0  # characters that had come when another name appeared

    def see(self, display: str | None, selected: str | None, characters: Callable[[], int]) -> None:
        """Names in a frame; `characters` counts the text so far, and is asked only where the name changed."""
        self._selected = selected or self._selected
        if not display or display == self._display:
            return
        if self._display not in (None, ANONYMOUS, ROUTER):
            self._writer, self._written = self._display, characters()
        self._display = display

    def sign(self, *, over: bool) -> Sign | None:
        """That nobody is signed in. Before the end `display_model` is none: it is a placeholder."""
        if self._selected == ANONYMOUS and self._preference not in (ANONYMOUS, "default"):
            # To whoever is signed in the site says what was selected; where the choice was left to it, this may be it.
            return "doubt" if self._preference in _FREE_CHOICE else "proof"
        if over and self._display == ANONYMOUS and self._preference not in _FREE_CHOICE:
            return "hint" if self._selected else "doubt"
        return None

    def served(self, characters: int) -> Served:
        """The verdict on the whole answer of `characters`."""
        display = self._display
        late = characters - self._written
        if self._writer and late <= TAIL_CHARACTERS and late <= TAIL_SHARE * characters:
            display = self._writer  # the newer name is an auxiliary model's, for the last words
        if display is None or (display == ROUTER and self._preference != ROUTER):
            return Served()
        if self._preference in _FREE_CHOICE:
            return Served(display)
        if _base(display) in self._family:
            return Served(display)
        if display == ANONYMOUS:
            # Seen on honoured requests too; only together with the other field is it a substitution.
            return Served(display, display) if self._selected else Served()
        return Served(display) if self._preference.startswith(_PRODUCT) else Served(display, display)


def _base(name: str) -> str:
    """The id without its thinking suffix, which is spelt in two ways."""
    return name.removesuffix("thinking").removesuffix("_")
