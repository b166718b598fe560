"""`/v1/skills`: bundles that are kept in revisions (docs/wire-agent.md 8)."""

import secrets
import uuid
from datetime import UTC, datetime
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from pplx_gateway.emulator.agent.bundle import read_bundle
from pplx_gateway.emulator.agent.desk import Desk
from pplx_gateway.emulator.agent.errors import ApiError, not_found
from pplx_gateway.emulator.agent.forms import read_form
from pplx_gateway.emulator.agent.paging import by_token
from pplx_gateway.emulator.stage import Stage

BUNDLES = "/emulator-bundles"


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One state of a skill. `created_at` is ISO; `signature` is what its download address is good by."""

    id: str
    name: str
    description: str
    content: bytes
    created_at: str
    signature: str

    def view(self) -> dict[str, Any]:
        return {"revision": self.id, "name": self.name, "created_at": self.created_at}


class Skill(msgspec.Struct, kw_only=True):
    """`revisions` are oldest first, never none."""

    id: str
    key: str
    revisions: list[Revision]

    @property
    def latest(self) -> Revision:
        return self.revisions[-1]

    def summary(self) -> dict[str, Any]:
        return {
            "skill_id": self.id,
            "name": self.latest.name,
            "revision": self.latest.id,
            "created_at": self.revisions[0].created_at,
            "updated_at": self.latest.created_at,
        }

    def view(self, revision: Revision) -> dict[str, Any]:
        told = {"name": revision.name, "description": revision.description, "revision": revision.id}
        return {**self.summary(), **told, "latest_revision": self.latest.id}


class Skills:
    """The skills of all keys, and the endpoints. Each key sees its own alone."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._desk = Desk(stage)
        self._skills: dict[str, Skill] = {}

    def routes(self) -> list[BaseRoute]:
        one = "/v1/skills/{skill_id}"
        return [
            Route("/v1/skills", self.create, methods=["POST"]),
            Route("/v1/skills", self.list, methods=["GET"]),
            Route(one, self.retrieve, methods=["GET"]),
            Route(one, self.update, methods=["PUT"]),
            Route(one, self.delete, methods=["DELETE"]),
            Route(f"{one}/download", self.download, methods=["GET"]),
            Route(f"{one}/revisions", self.list_revisions, methods=["GET"]),
            Route(BUNDLES + "/{skill_id}/{revision}", self.bundle, methods=["GET"]),
        ]

    async def create(self, request: Request) -> Response:
        key = self._desk.key(request)
        revision = await self._uploaded(request)
        skill = Skill(id=f"skill_{uuid.uuid4().hex}", key=key, revisions=[revision])
        self._skills[skill.id] = skill
        return self._desk.answer(skill.view(revision))

    async def _uploaded(self, request: Request) -> Revision:
        content = (await read_form(request)).content
        told = read_bundle(content)
        return Revision(
            id=f"rev_{uuid.uuid4().hex[:12]}",
            name=told.name,
            description=told.description,
            content=content,
            created_at=datetime.fromtimestamp(self._stage.clock.now(), UTC).isoformat(timespec="milliseconds"),
            signature=secrets.token_hex(16),
        )

    async def list(self, request: Request) -> Response:
        key = self._desk.key(request)
        found = [skill for skill in reversed(self._skills.values()) if skill.key == key]
        return self._desk.answer(by_token(found, request.query_params, "skills", Skill.summary))

    async def retrieve(self, request: Request) -> Response:
        skill = self._asked_for(request)
        return self._desk.answer(skill.view(_revision(skill, request)))

    async def update(self, request: Request) -> Response:
        skill = self._asked_for(request)
        _check_expected(skill, request)
        skill.revisions.append(await self._uploaded(request))
        return self._desk.answer(skill.view(skill.latest))

    async def delete(self, request: Request) -> Response:
        skill = self._asked_for(request)
        _check_expected(skill, request)
        del self._skills[skill.id]
        return self._desk.nothing()

    async def download(self, request: Request) -> Response:
        """An address that carries its own leave, on what plays the storage."""
        skill = self._asked_for(request)
        revision = _revision(skill, request)
        at = f"{str(request.base_url).rstrip('/')}{BUNDLES}/{skill.id}/{revision.id}?signature={revision.signature}"
        return self._desk.answer({"download_url": at, "name": revision.name, "revision": revision.id})

    async def list_revisions(self, request: Request) -> Response:
        newest_first = self._asked_for(request).revisions[::-1]
        return self._desk.answer(by_token(newest_first, request.query_params, "revisions", Revision.view))

    async def bundle(self, request: Request) -> Response:
        """The storage knows no keys, and must not be shown one."""
        skill = self._skills.get(request.path_params["skill_id"])
        found = [each for each in skill.revisions if each.id == request.path_params["revision"]] if skill else []
        signed = [each for each in found if each.signature == request.query_params.get("signature")]
        if "authorization" in request.headers or not signed:
            return Response("<Error><Code>AccessDenied</Code></Error>", 403, media_type="application/xml")
        return Response(signed[0].content, media_type="application/zip")

    def _asked_for(self, request: Request) -> Skill:
        key = self._desk.key(request)
        skill = self._skills.get(request.path_params["skill_id"])
        if skill is None or skill.key != key:
            raise not_found()
        return skill


def _revision(skill: Skill, request: Request) -> Revision:
    """The one that `revision` asks for; without it the latest. Raises ApiError 404."""
    wanted = request.query_params.get("revision")
    if wanted is None:
        return skill.latest
    found = next((each for each in skill.revisions if each.id == wanted), None)
    if found is None:
        raise not_found()
    return found


def _check_expected(skill: Skill, request: Request) -> None:
    """Raises ApiError 400 without `expected_revision`, 409 for one that is not the latest."""
    expected = request.query_params.get("expected_revision")
    if not expected:
        raise ApiError(400, "expected_revision is required", param="expected_revision")
    if expected != skill.latest.id:
        raise ApiError(409, "the skill has been changed since that revision", "conflict", param="expected_revision")
