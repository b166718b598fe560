"""Stop strings, honoured by cutting the answer where the first one is complete."""

from collections.abc import Sequence

from pplx_gateway.thinking import overlap


class StopCutter:
    """`feed` returns text that is surely before any stop string; after a hit it returns nothing.

    The hit is the stop string that ends first, as a model would have met it; of two that end together the longer one.
    `found` is that one. How the text was cut does not matter. `close` returns what was held back; feeding may go on
    after it.
    """

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [stop for stop in stops if stop]
        self._held = ""
        self.found: str | None = None

    @property
    def hit(self) -> bool:
        return self.found is not None

    def feed(self, text: str) -> str:
        if self.hit:
            return ""
        text = self._held + text
        hits = [(at + len(stop), at, stop) for stop in self._stops if (at := text.find(stop)) >= 0]
        if hits:
            _, at, self.found = min(hits)
            self._held = ""
            return text[:at]
        keep = len(text) - max((overlap(text, stop) for stop in self._stops), default=0)
        self._held = text[keep:]
        return text[:keep]

    def close(self) -> str:
        held, self._held = self._held, ""
        return held
