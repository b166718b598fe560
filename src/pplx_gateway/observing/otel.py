"""Traces by OpenTelemetry's SDK, sent over OTLP/HTTP by a thread of its own.

Only whoever wants traces imports this module: it takes the extra `otel`, 100 ms and some megabytes. The provider is
ours alone, so what other libraries trace by themselves goes nowhere.
"""

import asyncio
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import SpanKind, Status, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from pplx_gateway import __version__
from pplx_gateway.observing.tracing import Attribute
from pplx_gateway.transport.exchange import Outgoing

NAME = "pplx-gateway"
CLOSE_SECONDS = 2.0
SEND_SECONDS = 10.0
_TRACE_HEADERS = (b"traceparent", b"tracestate")
_PROPAGATOR = TraceContextTextMapPropagator()


class OpenSpan:
    def __init__(self, span: trace.Span) -> None:
        self.span = span

    @property
    def trace_id(self) -> str:
        return f"{self.span.get_span_context().trace_id:032x}"

    def rename(self, name: str) -> None:
        self.span.update_name(name)

    def set(self, name: str, value: Attribute) -> None:
        self.span.set_attribute(name, value)

    def end(self, error: str | None) -> None:
        if error is not None:
            self.span.set_attribute("error.type", error)
            self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


class OtelTracer:
    """A Tracer. `endpoint` is the collector's address, None = as OTEL_EXPORTER_OTLP_ENDPOINT says; so are headers,
    samplers and the like."""

    def __init__(self, endpoint: str | None, worker: str) -> None:
        own = Resource({"service.name": NAME, "service.version": __version__, "service.instance.id": worker})
        # What the environment names wins; the SDK's other detectors would tell of the process and its arguments.
        resource = own.merge(OTELResourceDetector().detect())
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        address = None if endpoint is None else traces_address(endpoint)
        exporter = OTLPSpanExporter(endpoint=address, timeout=SEND_SECONDS)
        self._provider.add_span_processor(BatchSpanProcessor(exporter))
        self._tracer = self._provider.get_tracer(NAME, __version__)

    @contextmanager
    def request(self, name: str, headers: Iterable[tuple[bytes, bytes]]) -> Iterator[OpenSpan]:
        span = self._tracer.start_span(name, context=_told(headers), kind=SpanKind.SERVER)
        with trace.use_span(span, record_exception=False, set_status_on_exception=False):
            yield OpenSpan(span)

    def call(self, upstream: str, outgoing: Outgoing) -> OpenSpan:
        """Of the address only the host: paths hold ids, and names of threads that are made of questions."""
        parts = urlsplit(outgoing.url)
        span = self._tracer.start_span(
            f"{outgoing.method} {upstream}",
            kind=SpanKind.CLIENT,
            attributes={
                "http.request.method": outgoing.method,
                "server.address": parts.hostname or "",
                "pplx.upstream": upstream,
            },
        )
        return OpenSpan(span)

    async def close(self) -> None:
        """A collector that does not answer holds nobody up: the thread that waits for it ends with the process."""
        loop, done = asyncio.get_running_loop(), asyncio.Event()

        def shut_down() -> None:
            self._provider.shutdown()
            if not loop.is_closed():
                loop.call_soon_threadsafe(done.set)

        threading.Thread(target=shut_down, name="traces", daemon=True).start()
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                await done.wait()
        except TimeoutError:
            return


def traces_address(endpoint: str) -> str:
    """Where traces go below `endpoint`, unless it says so itself."""
    bare = endpoint.rstrip("/")
    return bare if bare.endswith("/v1/traces") else f"{bare}/v1/traces"


def _told(headers: Iterable[tuple[bytes, bytes]]) -> Context:
    """Of which trace the caller says that the request is a part. What cannot be read counts for nothing."""
    carrier = {name.decode("latin-1"): value.decode("latin-1") for name, value in headers if name in _TRACE_HEADERS}
    return _PROPAGATOR.extract(carrier, context=Context())
