"""The page that Prometheus reads, by its own library: in OpenMetrics' form for whoever asks for that, else as text.

Imported when the first scraper comes, by a thread: it takes a tenth of a second.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
)
from prometheus_client.metrics_core import (
    Metric as Family,
)
from prometheus_client.registry import Collector

from pplx_gateway.observing.meter import SUM, bound
from pplx_gateway.observing.metrics import METRICS, PREFIX, Metric
from pplx_gateway.store.counters import Series


class Page(NamedTuple):
    body: bytes
    media_type: str


def page(values: Mapping[Series, float], accept: str) -> Page:
    """`accept` is the header of that name. Series that no metric of this release has, or has with other labels, were
    counted by another release, and are left out."""
    encode, media_type = choose_encoder(accept)
    return Page(encode(_Families(values)), media_type)


class _Families(Collector):
    def __init__(self, values: Mapping[Series, float]) -> None:
        self._values = values

    def collect(self) -> Iterator[Family]:
        found: dict[str, list[tuple[Series, float]]] = {metric.name: [] for metric in METRICS}
        for series, value in sorted(self._values.items()):
            if series[0] in found:
                found[series[0]].append((series[1:], value))
        for metric in METRICS:
            if found[metric.name]:
                yield _FAMILIES[metric.kind](metric, found[metric.name])


Values = Iterable[tuple[Series, float]]


def _counter(metric: Metric, values: Values) -> Family:
    family = CounterMetricFamily(PREFIX + metric.name, metric.about, labels=metric.labels)
    for labels, value in _fitting(metric, values, 0):
        family.add_metric(labels, value / metric.unit)
    return family


def _gauge(metric: Metric, values: Values) -> Family:
    family = GaugeMetricFamily(PREFIX + metric.name, metric.about, labels=metric.labels)
    for labels, value in _fitting(metric, values, 0):
        family.add_metric(labels, value)
    return family


def _histogram(metric: Metric, values: Values) -> Family:
    family = HistogramMetricFamily(PREFIX + metric.name, metric.about, labels=metric.labels)
    groups: dict[Series, dict[str, float]] = {}
    for series, value in _fitting(metric, values, 1):
        groups.setdefault(series[:-1], {})[series[-1]] = value
    for labels, parts in groups.items():
        so_far, buckets = 0.0, []
        for index in range(len(metric.bounds) + 1):
            so_far += parts.get(bound(metric, index), 0)
            buckets.append((bound(metric, index), so_far))
        family.add_metric(labels, buckets=buckets, sum_value=parts.get(SUM, 0.0))
    return family


def _fitting(metric: Metric, values: Values, more: int) -> Values:
    return [(series, value) for series, value in values if len(series) == len(metric.labels) + more]


_FAMILIES = {"counter": _counter, "gauge": _gauge, "histogram": _histogram}
