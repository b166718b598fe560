"""`/admin/caller-keys`: the keys that the owner gives to others. A key's secret is shown when it is made, and never
again."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.caller_keeping import CallerKeys
from pplx_gateway.caller_keys import CallerKey, Limits, Upstream, Use
from pplx_gateway.decode import decode
from pplx_gateway.errors import InvalidRequest, StoreUnavailable
from pplx_gateway.gateway import Gateway
from pplx_gateway.web.access import CALLER_LEFT
from pplx_gateway.web.authentication import OPEN, OWNER
from pplx_gateway.web.body import read_body
from pplx_gateway.web.leaving import CallerLeft
from pplx_gateway.web.money import decimal_response

Form = TypeVar("Form", "NewCallerKey", "CallerKeyEdit")

Name = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"^\S(.*\S)?$")]
Count = Annotated[int, Meta(ge=1, le=1_000_000_000)]
Text = Annotated[str, Meta(min_length=1, max_length=200)]
Texts = Annotated[tuple[Text, ...], Meta(max_length=200)]
Time = float | str
"""Seconds since the epoch, or ISO 8601."""


def routes(gateway: Gateway) -> list[BaseRoute]:
    every, one = AdminCallerKeys(gateway), AdminCallerKey(gateway)
    return [
        Route("/admin/caller-keys", every.get, methods=["GET"]),
        Route("/admin/caller-keys", every.post, methods=["POST"]),
        Route("/admin/caller-keys/{id}", one.get, methods=["GET"]),
        Route("/admin/caller-keys/{id}", one.patch, methods=["PATCH"]),
        Route("/admin/caller-keys/{id}", one.delete, methods=["DELETE"]),
    ]


class NewCallerKey(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Null or left out = no limit. Costs are US dollars, days and months those of UTC. `models` may hold `*`. `use` is
    where the key is presented; it cannot be changed later."""

    name: Name
    use: Use = "header"
    requests_per_minute: Count | None = None
    requests_per_day: Count | None = None
    cost_per_day: Decimal | None = None
    cost_per_month: Decimal | None = None
    models: Texts = ()
    upstreams: tuple[Upstream, ...] = ()
    origins: Texts = ()
    unsupported: Literal["reject", "drop"] | None = None
    expires_at: Time | None = None


