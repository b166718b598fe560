"""A collector of traces: OTLP over HTTP, as any has it, on a real socket."""

import asyncio
import contextlib
import gzip
from collections.abc import AsyncGenerator
from typing import NamedTuple

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tests.running import serve


class Told(NamedTuple):
    """A span, and what its process says of itself."""

    span: Span
    resource: dict[str, str]

    @property
    def attributes(self) -> dict[str, object]:
        found = {}
        for pair in self.span.attributes:
            kind = pair.value.WhichOneof("value")
            found[pair.key] = getattr(pair.value, kind) if kind else None
        return found

    @property
    def failed(self) -> bool:
        return self.span.status.code == 2

    @property
    def ids(self) -> tuple[str, str, str]:
        """Of the trace, of the span, of its parent."""
        return self.span.trace_id.hex(), self.span.span_id.hex(), self.span.parent_span_id.hex()


class Collector:
    """`raw` is every byte that came, unpacked."""

    def __init__(self) -> None:
        self.url = ""
        self.raw = b""
        self.spans: list[Told] = []
        self.headers: list[dict[str, str]] = []
        self.hold: asyncio.Event | None = None

    def calls(self) -> list[Told]:
        return [told for told in self.spans if told.span.kind == Span.SPAN_KIND_CLIENT]

    def requests(self) -> list[Told]:
        return [told for told in self.spans if told.span.kind == Span.SPAN_KIND_SERVER]

    async def take(self, request: Request) -> Response:
        if self.hold is not None:
            await self.hold.wait()
        body = await request.body()
        if request.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        self.raw += body
        self.headers.append(dict(request.headers))
        told = ExportTraceServiceRequest()
        told.ParseFromString(body)
        for part in told.resource_spans:
            resource = {pair.key: pair.value.string_value for pair in part.resource.attributes}
            self.spans += [Told(span, resource) for scope in part.scope_spans for span in scope.spans]
        answer = ExportTraceServiceResponse().SerializeToString()
        return Response(answer, media_type="application/x-protobuf")


@contextlib.asynccontextmanager
async def collecting() -> AsyncGenerator[Collector, None]:
    collector = Collector()
    async with serve(Starlette(routes=[Route("/v1/traces", collector.take, methods=["POST"])])) as url:
        collector.url = url
        yield collector
