"""Gateways as processes: one that is killed in the middle of an upload, and those that come after with another key."""

import contextlib
import signal
import sqlite3
from importlib.resources import files
from pathlib import Path

from tests.files.calling import Caller, eventually
from tests.files.samples import PNG
from tests.files.test_upload import half_an_upload, stored
from tests.rig import KEY
from tests.test_commands import program

SETTINGS = {"PPLX_PROXY_API_KEY": KEY, "PERPLEXITY_API_KEY": "pplx-x", "PPLX_FILE_STORAGE_BYTES": "6000"}


async def test_a_kill_between_reservation_and_bytes_takes_no_room_after_the_restart(tmp_path: Path) -> None:
    async with program("serve", "--port", "0", folder=tmp_path, **SETTINGS) as running:
        async with Caller(running.url) as caller:
            kept = (await caller.upload(PNG)).json()["id"]
            writer = await half_an_upload(running.url, leave=False)
            await eventually(lambda: sorted(map(len, stored(tmp_path / "data").values())) == [len(PNG), 1000])
            assert (await caller.upload(PNG + bytes(3000))).status_code == 413
        await running.stop(signal.SIGKILL)
        writer.close()
    assert len(stored(tmp_path / "data")) == 2
    async with program("serve", "--port", "0", folder=tmp_path, **SETTINGS) as running, Caller(running.url) as caller:
        assert await caller.listed() == [kept]
        assert stored(tmp_path / "data") == {kept: PNG}
        assert (await caller.upload(PNG + bytes(5000))).status_code == 200


async def test_the_owners_files_outlive_a_change_of_the_key(tmp_path: Path) -> None:
    async with (
        program("serve", "--port", "0", folder=tmp_path, **SETTINGS) as running,
        Caller(running.url) as owner,
    ):
        kept = [(await owner.upload(PNG)).json()["id"] for _ in range(2)]
        await running.stop()
    other = {**SETTINGS, "PPLX_PROXY_API_KEY": "gk-another-0123456789"}
    async with program("serve", "--port", "0", folder=tmp_path, **other) as running:
        async with Caller(running.url) as late:
            assert (await late.get()).status_code == 401
        async with Caller(running.url, other["PPLX_PROXY_API_KEY"]) as owner:
            assert await owner.listed(order="asc") == kept
            assert (await owner.get(f"/{kept[0]}/content")).content == PNG
            assert (await owner.delete(kept[0])).status_code == 200
            assert await owner.listed() == kept[1:]
            assert stored(tmp_path / "data") == {kept[1]: PNG}
        await running.stop()


async def test_files_of_a_store_from_before_are_the_owners(tmp_path: Path) -> None:
    """There they were kept under an id that came from the key."""
    before = "file-000000000000000000000000"
    (tmp_path / "data" / "files").mkdir(parents=True, mode=0o700)
    (tmp_path / "data" / "files" / before).write_bytes(PNG)
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "gateway.sqlite")) as old:
        for name in ("0001_threads", "0002_shared_state", "0003_files"):
            old.executescript(files("pplx_gateway").joinpath(f"store/migrations/{name}.sql").read_text())
        old.execute("pragma user_version = 3")
        row = (before, "0123456789abcdef", len(PNG), 1, "cat.png", "image/png", "user_data", 1_790_000_000)
        old.execute(
            "insert into files (id, caller, size, kept, filename, kind, purpose, created_at) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            row,
        )
        old.commit()
    async with program("serve", "--port", "0", folder=tmp_path, **SETTINGS) as running, Caller(running.url) as owner:
        assert await owner.listed() == [before]
        assert (await owner.get(f"/{before}/content")).content == PNG
        assert (await owner.delete(before)).status_code == 200
        await running.stop()
