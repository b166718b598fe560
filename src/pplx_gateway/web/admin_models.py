"""`/admin/models`, `/admin/update-models`, `/admin/discover-models`: the session's models, seen and changed."""

import asyncio
from typing import Any, Literal

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.catalogue import Tier
from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.discovering import Discovery, Report, Step
from pplx_gateway.errors import InvalidRequest, NotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.model_keeping import ModelKeeper
from pplx_gateway.overlay import Entry, Mode, Source
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.web.access import CALLER_LEFT
from pplx_gateway.web.body import read_body
from pplx_gateway.web.leaving import CallerLeft

_YES = frozenset({"1", "true", "yes"})


def routes(gateway: Gateway) -> list[BaseRoute]:
    return [
        Route("/admin/models", AdminModels(gateway).get, methods=["GET"]),
        Route("/admin/update-models", UpdateModels(gateway).post, methods=["POST"]),
        Route("/admin/discover-models", DiscoverModels(gateway).post, methods=["POST"]),
    ]


class ModelEntry(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the session. `served`: callers may ask it now; a disabled one, or one above the plan, is not. `at` is
    epoch seconds, null = it came with the release. `pinned`: discovery leaves it alone."""

    mode: Mode
    upstream_id: str
    thinking_id: str | None
    tier: Tier
    name: str
    owner: str
    enabled: bool
    served: bool
    source: Source
    pinned: bool
    at: float | None


class LastDiscovery(msgspec.Struct, frozen=True, kw_only=True):
    """`next_at` null = only on demand, or not known yet. `searches_left`: how many Pro searches a run may take.
    `under_way`: what the run that goes on now has found so far; `plan`: what a run asks."""

    last: Report | None
    under_way: Report | None
    plan: list[Step]
    next_at: float | None
    searches_left: int


class ModelMap(msgspec.Struct, frozen=True, kw_only=True):
    """`removed`: taken out by the owner. `replaced`: the list that came with the release counts for nothing."""

    models: dict[str, ModelEntry]
    removed: list[str]
    replaced: bool
    discovery: LastDiscovery | None


class ModelUpdate(msgspec.Struct, frozen=True, kw_only=True):
    """`models`: id to [mode, upstream id]; null removes. `merge` false: these are the whole list."""

    models: dict[str, Any]
    merge: bool = True


class UpdatedModels(msgspec.Struct, frozen=True, kw_only=True):
    status: str
    updated: list[str]
    removed: list[str]
    models: dict[str, tuple[Mode, str]]


class StartedDiscovery(msgspec.Struct, frozen=True, kw_only=True):
    """`probes`: what is asked, in this order; what turns out dead is followed by its successors."""

    status: Literal["started", "done", "running elsewhere"]
    probes: list[Step]
    searches_left: int
    report: Report | None = None


class AdminModels:
    """The whole map, with where each entry comes from."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, _: Request) -> Response:
        keeper, discovery = _keeper(self._gateway), self._gateway.discovery
        await keeper.sync()
        served = {model.id for model in self._gateway.models() if model.upstream == "session"}
        return _json(
            ModelMap(
                models={name: _entry(entry, name in served) for name, entry in keeper.entries.items()},
                removed=sorted(name for name, model in keeper.saved.models.items() if model is None),
                replaced=keeper.saved.replaced,
                discovery=_last(discovery) if discovery else None,
            )
        )


class UpdateModels:
    """All changes, or none of them."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def post(self, request: Request) -> Response:
        keeper, settings = _keeper(self._gateway), self._gateway.settings
        try:
            body = await read_body(
                request.receive,
                self._gateway.clock,
                limit=settings.max_body_bytes,
                wait_seconds=settings.body_timeout_seconds,
            )
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        update = _update(body)
        await keeper.update(update.models, merge=update.merge)
        removed = sorted(name for name, value in update.models.items() if value is None)
        now = {name: route for name, entry in keeper.entries.items() if (route := entry.model.session)}
        return _json(
            UpdatedModels(
                status="ok",
                updated=sorted(update.models.keys() - removed),
                removed=removed,
                models={name: (route.mode, route.upstream_id) for name, route in now.items()},
            )
        )


class DiscoverModels:
    """Starts a run. It can take minutes, so it goes on behind the answer, unless `?wait=1` asks for its report."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def post(self, request: Request) -> Response:
        discovery = self._gateway.discovery
        if discovery is None:
            raise no_session()
        waits = request.query_params.get("wait", "").lower() in _YES
        probes, left = list(discovery.plan()), discovery.searches_left()
        run = discovery.start()
        if not waits:
            return _json(StartedDiscovery(status="started", probes=probes, searches_left=left), 202)
        report = await asyncio.shield(run)
        status: Literal["done", "running elsewhere"] = "done" if report else "running elsewhere"
        told = StartedDiscovery(
            status=status, probes=probes, searches_left=discovery.searches_left(), report=report or discovery.report
        )
        return _json(told, 200 if report else 202)


def _keeper(gateway: Gateway) -> ModelKeeper:
    if gateway.keeper is None:
        raise no_session()
    return gateway.keeper


def no_session() -> NotFound:
    return NotFound("There is no session upstream here: PPLX_UPSTREAMS does not name it.")


def _update(body: bytes) -> ModelUpdate:
    update = decode(body, ModelUpdate)
    if unknown := unknown_keys(body, ModelUpdate):
        raise InvalidRequest(f"'{unknown[0][:80]}' is not known here. Send models, and merge.", param=unknown[0][:80])
    if not update.models:
        raise InvalidRequest("'models' is empty: there is nothing to change.", param="models")
    return update


def _entry(entry: Entry, served: bool) -> ModelEntry:
    model, route = entry.model, entry.model.session
    if route is None:
        raise ValueError(f"{model.id} is not a model of the session")
    return ModelEntry(
        mode=route.mode,
        upstream_id=route.upstream_id,
        thinking_id=route.thinking_id,
        tier=route.tier,
        name=model.name,
        owner=model.owner,
        enabled=model.enabled,
        served=served,
        source=entry.source,
        pinned=entry.pinned,
        at=entry.at,
    )


def _last(discovery: Discovery) -> LastDiscovery:
    return LastDiscovery(
        last=discovery.report,
        under_way=discovery.under_way,
        plan=list(discovery.plan()),
        next_at=discovery.due_at,
        searches_left=discovery.searches_left(),
    )


def _json(value: object, status: int = 200) -> Response:
    headers = {"cache-control": "no-store"}
    return Response(encode(value), status, media_type="application/json", headers=headers)
