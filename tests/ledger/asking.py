"""What tests of the ledger ask, and how they read it."""

import json
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from tests.rig import KEY, Rig, bearer

QUESTION = "Which two rivers meet in the old town of Ghent?"


def ask(model: str = "api/sonar", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}], **more}


async def read(rig: Rig, path: str, *, key: str = KEY, **query: str) -> dict[str, Any]:
    """Numbers are exact decimals."""
    address = f"{rig.url}{path}?{urlencode(query)}"
    reply = await rig.client.get(address, headers=bearer(key))
    assert reply.status_code == 200, reply.text
    assert reply.headers["cache-control"] == "no-store"
    found: dict[str, Any] = json.loads(reply.text, parse_float=Decimal)
    return found


async def requests(rig: Rig, **query: str) -> list[dict[str, Any]]:
    """The newest first."""
    found: list[dict[str, Any]] = (await read(rig, "/admin/requests", **query))["data"]
    return found
