"""Skills and their revisions (docs/wire-agent.md 8)."""

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.multipart import Form, form
from pplx_gateway.operations import Native, Owned, Slice
from pplx_gateway.upstreams.api.operations.calls import Calls, owned_path, query

PATH = "/v1/skills"
NAMES = ("skills",)
"""What an allow-list calls it."""


class ApiSkills:
    """Skills (operations.py)."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def add(self, bundle: bytes, filename: str, key_name: str | None = None) -> Native:
        made = _form(bundle, filename)
        answered = await self._calls.paid(PATH, made.body, NAMES, key_name, content=made.content_type)
        return answered.native("skill_id")

    async def skills(self, part: Slice, key_name: str) -> Native:
        return (await self._calls.get(PATH + query(_page(part)), key_name)).native()

    async def skill(self, skill: Owned, revision: str | None = None) -> Native:
        path = owned_path(PATH, skill, query({"revision": revision}))
        return (await self._calls.get(path, skill.key_name)).native("skill_id")

    async def revise(self, skill: Owned, bundle: bytes, filename: str, expected_revision: str) -> Native:
        made, path = _form(bundle, filename), owned_path(PATH, skill, query({"expected_revision": expected_revision}))
        answered = await self._calls.send("PUT", path, skill.key_name, made.body, content=made.content_type)
        return answered.native("skill_id")

    async def remove(self, skill: Owned, expected_revision: str) -> None:
        path = owned_path(PATH, skill, query({"expected_revision": expected_revision}))
        await self._calls.send("DELETE", path, skill.key_name)

    async def download(self, skill: Owned, revision: str | None = None) -> Native:
        path = owned_path(PATH, skill, "/download" + query({"revision": revision}))
        return (await self._calls.get(path, skill.key_name)).native()

    async def revisions(self, skill: Owned, part: Slice) -> Native:
        path = owned_path(PATH, skill, "/revisions" + query(_page(part)))
        return (await self._calls.get(path, skill.key_name)).native()


def _page(part: Slice) -> dict[str, object]:
    return {"limit": part.limit, "page_token": part.cursor}


def _form(bundle: bytes, filename: str) -> Form:
    if not bundle:
        raise InvalidRequest("The bundle is empty.", param="file")
    return form({}, filename, bundle, "application/zip")
