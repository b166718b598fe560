"""Callers with keys of their own."""

from typing import Any

import httpx2

from tests.cases.scripts import agent_steps
from tests.rig import AGENT, KEY, Reply, Rig, bearer

PATH = "/admin/caller-keys"
QUESTION = "Which two rivers meet in the old town of Ghent?"


def ask(model: str = "api/sonar", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": QUESTION}], **more}


async def make(rig: Rig, name: str = "phone", **limits: Any) -> tuple[str, str]:
    """A new key: its id and its secret."""
    reply = await rig.post({"name": name, **limits}, path=PATH)
    assert reply.status == 201, reply.json
    return reply.json["key"]["id"], reply.json["secret"]


async def change(rig: Rig, key_id: str, **changes: Any) -> httpx2.Response:
    return await rig.client.patch(f"{rig.url}{PATH}/{key_id}", json=changes, headers=bearer(KEY))


async def revoke(rig: Rig, key_id: str) -> httpx2.Response:
    return await rig.client.delete(f"{rig.url}{PATH}/{key_id}", headers=bearer(KEY))


async def paid(rig: Rig, secret: str, **more: Any) -> Reply:
    """A chat that costs 0.00503 dollars."""
    await rig.script(AGENT, agent_steps())
    return await rig.post(ask(**more), key=secret)


async def asked_upstream(rig: Rig) -> int:
    return len(await rig.requests(f"{AGENT}*"))
