"""`POST /_emulator/session`: what no word of a question or token can set."""

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.session.account import Tier
from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.emulator.session.state import State


class Change(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Absent fields change nothing. `dead_models`: ids that fail as unknown ones do; `added_models`: new ids with the
    tier that they need; `left`: what remains, for the account of a token."""

    form: str | None = None
    research_seconds: float | None = None
    ask_back_seconds: float | None = None
    dead_models: list[str] | None = None
    added_models: dict[str, Tier] | None = None
    left: dict[str, dict[str, int]] | None = None


class SessionControl:
    def __init__(self, state: State) -> None:
        self._state = state

    def routes(self) -> list[BaseRoute]:
        return [Route("/_emulator/session", self.change, methods=["POST"])]

    async def change(self, request: Request) -> Response:
        try:
            change = msgspec.json.decode(await request.body(), type=Change)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            return JSONResponse({"error": str(error)}, 400)
        if change.form is not None and change.form not in FORMS:
            return JSONResponse({"error": f"There is no form {change.form!r}. There are: {', '.join(FORMS)}"}, 400)
        self._apply(change)
        return JSONResponse(self._state.view())

    def _apply(self, change: Change) -> None:
        settings, models = self._state.settings, self._state.models
        for name in ("form", "research_seconds", "ask_back_seconds"):
            if getattr(change, name) is not None:
                setattr(settings, name, getattr(change, name))
        if change.dead_models is not None:
            models.dead = set(change.dead_models)
        if change.added_models is not None:
            models.added = dict(change.added_models)
        for token, left in (change.left or {}).items():
            account = self._state.accounts.of(token)
            if account is not None:
                account.left |= left
