"""Whatever the description allows can be asked, and is answered as it says."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.openapi.bodies import Things
from tests.openapi.driving import Driver
from tests.rig import running

EXAMPLES = int(os.environ.get("PPLX_OPENAPI_EXAMPLES", "2"))
"""Of each operation, right and wrong ones each; CONTRIBUTING.md tells of longer runs."""

NEVER_DONE = (
    "/cancel",  # by then what was started is over
    "/files/{file_id}/content",  # the run has shared no file
    "DELETE /perplexity/",  # things that are gone since the first address was asked
    "DELETE /admin/files/{id}",
    "PUT /perplexity/skills/{id}",  # its revision is another one since the first address was asked
)
"""What need not succeed here, and why."""


@pytest.mark.timeout(600)  # a machine that is slow, or a run that is long
async def test_every_answer_is_as_the_description_says(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        things = Things(rig)
        await things.make()
        driver = Driver(rig.url, (await rig.get("/openapi.json")).json, things, examples=EXAMPLES)
        await asyncio.to_thread(driver.drive)
        log = rig.log.getvalue()
    assert list(driver.complaints) == []
    assert '"defect"' not in log
    undone = [label for label, statuses in driver.statuses.items() if min(statuses) >= 400]
    assert [label for label in undone if not any(part in label for part in NEVER_DONE)] == []
