"""`/v1/files` on the running program."""

import asyncio
import time
from collections.abc import AsyncGenerator
from pathlib import Path

import httpx2
import openai
import pytest

from pplx_gateway.settings import Secret
from tests.clients.sdk import async_client, checked
from tests.files.calling import AFAR, FILES, Caller, calling, error, eventually
from tests.files.samples import JPEG, PDF, PNG
from tests.rig import KEY, running

MIB = 1 << 20
MOST = 20 * MIB


def stored(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "files").iterdir()}


async def test_the_sdk_uploads_lists_reads_and_deletes(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        sdk = async_client(rig.url)
        first = checked(await sdk.files.create(file=("cat.png", PNG), purpose="vision"))
        assert (first.object, first.bytes, first.filename, first.purpose) == ("file", len(PNG), "cat.png", "vision")
        assert (first.status, first.expires_at) == ("processed", None)
        assert abs(first.created_at - time.time()) < 60
        expiry = {"anchor": "created_at", "seconds": 3600}
        second = checked(await sdk.files.create(file=("a.pdf", PDF), purpose="user_data", expires_after=expiry))  # type: ignore[arg-type]
        assert second.expires_at == second.created_at + 3600
        assert [file.id async for file in sdk.files.list(limit=1)] == [second.id, first.id]
        assert [file.id async for file in sdk.files.list(order="asc", purpose="vision")] == [first.id]
        assert checked(await sdk.files.retrieve(first.id)) == first
        assert (await sdk.files.content(first.id)).content == PNG
        assert checked(await sdk.files.delete(first.id)).deleted
        with pytest.raises(openai.NotFoundError):
            await sdk.files.retrieve(first.id)
        assert stored(tmp_path) == {second.id: PDF}
        assert (await sdk.files.wait_for_processing(second.id)).id == second.id
        await sdk.close()


async def test_bytes_come_back_as_nothing_that_a_browser_would_run(tmp_path: Path) -> None:
    page = b"<script>alert(1)</script>"
    async with calling(tmp_path) as (_, caller):
        file_id = (await caller.upload(page, 'x"; y="é.html', "text/html")).json()["id"]
        reply = await caller.get(f"/{file_id}/content")
    assert reply.content == page
    assert reply.headers["content-type"] == "application/octet-stream"
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["content-disposition"].startswith("attachment; filename*=utf-8''x")
    assert '"' not in reply.headers["content-disposition"]


async def test_lists_tell_where_they_end(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        empty = (await caller.get()).json()
        assert empty == {"object": "list", "data": [], "first_id": None, "last_id": None, "has_more": False}
        ids = [(await caller.upload(PNG)).json()["id"] for _ in range(5)]
        page = (await caller.get(limit="2", order="asc", after=ids[0])).json()
        assert [file["id"] for file in page["data"]] == ids[1:3]
        assert (page["first_id"], page["last_id"], page["has_more"]) == (ids[1], ids[2], True)
        assert await caller.listed() == ids[::-1]
        assert await caller.listed(purpose="vision") == []
        wrong = {
            "limit": ["0", "-1", "x", "10001", "１", "9" * 5000],
            "order": ["up"],
            "purpose": ["me"],
            "after": ["file-0"],
        }
        for name, values in wrong.items():
            for value in values:
                reply = await caller.get(**{name: value})
                assert (reply.status_code, error(reply)["param"]) == (400, name), value


@pytest.mark.parametrize(
    ("data", "name", "fields", "refusal"),
    [
        (PNG, ("../../etc/passwd", "image/png"), {}, ("file", "invalid_request")),
        (PNG, ("..\\..\\boot.ini", "image/png"), {}, ("file", "invalid_request")),
        (PNG, ("a/../b.png", "image/png"), {}, ("file", "invalid_request")),
        (PNG, ("..", "image/png"), {}, ("file", "invalid_request")),
        (PNG, ("x" * 300, "image/png"), {}, ("file", "invalid_request")),
        (b"", ("cat.png", "image/png"), {}, ("file", "empty_file")),
        (PNG, ("cat.png", "image/png"), {"purpose": ""}, ("purpose", "invalid_request")),
        (PNG, ("cat.png", "image/png"), {"purpose": "pets"}, ("purpose", "invalid_request")),
        (PNG, ("cat.jpg", "image/jpeg"), {}, ("file", "file_type_mismatch")),
        (b"just words", ("cat.png", "image/png"), {}, ("file", "file_type_mismatch")),
        (JPEG, ("cat.png", "application/octet-stream"), {}, ("file", "file_type_mismatch")),
        (PNG, ("a.txt", "text/plain"), {}, ("file", "file_type_mismatch")),
        (
            PNG,
            ("cat.png", "image/png"),
            {"expires_after__seconds": "3600"},
            ("expires_after[anchor]", "invalid_request"),
        ),
        (
            PNG,
            ("cat.png", "image/png"),
            {"expires_after__anchor": "created_at", "expires_after__seconds": "60"},
            ("expires_after[seconds]", "invalid_request"),
        ),
    ],
    ids=lambda value: str(value)[:24],
)
async def test_what_cannot_be_kept_is_refused_by_name_and_leaves_nothing(
    tmp_path: Path, data: bytes, name: tuple[str, str], fields: dict[str, str], refusal: tuple[str, str]
) -> None:
    async with calling(tmp_path) as (_, caller):
        reply = await caller.upload(data, *name, **fields)
        assert reply.status_code == 400
        assert (error(reply)["param"], error(reply)["code"]) == refusal
        assert await caller.listed() == []
    assert stored(tmp_path) == {}


async def test_a_path_in_a_name_is_cut_to_its_last_part(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        assert (await caller.upload(PNG, "/home/me/cat.png")).json()["filename"] == "cat.png"
        assert (await caller.upload(PNG, "Straße 東.png")).json()["filename"] == "Straße 東.png"


@pytest.mark.parametrize(
    ("content", "headers"),
    [
        (b"{}", {"content_type": "application/json"}),
        (b"x", {"content_type": "multipart/form-data"}),
        (b"no form", {"content_type": "multipart/form-data; boundary=X"}),
        (b"--X\r\n\r\n--X--", {"content_type": "multipart/form-data; boundary=X"}),
        (b"", {"content_type": "multipart/form-data; boundary=X"}),
        (
            b'--X\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n--X--\r\n',
            {"content_type": "multipart/form-data; boundary=X"},
        ),
        (
            b'--X\r\ncontent-disposition: form-data; name="file"\r\n\r\ntext\r\n--X--\r\n',
            {"content_type": "multipart/form-data; boundary=X"},
        ),
        (
            b'--X\r\ncontent-disposition: form-data; name="other"; filename="a"\r\n\r\ntext\r\n--X--\r\n',
            {"content_type": "multipart/form-data; boundary=X"},
        ),
    ],
)
async def test_what_is_no_form_with_a_file_is_a_400(tmp_path: Path, content: bytes, headers: dict[str, str]) -> None:
    async with calling(tmp_path) as (_, caller):
        assert (await caller.post(content, **headers)).status_code == 400
    assert stored(tmp_path) == {}


async def test_two_files_in_one_form_are_refused(tmp_path: Path) -> None:
    part = b'--X\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\ntext\r\n'
    async with calling(tmp_path) as (_, caller):
        reply = await caller.post(part + part + b"--X--\r\n", content_type="multipart/form-data; boundary=X")
        assert (reply.status_code, error(reply)["param"]) == (400, "file")
    assert stored(tmp_path) == {}


async def test_fields_that_nobody_knows_are_told(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        reply = await caller.upload(PNG, user="me")
    assert reply.headers["x-pplx-dropped"] == "user"


async def test_twenty_mebibytes_pass_and_one_byte_more_does_not(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, caller):
        whole = PNG + bytes(MOST - len(PNG))
        reply = await caller.upload(whole)
        assert (reply.status_code, reply.json()["bytes"]) == (200, MOST)
        assert (await caller.get(f"/{reply.json()['id']}/content")).content == whole
        for size in (MOST + 1, MOST + MIB):
            refused = await caller.upload(PNG + bytes(size - len(PNG)))
            assert (refused.status_code, error(refused)["param"]) == (413, "file")
            assert "PPLX_MAX_FILE_BYTES" in error(refused)["message"]
        assert len(stored(tmp_path)) == 1
        await rig.check()


async def test_a_body_without_length_is_stopped_at_the_limit(tmp_path: Path) -> None:
    head = b'--X\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    async with (
        calling(tmp_path, max_file_bytes=1000) as (rig, _),
        httpx2.AsyncClient(trust_env=False, verify=False) as client,
    ):

        async def send(size: int) -> httpx2.Response:
            async def body() -> AsyncGenerator[bytes, None]:
                yield b'--X\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nvision\r\n' + head
                for _ in range(size // 100):
                    yield b"x" * 100
                yield b"\r\n--X--\r\n"

            headers = {"authorization": f"Bearer {KEY}", "content-type": "multipart/form-data; boundary=X"}
            return await client.post(rig.url + FILES, content=body(), headers=headers)

        assert (await send(1000)).json()["bytes"] == 1000
        assert (await send(1100)).status_code == 413
        with pytest.raises(httpx2.HTTPError):  # or the connection is closed while it still sends
            (await send(1 << 20)).raise_for_status()
        assert [len(data) for data in stored(tmp_path).values()] == [1000]


async def test_the_limit_of_other_bodies_is_not_the_limit_of_files(tmp_path: Path) -> None:
    async with calling(tmp_path, max_body_bytes=1000) as (rig, caller):
        assert (await caller.upload(PNG + bytes(5000))).status_code == 200
        assert (await rig.post(b"x" * 5000)).status == 413


async def test_twenty_uploads_at_once_are_held_to_the_bound(tmp_path: Path) -> None:
    async with calling(tmp_path, file_storage_bytes=10_000) as (_, caller):
        replies = await asyncio.gather(*(caller.upload(PNG + bytes(1000 - len(PNG))) for _ in range(20)))
        assert sorted(reply.status_code for reply in replies) == [200] * 10 + [413] * 10
        refused = [error(reply) for reply in replies if reply.status_code == 413]
        assert {each["code"] for each in refused} == {"file_storage_full"}
        assert "10000 bytes" in refused[0]["message"]
        assert sum(map(len, stored(tmp_path).values())) == 10_000
        kept = await caller.listed()
        assert set(kept) == set(stored(tmp_path))
        await caller.delete(kept[0])
        assert (await caller.upload(PNG + bytes(1000 - len(PNG)))).status_code == 200


async def test_two_gateways_on_one_folder_share_files_and_bound(tmp_path: Path) -> None:
    async with (
        calling(tmp_path, file_storage_bytes=10_000) as (_, one),
        calling(tmp_path, file_storage_bytes=10_000) as (_, two),
    ):
        both = [caller.upload(PNG + bytes(1000 - len(PNG))) for _ in range(10) for caller in (one, two)]
        replies = await asyncio.gather(*both)
        assert sorted(reply.status_code for reply in replies) == [200] * 10 + [413] * 10
        assert await one.listed() == await two.listed()
        assert sum(map(len, stored(tmp_path).values())) == 10_000


async def test_files_outlive_a_restart(tmp_path: Path) -> None:
    async with calling(tmp_path) as (_, caller):
        file = (await caller.upload(PNG)).json()
    async with calling(tmp_path) as (_, caller):
        assert (await caller.get(f"/{file['id']}")).json() == file
        assert (await caller.get(f"/{file['id']}/content")).content == PNG


async def test_another_callers_files_are_as_if_there_were_none(tmp_path: Path) -> None:
    """Whoever an open gateway lets in from elsewhere is another caller than its owner."""
    async with calling(tmp_path) as (_, caller):
        file_id = (await caller.upload(PNG)).json()["id"]
    async with calling(tmp_path, api_key=None, allow_open=True) as (rig, _), Caller(rig.url, None, AFAR) as other:
        assert await other.listed() == []
        for name in (file_id, "file-000000000000000000000000", "..", "x" * 3000, "%2e%2e%2fpasswd"):
            for reply in (await other.get(f"/{name}"), await other.get(f"/{name}/content"), await other.delete(name)):
                assert reply.status_code == 404, name
        same = [error(await other.get(f"/{name}")) for name in (file_id, "file-000000000000000000000000")]
        assert same[0] == same[1]
        assert same[0]["code"] == "file_not_found"
    async with calling(tmp_path) as (_, caller):
        assert await caller.listed() == [file_id]


async def test_the_owners_files_are_the_owners_whatever_the_key(tmp_path: Path) -> None:
    kept = []
    for key in (Secret("gk-one"), Secret("gk-two"), None):
        async with calling(tmp_path, api_key=key) as (rig, _), Caller(rig.url, key.reveal() if key else None) as owner:
            kept.append((await owner.upload(PNG)).json()["id"])
            assert await owner.listed(order="asc") == kept
            assert (await owner.get(f"/{kept[0]}/content")).content == PNG
    async with calling(tmp_path) as (_, owner):
        assert (await owner.delete(kept[0])).status_code == 200
        assert await owner.listed(order="asc") == kept[1:]
        assert set(stored(tmp_path)) == set(kept[1:])


async def test_without_a_key_nothing_is_read_or_kept(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, _), Caller(rig.url, None) as stranger:
        assert (await stranger.upload(PNG)).status_code == 401
        assert (await stranger.get()).status_code == 401
    assert stored(tmp_path) == {}


async def test_a_caller_who_leaves_half_way_leaves_nothing(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, caller):
        await half_an_upload(rig.url, leave=True)
        await eventually(lambda: '"left":true' in rig.log.getvalue())
        assert stored(tmp_path) == {}
        assert await caller.listed() == []


async def half_an_upload(url: str, *, leave: bool) -> asyncio.StreamWriter:
    """Sends a form up to the middle of its file."""
    host, _, port = url.removeprefix("http://").partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    head = (
        f"POST {FILES} HTTP/1.1\r\nhost: {host}:{port}\r\nauthorization: Bearer {KEY}\r\n"
        "content-type: multipart/form-data; boundary=X\r\ncontent-length: 5000\r\n\r\n"
        '--X\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n'
    )
    writer.write(head.encode() + b"x" * 1000)
    await writer.drain()
    if leave:
        writer.close()
        await writer.wait_closed()
    return writer


async def test_a_path_that_takes_no_such_method_says_what_it_takes(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, _), httpx2.AsyncClient(trust_env=False, verify=False) as client:
        reply = await client.put(rig.url + FILES, headers={"authorization": f"Bearer {KEY}"})
    assert reply.status_code == 405
    assert {"GET", "POST"} <= set(reply.headers["allow"].split(", "))