class CallerKeyEdit(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is left out stays as it is; null takes a limit away."""

    name: Name | UnsetType = UNSET
    requests_per_minute: Count | UnsetType | None = UNSET
    requests_per_day: Count | UnsetType | None = UNSET
    cost_per_day: Decimal | UnsetType | None = UNSET
    cost_per_month: Decimal | UnsetType | None = UNSET
    models: Texts | UnsetType | None = UNSET
    upstreams: tuple[Upstream, ...] | UnsetType | None = UNSET
    origins: Texts | UnsetType | None = UNSET
    unsupported: Literal["reject", "drop"] | UnsetType | None = UNSET
    expires_at: Time | UnsetType | None = UNSET


class ShownCallerKey(msgspec.Struct, frozen=True, kw_only=True):
    """`id` is the caller's in the ledger; `hint` the end of the secret. Times are seconds since the epoch. Spent are US
    dollars of today and of this month (UTC)."""

    id: str
    name: str
    status: Literal["active", "expired", "revoked"]
    use: Use
    hint: str
    requests_per_minute: int | None
    requests_per_day: int | None
    cost_per_day: Decimal | None
    cost_per_month: Decimal | None
    models: tuple[str, ...]
    upstreams: tuple[Upstream, ...]
    origins: tuple[str, ...]
    unsupported: Literal["reject", "drop"] | None
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None


class ShownCallerKeys(msgspec.Struct, frozen=True, kw_only=True):
    keys: list[ShownCallerKey]


class MadeCallerKey(msgspec.Struct, frozen=True, kw_only=True):
    """`secret` is what the caller sends as bearer token, or puts into MCP's address. It is shown this once."""

    status: Literal["ok"]
    secret: str
    key: ShownCallerKey


class ChangedCallerKey(msgspec.Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    key: ShownCallerKey


class AdminCallerKeys:
    """All of them, and one more."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, _: Request) -> Response:
        """In the order of their creation, revoked ones included."""
        keys = _keys(self._gateway)
        await keys.load()
        now = self._gateway.clock.now()
        return decimal_response(ShownCallerKeys(keys=[_shown(key, now) for key in keys.every]))

    async def post(self, request: Request) -> Response:
        """Raises InvalidRequest that names the field."""
        try:
            form = await _form(self._gateway, request, NewCallerKey)
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        now = self._gateway.clock.now()
        limits = msgspec.convert(msgspec.structs.asdict(form), Limits)
        key = CallerKey(
            id="",
            name=form.name,
            hint="",
            use=form.use,
            created_at=now,
            limits=limits,
            expires_at=_time(form.expires_at),
        )
        _check(key, now)
        made, secret = await _keys(self._gateway).create(key)
        return decimal_response(MadeCallerKey(status="ok", secret=secret, key=_shown(made, now)), 201)


class AdminCallerKey:
    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        """Raises NotFound."""
        keys = _keys(self._gateway)
        await keys.load()
        return self._changed(keys.one(request.path_params["id"]))

    async def patch(self, request: Request) -> Response:
        """Raises InvalidRequest, NotFound."""
        keys = _keys(self._gateway)
        try:
            edit = await _form(self._gateway, request, CallerKeyEdit)
        except CallerLeft:
            return Response(status_code=CALLER_LEFT)
        given = {name: value for name, value in msgspec.structs.asdict(edit).items() if value is not UNSET}
        if not given:
            raise InvalidRequest("There is nothing to change. Send a name, a limit or expires_at.")
        await keys.refresh()
        key = _edited(keys.one(request.path_params["id"]), given)
        _check(key, self._gateway.clock.now(), given)
        return self._changed(await keys.change(key))

    async def delete(self, request: Request) -> Response:
        """Revokes it, for good; what it has used stays in the ledger. Raises NotFound."""
        return self._changed(await _keys(self._gateway).revoke(request.path_params["id"]))

    def _changed(self, key: CallerKey) -> Response:
        return decimal_response(ChangedCallerKey(status="ok", key=_shown(key, self._gateway.clock.now())))


def _keys(gateway: Gateway) -> CallerKeys:
    if gateway.caller_keys is None:
        raise StoreUnavailable("This gateway keeps no callers' keys.")
    return gateway.caller_keys


async def _form(gateway: Gateway, request: Request, kind: type[Form]) -> Form:
    settings = gateway.settings
    limit, wait = settings.max_body_bytes, settings.body_timeout_seconds
    return decode(await read_body(request.receive, gateway.clock, limit=limit, wait_seconds=wait), kind)


def _edited(key: CallerKey, given: dict[str, object]) -> CallerKey:
    limits = {name: value or () if name in _LISTS else value for name, value in given.items() if name in _LIMITS}
    changed = msgspec.structs.replace(key, limits=msgspec.structs.replace(key.limits, **limits))
    if "expires_at" in given:
        changed = msgspec.structs.replace(changed, expires_at=_time(given["expires_at"]))
    return msgspec.structs.replace(changed, name=given.get("name", key.name))


def _check(key: CallerKey, now: float, given: dict[str, object] | None = None) -> None:
    """Raises InvalidRequest."""
    if key.name.casefold() in (OWNER, OPEN) and (given is None or "name" in given):
        raise InvalidRequest(f"'name' must not be '{key.name}': that is somebody else here.", param="name")
    for field in ("cost_per_day", "cost_per_month"):
        amount: Decimal | None = getattr(key.limits, field)
        if amount is not None and not (amount.is_finite() and 0 <= amount <= _MOST_DOLLARS):
            raise InvalidRequest(f"'{field}' must be from 0 to {_MOST_DOLLARS} US dollars.", param=field)
    for place, origin in enumerate(key.limits.origins):
        if not origin.startswith(("https://", "http://")) or "/" in origin.partition("://")[2].rstrip("/"):
            at = f"origins[{place}]"
            raise InvalidRequest(f"'{at}' must be an origin such as https://app.example.", param=at)
    if key.expires_at is not None and key.expires_at <= now and (given is None or "expires_at" in given):
        raise InvalidRequest("'expires_at' has passed already. To end a key now, delete it.", param="expires_at")


def _time(given: object) -> float | None:
    """Raises InvalidRequest."""
    if given is None or isinstance(given, int | float):
        moment = None if given is None else float(given)
    else:
        moment = _iso(str(given))
    if moment is not None and not 0 <= moment <= _LATEST:
        raise InvalidRequest("'expires_at' is not a time of ours.", param="expires_at")
    return moment


def _iso(text: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        message = "'expires_at' must be seconds since the epoch, or ISO 8601 such as 2027-01-31T12:00:00Z."
        raise InvalidRequest(message, param="expires_at") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _shown(key: CallerKey, now: float) -> ShownCallerKey:
    limits = msgspec.structs.asdict(key.limits)
    return ShownCallerKey(
        id=key.id,
        name=key.name,
        status=key.status(now),
        use=key.use,
        hint=key.hint,
        created_at=int(key.created_at),
        expires_at=_whole(key.expires_at),
        revoked_at=_whole(key.revoked_at),
        last_used_at=_whole(key.last_used_at),
        **limits,
    )


def _whole(moment: float | None) -> int | None:
    return None if moment is None else int(moment)


_LISTS = ("models", "upstreams", "origins")
_LIMITS = frozenset(Limits.__struct_fields__)
_MOST_DOLLARS = 1_000_000
_LATEST = 253_402_300_799.0  # the end of the year 9999
