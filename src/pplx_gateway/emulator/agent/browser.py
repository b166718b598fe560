"""`/v1/browser/sessions`: a browser in the cloud is started and stopped (docs/wire-agent.md 8)."""

import uuid

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import not_found
from pplx_gateway.emulator.agent.guards import guard
from pplx_gateway.emulator.agent.request import Strict
from pplx_gateway.emulator.agent.strictness import read_as, read_object
from pplx_gateway.emulator.stage import Stage


class SessionBody(Strict):
    """Nothing can be asked for."""


class BrowserSessions:
    """Running sessions by id, with the key that each belongs to."""

    def __init__(self, stage: Stage) -> None:
        self._desk = Desk(stage)
        self._sessions: dict[str, str] = {}
        stage.guard("POST", "/v1/browser/sessions", guard(read_session))
        stage.show("browser_sessions", lambda: list(self._sessions))

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/v1/browser/sessions", self.create, methods=["POST"]),
            Route("/v1/browser/sessions/{session_id}", self.delete, methods=["DELETE"]),
        ]

    async def create(self, request: Request) -> Response:
        key = self._desk.key(request)
        read_session(await request.body())
        session_id = str(uuid.uuid4())
        self._sessions[session_id] = key
        return self._desk.answer({"session_id": session_id, "status": "running"})

    async def delete(self, request: Request) -> Response:
        key = self._desk.key(request)
        session_id = request.path_params["session_id"]
        if self._sessions.get(session_id) != key:
            raise not_found()
        del self._sessions[session_id]
        return self._desk.nothing()


def read_session(body: bytes) -> SessionBody:
    """Raises ApiError 400 and 413."""
    return read_as(read_object(body), SessionBody)
