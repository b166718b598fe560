"""How the gateway stands when somebody looks: what all workers know alike, so that any of them can tell it."""

from collections.abc import Iterator
from pathlib import Path
from typing import get_args

from pplx_gateway import __version__
from pplx_gateway.gateway import Gateway
from pplx_gateway.observing.metrics import (
    BUILD,
    COOKIE_AGE,
    QUOTA,
    QUOTA_AGE,
    SESSION_STATE,
    STORE_BYTES,
    STORE_UP,
    WORKERS,
)
from pplx_gateway.observing.workers import Sums
from pplx_gateway.standing import State
from pplx_gateway.store.counters import Series

_HOUR_SECONDS = 3600.0


def standing(gateway: Gateway, sums: Sums, *, failing: bool) -> dict[Series, float]:
    """What nobody knows is left out: that is another thing than 0."""
    told = {
        (BUILD.name, __version__): 1.0,
        (WORKERS.name,): float(sums.workers),
        (STORE_UP.name,): 0.0 if failing else 1.0,
    }
    return {**sums.gauges, **told, **dict(_session(gateway)), **dict(_quota(gateway))}


def _session(gateway: Gateway) -> Iterator[tuple[Series, float]]:
    if gateway.session is None or not gateway.session.present:
        return
    now = gateway.session.standing()
    for state in get_args(State):
        yield (SESSION_STATE.name, state), float(state == now.state)
    if now.cookie_age_hours is not None:
        yield (COOKIE_AGE.name,), now.cookie_age_hours * _HOUR_SECONDS


def _quota(gateway: Gateway) -> Iterator[tuple[Series, float]]:
    if gateway.quota is None:
        return
    reading = gateway.quota.reading()
    for kind, left in (("pro", reading.remaining_pro), ("research", reading.remaining_research)):
        if left is not None:
            yield (QUOTA.name, kind), float(left)
    if reading.age_seconds is not None:
        yield (QUOTA_AGE.name,), reading.age_seconds


def sizes(folder: Path) -> Iterator[tuple[Series, float]]:
    """Bytes on the disk. Looks at every file, so it is for a thread."""
    parts = {
        "database": folder.glob("*.sqlite"),
        "log": folder.glob("*.sqlite-*"),
        "files": (folder / "files").rglob("*"),
    }
    for part, paths in parts.items():
        yield (STORE_BYTES.name, part), float(sum(map(_size, paths)))


def _size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except OSError:  # gone meanwhile
        return 0
