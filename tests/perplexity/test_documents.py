"""What docs/operations.md says is so."""

import re
from pathlib import Path

from pplx_gateway.protocols.openai.unsupported import LACKING

TEXT = (Path(__file__).resolve().parents[2] / "docs/operations.md").read_text(encoding="utf-8")


def test_all_that_there_is_not_is_listed() -> None:
    listed = re.findall(r"`/v1/([a-z_/-]+)`", TEXT.partition("## What there is not")[2])
    assert listed == [path for lacking in LACKING for path in lacking.paths]
