"""A gateway that is killed in the middle of an upload, as a process."""

import signal
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
