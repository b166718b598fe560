"""`/admin/files`: the owner sees and removes whoever's files."""

from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.store import Database
from tests.files.calling import AFAR, Caller, calling, checked, error
from tests.files.samples import PDF, PNG
from tests.files.test_upload import stored
from tests.rig import KEY, bearer
from tests.web.test_openapi import validator

ADMIN = "/admin/files"


async def listed(caller: Caller, **query: str) -> dict[str, Any]:
    reply = checked(await caller.client.get(ADMIN, params=query))
    assert (reply.status_code, reply.headers["cache-control"]) == (200, "no-store")
    validator("KeptFiles").validate(reply.json())
    found: dict[str, Any] = reply.json()
    return found


async def test_the_files_of_all_callers_are_listed_with_the_room_that_they_take(tmp_path: Path) -> None:
    async with (
        calling(tmp_path, api_key=None, allow_open=True, file_storage_bytes=5000) as (rig, _),
        Caller(rig.url, None) as owner,
        Caller(rig.url, None, AFAR) as other,
    ):
        mine = (await owner.upload(PNG)).json()
        theirs = (await other.upload(PDF, "a.pdf", "application/pdf", purpose="assistants")).json()
        found = await listed(owner, order="asc")
        assert [(file["id"], file["caller"], file["kind"]) for file in found["files"]] == [
            (mine["id"], "owner", "image/png"),
            (theirs["id"], "open", "application/pdf"),
        ]
        for file, info in zip(found["files"], (mine, theirs), strict=True):
            assert {name: file[name] for name in ("bytes", "filename", "purpose", "created_at", "expires_at")} == {
                name: info[name] for name in ("bytes", "filename", "purpose", "created_at", "expires_at")
            }
        assert (found["bytes_taken"], found["bytes_allowed"]) == (len(PNG) + len(PDF), 5000)
        assert [file["id"] for file in (await listed(owner, purpose="assistants"))["files"]] == [theirs["id"]]
        first = await listed(owner, limit="1", order="asc")
        assert ([file["id"] for file in first["files"]], first["has_more"]) == ([mine["id"]], True)
        rest = await listed(owner, after=mine["id"], order="asc")
        assert ([file["id"] for file in rest["files"]], rest["has_more"]) == ([theirs["id"]], False)
        refused = checked(await other.client.get(ADMIN))
        assert (refused.status_code, error(refused)["code"]) == (403, "forbidden")
        refused = checked(await other.client.delete(f"{ADMIN}/{mine['id']}"))
        assert (refused.status_code, error(refused)["code"]) == (403, "forbidden")
        assert set(stored(tmp_path)) == {mine["id"], theirs["id"]}


async def test_a_removed_file_is_gone_for_its_caller_and_gives_its_room_back(tmp_path: Path) -> None:
    async with (
        calling(tmp_path, api_key=None, allow_open=True) as (rig, _),
        Caller(rig.url, None) as owner,
        Caller(rig.url, None, AFAR) as other,
    ):
        file_id = (await other.upload(PNG)).json()["id"]
        reply = checked(await owner.client.delete(f"{ADMIN}/{file_id}"))
        assert (reply.status_code, reply.json()) == (200, {"status": "ok", "removed": file_id})
        validator("RemovedFile").validate(reply.json())
        assert (await other.get(f"/{file_id}")).status_code == 404
        assert stored(tmp_path) == {}
        found = await listed(owner)
        assert (found["files"], found["bytes_taken"]) == ([], 0)
        again = checked(await owner.client.delete(f"{ADMIN}/{file_id}"))
        assert (again.status_code, error(again)["code"], error(again)["param"]) == (404, "file_not_found", "id")


async def test_a_file_that_has_had_its_time_takes_no_room_in_the_list(tmp_path: Path) -> None:
    """It is cleared away when the list is asked for, and not only by the next upload."""
    async with calling(tmp_path) as (_, owner):
        file_id = (await owner.upload(PNG)).json()["id"]
        database = await Database.open(tmp_path / "gateway.sqlite")
        await database.write(("update files set expires_at = 1 where id = ?", (file_id,)))
        await database.close()
        found = await listed(owner)
        assert (found["files"], found["bytes_taken"]) == ([], 0)
        assert stored(tmp_path) == {}


@pytest.mark.parametrize(
    ("query", "param"),
    [
        ("limit=0", "limit"),
        ("limit=many", "limit"),
        ("order=up", "order"),
        ("purpose=x", "purpose"),
        ("after=x", "after"),
    ],
)
async def test_a_wrong_parameter_is_a_400_that_names_it(tmp_path: Path, query: str, param: str) -> None:
    async with calling(tmp_path) as (_, owner):
        reply = checked(await owner.client.get(f"{ADMIN}?{query}"))
        assert (reply.status_code, error(reply)["param"]) == (400, param)


async def test_only_the_key_lets_in_and_other_methods_are_told(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, owner):
        file_id = (await owner.upload(PNG)).json()["id"]
        for key in (None, "wrong"):
            assert (await rig.client.get(rig.url + ADMIN, headers=bearer(key))).status_code == 401
            reply = await rig.client.delete(f"{rig.url}{ADMIN}/{file_id}", headers=bearer(key))
            assert reply.status_code == 401
        assert await owner.listed() == [file_id]
        reply = await rig.client.post(rig.url + ADMIN, headers=bearer(KEY))
        assert reply.status_code == 405
        assert "GET" in reply.headers["allow"]
