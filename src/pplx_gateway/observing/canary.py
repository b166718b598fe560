"""Tells when an upstream sends what this release does not know: blocks, steps, events, items, fields.

Kinds are noticed in every answer, by whoever reads it. Fields are looked for in some answers only, since that takes a
second reading: in about one a second for each wire, and there in so many bytes at most. While the owner waits for a
capture, every answer is looked at.

A **capture** is the shape of one payload (shapes.py) that held a surprise: the first after the owner asked for one.
"""

import logging
from collections.abc import Callable, Iterable, Mapping

import msgspec

from pplx_gateway import __version__
from pplx_gateway.clock import Clock
from pplx_gateway.observing.known import Kind, KnownWire, Surprise, WireName, known_wire
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import OTHER, SURPRISES
from pplx_gateway.observing.shapes import Secrets, plain_name, shape_of

logger = logging.getLogger("pplx_gateway.canary")

MOST_SURPRISES = 200
"""Different ones that are told by name; whatever comes after that is counted as OTHER."""
MOST_BYTES = 256 << 10
"""That are read a second time of one answer, its end not counted."""
MOST_LOOKS = 20
LOOKS_A_SECOND = 1.0
_UNNAMED = "(not a name)"
# Told by the assembler of every answer in which an event was cut within a letter, which is how streams are.
_ORDINARY = frozenset({"slow_frame"})
_NAMED: Mapping[str, Kind] = {"block": "block", "step": "step"}


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """`surprise` is what was not known in it; `shape` is JSON text. `taken_at`: seconds since the epoch."""

    wire: WireName
    surprises: tuple[str, ...]
    taken_at: float
    version: str
    shape: str


class Sight:
    """One answer, as the canary sees it."""

    __slots__ = ("_canary", "_found", "_known", "_left", "_wire")

    def __init__(self, canary: "Canary", wire: WireName, *, deep: bool) -> None:
        self._canary = canary
        self._wire: WireName = wire
        self._known: KnownWire | None = known_wire(wire) if deep else None
        self._left = MOST_BYTES
        self._found: set[Surprise] | None = None

    @property
    def deep(self) -> bool:
        """This answer is looked into: `see` wants each of its payloads."""
        return self._known is not None

    def see(self, payload: bytes, *, last: bool = False) -> None:
        """One frame or event, as it came. Nothing that is odd about it can fail the answer."""
        if self._known is None or (self._left <= 0 and not last):
            return
        self._left -= len(payload)
        try:
            value = msgspec.json.decode(payload)
        except (msgspec.DecodeError, RecursionError):
            return  # a ping, an end mark, or what whoever reads the answer complains of
        found = dict.fromkeys(self._known.surprises(value))
        for surprise in found:
            self._count(surprise)
        if found and self._canary.armed:
            self._canary.capture(self._wire, found, value)

    def note(self, kind: Kind, name: str | None) -> None:
        """Whoever reads the answer has met a kind that has no use there."""
        if name is None or not known_wire(self._wire).knows(kind, name):
            self._count(Surprise(kind, name or ""))

    def oddities(self, counts: Mapping[str, int]) -> None:
        """What the session's assembler could not use, by `kind` or `kind:name`."""
        for told in counts:
            odd, _, name = told.partition(":")
            if (kind := _NAMED.get(odd)) is not None:
                self.note(kind, name)
            elif odd not in _ORDINARY:
                self._count(Surprise("form", odd))

    def _count(self, surprise: Surprise) -> None:
        """Once an answer."""
        self._found = self._found if self._found is not None else set()
        if surprise not in self._found and len(self._found) < MOST_SURPRISES:
            self._found.add(surprise)
            self._canary.count(self._wire, surprise)


class Canary:
    """`armed`: the owner waits for a capture. `captured` is what was found for that, until it is taken away."""

    def __init__(self, meter: Meter, clock: Clock) -> None:
        self.armed = False
        self.captured: Capture | None = None
        self._meter = meter
        self._clock = clock
        self._secrets: list[Secrets] = []
        self._known: set[tuple[str, str, str]] = set()
        self._looks: dict[WireName, float] = {}
        self._looked_at: dict[WireName, float] = {}

    def hide(self, secrets: Callable[[], Iterable[str]]) -> None:
        """What no name may hold; asked anew each time."""
        self._secrets.append(secrets)

    def sight(self, wire: WireName) -> Sight:
        """For an answer that begins now."""
        return Sight(self, wire, deep=self.armed or self._may_look(wire))

    def count(self, wire: WireName, surprise: Surprise) -> None:
        kind, name = surprise.kind, self.label(surprise)
        if (wire, kind, name) not in self._known:
            if len(self._known) >= MOST_SURPRISES:
                name = OTHER
            else:
                self._known.add((wire, kind, name))
                logger.warning("an unknown thing on the wire", extra={"wire": wire, "kind": kind, "name_on_wire": name})
        self._meter.count(SURPRISES, wire, kind, name)

    def remember(self, known: Iterable[tuple[str, str, str]]) -> None:
        """Those that were counted before, by whichever worker."""
        self._known.update(known)

    def capture(self, wire: WireName, surprises: Iterable[Surprise], value: object) -> None:
        self.armed = False
        self.captured = Capture(
            wire=wire,
            surprises=tuple(f"{surprise.kind} {self.label(surprise)}" for surprise in surprises)[:MOST_LOOKS],
            taken_at=self._clock.now(),
            version=__version__,
            shape=shape_of(value, self._all_secrets),
        )

    def label(self, surprise: Surprise) -> str:
        """The name as it may be shown."""
        place, dot, name = surprise.name.partition(".") if surprise.kind == "field" else ("", "", surprise.name)
        return f"{place}{dot}{plain_name(name, self._all_secrets) or _UNNAMED}" if surprise.name else ""

    def _all_secrets(self) -> list[str]:
        return [secret for secrets in self._secrets for secret in secrets()]

    def _may_look(self, wire: WireName) -> bool:
        """One look a second, and some more after a while without any."""
        now = self._clock.monotonic() / self._clock.factor
        left = self._looks.get(wire, MOST_LOOKS) + (now - self._looked_at.get(wire, now)) * LOOKS_A_SECOND
        self._looked_at[wire] = now
        self._looks[wire] = min(left, MOST_LOOKS)
        if self._looks[wire] < 1:
            return False
        self._looks[wire] -= 1
        return True
