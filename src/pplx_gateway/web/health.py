"""`GET /health`: alive, for anyone; how the session and the quota stand, for the owner. At once, from memory."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType
from starlette.requests import Request
from starlette.responses import Response

from pplx_gateway import __version__
from pplx_gateway.catalogue import Tier
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.encoding import encode
from pplx_gateway.standing import QuotaReading, Session, State


class SessionHealth(msgspec.Struct, frozen=True, kw_only=True):
    """null = not known. `cookie_kept`: the newest cookie would outlive a restart."""

    state: State
    account_type: Tier | None
    checked_seconds_ago: float | None
    cookie_age_hours: float | None
    cookie_old: bool
    cookie_kept: bool


class Health(msgspec.Struct, frozen=True, kw_only=True):
    """The first three are for everybody. `session` null = no cookie is set up; `remaining_*` null = not known, which
    is not zero."""

    status: Literal["ok", "degraded"]
    service: str
    version: str
    session: SessionHealth | UnsetType | None = UNSET
    cookie_age_hours: float | UnsetType | None = UNSET
    remaining_pro: int | UnsetType | None = UNSET
    remaining_research: int | UnsetType | None = UNSET
    quota_age_seconds: float | UnsetType | None = UNSET


class HealthRoute:
    """Whoever asks, the answer comes from memory; for the owner what is old is also asked anew behind it.

    `status` is "degraded" while the session is dead, blocked, or could not be kept. The HTTP status is 200 all the
    same: the gateway lives, and a supervisor that restarts it would mend nothing."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    async def get(self, request: Request) -> Response:
        owner = bool(request.scope["state"].get("owner"))
        if owner and (session := self._session) is not None:
            session.refresh()
        health = self._whole() if owner or self._gateway.settings.public_health else self._short()
        return Response(encode(health), media_type="application/json", headers={"cache-control": "no-store"})

    def _short(self) -> Health:
        return Health(status=self._status(), service="pplx-gateway", version=__version__)

    def _whole(self) -> Health:
        shown = session_health(self._session) if self._session else None
        reading = self._gateway.quota.reading() if self._gateway.quota else QuotaReading()
        return msgspec.structs.replace(
            self._short(),
            session=shown,
            cookie_age_hours=shown.cookie_age_hours if shown else None,
            remaining_pro=reading.remaining_pro,
            remaining_research=reading.remaining_research,
            quota_age_seconds=_rounded(reading.age_seconds),
        )

    @property
    def _session(self) -> Session | None:
        session = self._gateway.session
        return session if session is not None and session.present else None

    def _status(self) -> Literal["ok", "degraded"]:
        if self._session is None:
            return "ok"
        standing = self._session.standing()
        return "degraded" if standing.state in ("expired", "blocked") or not standing.kept else "ok"


def session_health(session: Session) -> SessionHealth:
    standing = session.standing()
    return SessionHealth(
        state=standing.state,
        account_type=standing.tier,
        checked_seconds_ago=_rounded(standing.checked_seconds_ago),
        cookie_age_hours=_rounded(standing.cookie_age_hours),
        cookie_old=standing.cookie_old,
        cookie_kept=standing.kept,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
