"""`/admin/keys`: the owner's keys for the Perplexity API, seen without their values, and changed.

What is changed here is kept in the store, holds in every worker, and stands above `config.json` and the environment.
"""

from typing import Literal, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.decode import decode
from pplx_gateway.errors import InvalidRequest, NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.upstreams.api.keys import Key, KeyKeeper
from pplx_gateway.upstreams.api.keys.edits import KeyEdit
from pplx_gateway.upstreams.api.keys.form import KeyForm
from pplx_gateway.upstreams.api.keys.health import Health, State
from pplx_gateway.upstreams.api.keys.key import Origin
from pplx_gateway.web.access import CALLER_LEFT
from pplx_gateway.web.body import read_body
from pplx_gateway.web.leaving import CallerLeft

Form = TypeVar("Form", KeyForm, KeyEdit)


def routes(gateway: Gateway) -> list[BaseRoute]:
    keys, key = AdminKeys(gateway), AdminKey(gateway)
    return [
        Route("/admin/keys", keys.get, methods=["GET"]),
        Route("/admin/keys", keys.post, methods=["POST"]),
        Route("/admin/keys/{name}", key.patch, methods=["PATCH"]),
        Route("/admin/keys/{name}", key.delete, methods=["DELETE"]),
    ]


class KeyHealth(msgspec.Struct, frozen=True, kw_only=True):
    """As this worker has seen it; rests are those of all workers. `rest_seconds`: until it is tried again; times are
    seconds since the epoch; `message` is what the API said last against it."""

    state: State
    rest_seconds: float
    requests: int
    failures: int
    last_used_at: float | None
    last_failed_at: float | None
    message: str | None


class ShownKey(msgspec.Struct, frozen=True, kw_only=True):
    """`reference` is the variable that the value comes from, null = it was given itself; the value is never shown.
    `reason`: why a key cannot be used although it is enabled."""

    name: str
    origin: Origin
    reference: str | None
    models: tuple[str, ...]
    weight: float
    enabled: bool
    usable: bool
    reason: str | None
    health: KeyHealth


class ShownKeys(msgspec.Struct, frozen=True, kw_only=True):
    keys: list[ShownKey]


class ChangedKey(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    key: ShownKey


class RemovedKey(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    removed: str


class AdminKeys:
    """All of them, and one more."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, _: Request) -> Response:
        keeper = _keeper(self._gateway)
        await keeper.refresh()
        return _json(ShownKeys(keys=[_shown(key, keeper.health(name)) for name, key in keeper.keys.items()]))

    async def post(self, request: Request) -> Response:
        """Raises InvalidRequest that names the field."""
        keeper = _keeper(self._gateway)
        try:
            form = await _form(self._gateway, request, KeyForm)
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        key = await keeper.add(form)
        return _json(ChangedKey(status="ok", key=_shown(key, keeper.health(key.name))), 201)


class AdminKey:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def patch(self, request: Request) -> Response:
        """What is not named stays; the key is tried anew. Raises InvalidRequest, NotFound."""
        keeper, name = _keeper(self._gateway), request.path_params["name"]
        try:
            edit = await _form(self._gateway, request, KeyEdit)
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        if edit == KeyEdit():
            raise InvalidRequest("There is nothing to change. Send value, models, weight or enabled.")
        key = await keeper.edit(name, edit)
        return _json(ChangedKey(status="ok", key=_shown(key, keeper.health(name))))

    async def delete(self, request: Request) -> Response:
        """Raises NotFound."""
        name = request.path_params["name"]
        await _keeper(self._gateway).remove(name)
        return _json(RemovedKey(status="ok", removed=name))


def _keeper(gateway: Gateway) -> KeyKeeper:
    if gateway.keys is None:
        raise NotFound("There is no api upstream here: PPLX_UPSTREAMS does not name it.")
    return gateway.keys


async def _form(gateway: Gateway, request: Request, kind: type[Form]) -> Form:
    settings = gateway.settings
    limit, wait = settings.max_body_bytes, settings.body_timeout_seconds
    return decode(await read_body(request.receive, gateway.clock, limit=limit, wait_seconds=wait), kind)


def _shown(key: Key, health: Health) -> ShownKey:
    return ShownKey(
        name=key.name,
        origin=key.origin,
        reference=key.reference,
        models=key.models,
        weight=key.weight,
        enabled=key.enabled,
        usable=key.usable,
        reason=key.reason,
        health=KeyHealth(
            state=health.state,
            rest_seconds=round(health.rest_seconds, 1),
            requests=health.requests,
            failures=health.failures,
            last_used_at=health.last_used_at,
            last_failed_at=health.last_failed_at,
            message=health.message,
        ),
    )


def _json(value: object, status: int = 200) -> Response:
    """Never kept by anybody on the way."""
    return Response(encode(value), status, media_type="application/json", headers={"cache-control": "no-store"})
