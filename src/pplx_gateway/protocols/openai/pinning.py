"""A request that asks for one of the owner's keys by name. Only the api upstream has keys."""

import msgspec
from starlette.types import Scope

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import Question
from pplx_gateway.routing import Route
from pplx_gateway.web import headers

HEADER = "x-pplx-key-name"


def key_name(scope: Scope) -> str | None:
    """Raises InvalidRequest for two headers that differ."""
    given = {value.strip() for value in headers.every(scope, HEADER.encode())} - {b""}
    if len(given) > 1:
        raise InvalidRequest(f"{HEADER} stands there twice, with different names.", param=HEADER)
    return given.pop().decode("latin-1") if given else None


def keyed(route: Route, name: str | None) -> Route:
    """The targets that a key can reach. Raises InvalidRequest where there is none."""
    if name is None:
        return route
    reached = route.within(lambda model: model.upstream == "api")
    if not reached.targets:
        raise InvalidRequest(f"{HEADER} names a key of the api upstream, which does not answer here.", param=HEADER)
    return reached


def pinned(question: Question, name: str | None) -> Question:
    return question if name is None else msgspec.structs.replace(question, key_name=name)
