"""How the api's keys fare, as numbers: what became of their questions, and in which state they are."""

from collections.abc import Iterator

from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.metrics import KEY_FAILURES, KEY_REQUESTS, KEY_WORKERS
from pplx_gateway.store.counters import Series
from pplx_gateway.upstreams.api.keys import KeyKeeper
from pplx_gateway.upstreams.api.keys.health import Health

DISABLED = "unusable"


class KeyMeter:
    def __init__(self, keys: KeyKeeper, meter: Meter) -> None:
        self._keys = keys
        self._meter = meter
        self._seen: dict[str, tuple[Health, int, int]] = {}

    def digest(self) -> None:
        """Counts what has come since the last time. A key that was changed begins anew."""
        seen = {}
        for name in self._keys.keys:
            health = self._keys.health(name)
            before, requests, failures = self._seen.get(name, (health, 0, 0))
            if before is not health:
                requests = failures = 0
            if health.requests > requests:
                self._meter.count(KEY_REQUESTS, name, by=health.requests - requests)
            if health.failures > failures:
                self._meter.count(KEY_FAILURES, name, by=health.failures - failures)
            seen[name] = (health, health.requests, health.failures)
        self._seen = seen

    def states(self) -> Iterator[tuple[Series, float]]:
        for name, key in self._keys.keys.items():
            yield (KEY_WORKERS.name, name, self._keys.health(name).state if key.usable else DISABLED), 1.0
