"""Puts together what looks on: counters, the canary, traces where they are wanted."""

import os
from collections.abc import Collection
from importlib import import_module

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.clock import Clock
from pplx_gateway.observing.canary import Canary
from pplx_gateway.observing.desk import CaptureDesk
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.observer import Observer
from pplx_gateway.observing.requests import RequestMeter
from pplx_gateway.observing.tracing import Tracer
from pplx_gateway.observing.workers import Workers
from pplx_gateway.prices import prices
from pplx_gateway.settings import Settings, SettingsError
from pplx_gateway.store import Database, Facts
from pplx_gateway.store.counters import Counters

_OTEL = "pplx_gateway.observing.otel"
_STANDARD = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


def open_observer(settings: Settings, clock: Clock, database: Database, catalogue: Catalogue, worker: str) -> Observer:
    """Raises SettingsError where traces are wanted and their library is not there."""
    tracer = open_tracer(settings, worker)
    counters = Counters(database)
    meter = Meter(counters, clock)
    canary = Canary(meter, clock)
    return Observer(
        meter=meter,
        requests=RequestMeter(meter, lambda: known_models(catalogue)),
        canary=canary,
        desk=CaptureDesk(canary, Facts(database), clock),
        workers=Workers(counters, clock, worker),
        tracer=tracer,
        clock=clock,
    )


def known_models(catalogue: Catalogue) -> Collection[str]:
    """Ids that a label may hold: those of lists of ours, whose length nobody else decides."""
    listed = prices()
    return {model.id for model in catalogue} | listed.models.keys() | listed.embeddings.keys() | listed.deciders.keys()


def open_tracer(settings: Settings, worker: str) -> Tracer | None:
    """None where nobody wants traces: nothing is imported then. Raises SettingsError."""
    standard = any(os.environ.get(name) for name in _STANDARD)
    disabled = os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    if disabled or not (settings.otlp_endpoint or standard):
        return None
    try:
        otel = import_module(_OTEL)
    except ModuleNotFoundError as error:
        name = "PPLX_OTLP_ENDPOINT" if settings.otlp_endpoint else "OTEL_EXPORTER_OTLP_ENDPOINT"
        raise SettingsError(
            f"{name} wants traces, which take a library that is not installed ({error.name}): pip install "
            "'pplx-gateway[otel]', or leave it unset."
        ) from None
    tracer: Tracer = otel.OtelTracer(settings.otlp_endpoint or None, worker)
    return tracer
