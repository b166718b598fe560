"""Reads `/metrics` as Prometheus does: with its own parsers."""

from collections.abc import Mapping

import httpx2
from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_openmetrics
from prometheus_client.parser import text_string_to_metric_families as read_text

from pplx_gateway.observing.metrics import PREFIX
from tests.rig import KEY, bearer

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
Key = tuple[str, frozenset[tuple[str, str]]]


class Scrape:
    """Samples by name, without the prefix, and labels."""

    def __init__(self, text: str, samples: Mapping[Key, float]) -> None:
        self.text = text
        self.samples = samples

    def get(self, name: str, /, **labels: str) -> float | None:
        return self.samples.get((name, frozenset(labels.items())))

    def sum(self, name: str, /, **labels: str) -> float:
        """Of all samples of that name that have these labels, and others."""
        wanted = set(labels.items())
        return sum(value for (found, has), value in self.samples.items() if found == name and wanted <= has)

    def values(self, name: str, label: str) -> set[str]:
        return {dict(has)[label] for found, has in self.samples if found == name}


async def scrape(client: httpx2.AsyncClient, url: str, *, openmetrics: bool = False) -> Scrape:
    """Fails if the page is not what its media type says."""
    accept = {"accept": OPENMETRICS} if openmetrics else {}
    reply = await client.get(f"{url}/metrics", headers={**bearer(KEY), **accept})
    assert reply.status_code == 200, reply.text
    assert reply.headers["cache-control"] == "no-store"
    assert reply.headers["content-type"].startswith("application/openmetrics-text" if openmetrics else "text/plain")
    read = read_openmetrics if openmetrics else read_text
    families = read(reply.text)
    samples: dict[Key, float] = {}
    for family in families:
        assert family.documentation
        assert family.type in ("counter", "gauge", "histogram")
        for sample in family.samples:
            assert sample.name.startswith(PREFIX)
            key = (sample.name.removeprefix(PREFIX), frozenset(sample.labels.items()))
            assert key not in samples, "a series stands twice on the page"
            samples[key] = float(sample.value)
    return Scrape(reply.text, samples)
