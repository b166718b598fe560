"""How one knows a caller that speaks this protocol, where the path alone does not tell."""

from starlette.types import Scope

from pplx_gateway.web import headers

HEADER = "anthropic-version"


def is_anthropic(scope: Scope) -> bool:
    return headers.first(scope, HEADER.encode()) is not None
