"""Which key a question goes out with.

Weights decide among the keys that allow the model and do not rest. A sole candidate never rests: there is nothing to
choose, and the API says best how it fares.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.errors import GatewayError, InvalidRequest, ModelNotAllowed, RateLimited, UpstreamAuth
from pplx_gateway.upstreams.api.keys.health import Health
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.api.keys.rotation import Rotation

PIN_HEADER = "x-pplx-key-name"
MOST_ROTATIONS = 256
MOST_FITS = 256
MOST_SECRETS = 1000
_NO_KEYS = "No key for the Perplexity API is set up: set PERPLEXITY_API_KEY, or name keys in config.json."


class Wanted(NamedTuple):
    """`models` are the names of one model. `pinned` = this key and no other; `preferred` = this one if it can be.
    `others` are the names of each further model that may be asked, all of which the key must allow, too."""

    models: tuple[str, ...]
    pinned: str | None = None
    preferred: str | None = None
    others: tuple[tuple[str, ...], ...] = ()

    def refused_by(self, key: Key) -> str | None:
        """The name of a model that the key may not be used for."""
        return next((names[0] for names in (self.models, *self.others) if not key.allows(names)), None)


class KeyPool:
    """`keys` may be replaced at any time; what is known of a key stays as long as its value does."""

    def __init__(self, clock: Clock, keys: Iterable[Key] = ()) -> None:
        self._clock = clock
        self.news = asyncio.Event()
        self._changed: dict[str, None] = {}
        self._keys: dict[str, Key] = {}
        self._health: dict[str, Health] = {}
        self._secrets: OrderedDict[str, None] = OrderedDict()
        self._rotations: dict[tuple[str, ...], Rotation] = {}
        self._fits: dict[Wanted, Sequence[Key]] = {}
        self.replace(keys)

    @property
    def keys(self) -> Sequence[Key]:
        return tuple(self._keys.values())

    @property
    def present(self) -> bool:
        """True if any question could go out."""
        return any(key.usable for key in self._keys.values())

    def replace(self, keys: Iterable[Key]) -> None:
        old, self._keys = self._keys, {key.name: key for key in keys}
        stays = {name for name, key in self._keys.items() if name in old and key.usable and key.same_secret(old[name])}
        self._health = {
            name: self._health[name] if name in stays and old[name].enabled else self._fresh(name)
            for name in self._keys
        }
        self._rotations.clear()
        self._fits.clear()
        self._remember_secrets()

    def forget(self, name: str) -> None:
        """Tries the key anew, whatever it did before."""
        self._health[name] = self._fresh(name)
        self.note(name)

    def health(self, name: str) -> Health:
        return self._health[name]

    def one(self, name: str) -> Key | None:
        return self._keys.get(name)

    def next_news(self) -> str:
        """A key of whose health there is `news`, once."""
        name = next(iter(self._changed))
        del self._changed[name]
        if not self._changed:
            self.news.clear()
        return name

    def note(self, name: str) -> None:
        """There is news of a key, for other workers; of a sole one nobody needs to know."""
        if len(self._keys) > 1:
            self._changed[name] = None
            self.news.set()

    def secrets(self) -> list[str]:
        """What must never be shown. Also of keys that are gone: an answer under way may yet speak of them."""
        return list(self._secrets)

    def choose(self, wanted: Wanted, tried: Collection[str] = ()) -> Key:
        """`tried` are the names of those that failed for this question. Raises InvalidRequest, ModelNotAllowed,
        UpstreamAuth, InsufficientQuota or RateLimited where there is none."""
        if wanted.pinned is not None:
            return self._pinned(wanted.pinned, wanted)
        fitting = self._fitting(wanted)
        if len(fitting) == 1:
            return fitting[0]
        ready = [key for key in fitting if key.name not in tried and self._ready(key.name)]
        if not ready:
            raise self._soonest(fitting)
        preferred = next((key for key in ready if key.name == wanted.preferred), None)
        return preferred or self._in_turn(ready)

    def has_other(self, wanted: Wanted, tried: Collection[str]) -> bool:
        """True if another key could take the question now."""
        if wanted.pinned is not None:
            return False
        return any(key.name not in tried and self._ready(key.name) for key in self._fitting(wanted))

    def is_sole(self, wanted: Wanted) -> bool:
        return wanted.pinned is not None or len(self._fitting(wanted)) == 1

    def named(self, name: str) -> Key:
        """The key that made something. Raises UpstreamAuth where it is not there any more."""
        key = self._keys.get(name)
        if key is None or key.secret is None:
            raise UpstreamAuth(f"The key '{name}' that this was made with is not set up any more.")
        return key

    def _fresh(self, name: str) -> Health:
        return Health(self._clock, partial(self.note, name))

    def _remember_secrets(self) -> None:
        for value in [key.reveal() for key in self._keys.values() if key.secret is not None]:
            self._secrets[value] = None
            self._secrets.move_to_end(value)
        while len(self._secrets) > MOST_SECRETS:
            self._secrets.popitem(last=False)

    def _fitting(self, wanted: Wanted) -> Sequence[Key]:
        """Never empty. Known until the keys are replaced."""
        fitting = self._fits.get(wanted)
        if fitting is None:
            if len(self._fits) >= MOST_FITS:
                self._fits.clear()
            fitting = self._fits[wanted] = self._found_fitting(wanted)
        return fitting

    def _found_fitting(self, wanted: Wanted) -> Sequence[Key]:
        usable = [key for key in self._keys.values() if key.usable]
        if not usable:
            raise UpstreamAuth(_NO_KEYS)
        fitting = [key for key in usable if key.weight > 0 and wanted.refused_by(key) is None]
        if not fitting:
            refused = wanted.refused_by(usable[0]) or wanted.models[0]
            raise ModelNotAllowed(f"No key for the Perplexity API may be used for '{refused}'.", param="model")
        return fitting

    def _pinned(self, name: str, wanted: Wanted) -> Key:
        key = self._keys.get(name)
        if key is None:
            raise InvalidRequest(f"There is no key named '{name[:80]}'.", param=PIN_HEADER)
        if not key.usable:
            raise InvalidRequest(f"The key '{name}' is disabled.", param=PIN_HEADER)
        if (refused := wanted.refused_by(key)) is not None:
            raise ModelNotAllowed(f"The key '{name}' may not be used for '{refused}'.", param="model")
        return key

    def _ready(self, name: str) -> bool:
        health = self._health[name]
        return not health.resting and not health.on_trial

    def _in_turn(self, ready: Sequence[Key]) -> Key:
        if len(ready) == 1:
            return ready[0]
        names = tuple(key.name for key in ready)
        if names not in self._rotations:
            if len(self._rotations) >= MOST_ROTATIONS:
                self._rotations.clear()
            self._rotations[names] = Rotation({key.name: key.weight for key in ready})
        return self._keys[self._rotations[names].next()]

    def _soonest(self, fitting: Sequence[Key]) -> GatewayError:
        """A throttle passes by itself, so it is the better news."""
        errors = [self._health[key.name].error() for key in fitting if self._health[key.name].state in _RESTING]
        errors.sort(key=lambda error: (not isinstance(error, RateLimited), error.retry_after or 0.0))
        return errors[0] if errors else UpstreamAuth(_NO_KEYS)


_RESTING = ("throttled", "out_of_balance", "refused")
