"""Where Perplexity's own API is found: under `/perplexity` at its own paths, and what nobody else has at the root too.

The API's paths begin with `/v1` or do not, as its clients disagree; all are served both ways under `/perplexity`.
"""

from collections.abc import Iterator, Mapping
from functools import partial

from starlette.routing import BaseRoute, Route

from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.kept.content import ContentCall, Find
from pplx_gateway.protocols.openai.call import Border
from pplx_gateway.protocols.operation import Work, route
from pplx_gateway.protocols.perplexity import (
    batches,
    browser,
    decisions,
    embeddings,
    files,
    models,
    search,
    skills,
)

MIRROR = "/perplexity"
NATIVE = ("/search", "/contextualizedembeddings")
"""Which of the paths below are nobody else's, so that they answer at the root too."""

_OPERATIONS: Mapping[str, Mapping[str, Work]] = {
    "/search": {"POST": search.search},
    "/embeddings": {"POST": embeddings.embeddings},
    "/contextualizedembeddings": {"POST": embeddings.contextualized},
    "/decisions": {"POST": decisions.decisions},
    "/models": {"GET": models.models},
    "/files": {"POST": files.create, "GET": files.listed},
    "/files/{id}": {"GET": files.one, "DELETE": files.delete},
    "/batches": {"POST": batches.create, "GET": batches.listed},
    "/batches/{id}": {"GET": batches.one},
    "/batches/{id}/cancel": {"POST": batches.cancel},
    "/skills": {"POST": skills.create, "GET": skills.listed},
    "/skills/{id}": {"GET": skills.one, "PUT": skills.revise, "DELETE": skills.remove},
    "/skills/{id}/download": {"GET": skills.download},
    "/skills/{id}/revisions": {"GET": skills.revisions},
    "/browser/sessions": {"POST": browser.create},
    "/browser/sessions/{id}": {"DELETE": browser.delete},
}
_CONTENTS: tuple[tuple[str, Find], ...] = (("/files/{id}/content", files.content),)


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [*_operations(gateway), *_contents(gateway)]


def addresses(path: str) -> list[str]:
    """Every address of one of the API's paths, given without `/v1`; the one that its documents name comes first."""
    found = [f"{MIRROR}/v1{path}", f"{MIRROR}{path}"]
    return [*found, f"/v1{path}", path] if path in NATIVE else found


def _operations(gateway: Gateway) -> Iterator[BaseRoute]:
    for path, works in _OPERATIONS.items():
        for address in addresses(path):
            yield route(gateway, address, works, listed=_listed(address))


def _contents(gateway: Gateway) -> Iterator[BaseRoute]:
    for path, find in _CONTENTS:
        border = Border(gateway, partial(ContentCall, find))
        for address in addresses(path):
            yield Route(address, border, methods=["GET"], include_in_schema=_listed(address))


def _listed(address: str) -> bool:
    """One of the addresses under `/perplexity`, and one of those at the root."""
    return address.removeprefix(MIRROR).startswith("/v1/")
