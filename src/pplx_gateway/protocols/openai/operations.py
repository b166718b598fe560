"""Where OpenAI's dialect does what is no question."""

from collections.abc import Mapping

from starlette.routing import BaseRoute

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import batches, decisions, embeddings, unsupported
from pplx_gateway.protocols.openai.responses import count
from pplx_gateway.protocols.operation import Work, route

_WORKS: Mapping[str, Mapping[str, Work]] = {
    "/v1/embeddings": {"POST": embeddings.embeddings},
    "/v1/decisions": {"POST": decisions.decisions},
    "/v1/responses/input_tokens": {"POST": count.input_tokens},
    "/v1/batches": {"POST": batches.create, "GET": batches.listed},
    "/v1/batches/{id}": {"GET": batches.one},
    "/v1/batches/{id}/cancel": {"POST": batches.cancel},
}


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [*(route(gateway, path, works) for path, works in _WORKS.items()), *unsupported.routes(gateway)]
