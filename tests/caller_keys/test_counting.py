"""What counts as a request of a key: whatever asks an upstream or stores something, and nothing else."""

from collections.abc import AsyncGenerator
from typing import Any

import httpx2
import pytest
import pytest_asyncio

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store import Database
from tests.caller_keys.calling import QUESTION, ask, make
from tests.emulator_api.making import skill
from tests.rig import KEY, Rig, bearer, running

pytestmark = pytest.mark.asyncio(loop_scope="module")

ASK = {"model": "gpt", "input": QUESTION}


class Phone:
    """Whoever has a key of so many requests a day."""

    def __init__(self, rig: Rig, secret: str) -> None:
        self._rig = rig
        self._secret = secret

    async def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        more["headers"] = {**bearer(self._secret), **more.get("headers", {})}
        return await self._rig.client.request(method, self._rig.url + path, **more)

    async def post(self, path: str, body: object, **more: Any) -> int:
        return (await self.send("POST", path, json=body, **more)).status_code

    async def asks(self) -> int:
        """The status of a good question."""
        return await self.post("/v1/chat/completions", ask("gpt"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Rig, None]:
    async with running(tmp_path_factory.mktemp("counting")) as opened:
        yield opened


async def phone(rig: Rig, name: str, **limits: Any) -> Phone:
    return Phone(rig, (await make(rig, name, requests_per_day=1, **limits))[1])


REFUSED: dict[str, tuple[str, Any]] = {
    "no JSON": ("/v1/chat/completions", None),
    "a model that there is not": ("/v1/chat/completions", ask("sonnar")),
    "a field that is refused": ("/v1/responses", {**ASK, "temperature": 0.5}),
    "a response that there is not": ("/v1/responses", {**ASK, "previous_response_id": "resp_none"}),
    "what Anthropic asks wrongly": ("/v1/messages", {"model": "gpt", "messages": []}),
    "what Perplexity asks wrongly": ("/perplexity/v1/agent", {"model": "perplexity/sonar", "verbosity": 1}),
    "a path that there is not": ("/v1/nothing", {}),
    "an operation that there is not": ("/v1/images/generations", {}),
    "a method that there is not": ("/v1/models", {}),
    "a search for nothing": ("/search", {"query": ""}),
    "a file without a file": ("/v1/files", {}),
    "an upstream that the key may not ask": ("/v1/chat/completions", ask("api/sonar")),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_a_request_that_is_refused_does_not_count(rig: Rig, name: str) -> None:
    path, body = REFUSED[name]
    caller = await phone(rig, name, **({"upstreams": ["session"]} if "may not" in name else {}))
    for _ in range(2):
        status = await caller.post(path, body)
        assert status in (400, 403, 404, 405), name
    assert [await caller.asks(), await caller.asks()] == [200, 429]


async def test_what_asks_nothing_does_not_count_even_where_nothing_is_left(rig: Rig) -> None:
    caller = await phone(rig, "counting tokens")
    message = {"model": "gpt", "messages": [{"role": "user", "content": QUESTION}]}
    assert await caller.asks() == 200
    for _ in range(2):
        assert await caller.post("/v1/messages/count_tokens", message) == 200
        assert await caller.post("/v1/responses/input_tokens", ASK) == 200
    assert await caller.asks() == 429


async def test_an_answer_that_is_there_already_does_not_count(rig: Rig) -> None:
    caller = Phone(rig, (await make(rig, "repeating", requests_per_day=2))[1])
    key = {"headers": {"idempotency-key": "k"}}
    assert [await caller.post("/v1/responses", ASK, **key) for _ in range(3)] == [200] * 3
    assert [await caller.asks(), await caller.asks()] == [200, 429]


async def test_what_the_upstream_refused_was_asked_and_counts(rig: Rig) -> None:
    caller = await phone(rig, "refused upstream")
    await rig.script("/search", {"status": 400, "steps": [{"bytes": '{"error":{"message":"no","code":400}}'}]})
    assert await caller.post("/search", {"query": QUESTION}) == 400
    assert await caller.asks() == 429


async def test_what_is_stored_counts_and_so_does_what_is_changed_upstream(rig: Rig) -> None:
    storing = await phone(rig, "storing")
    form = {"files": {"file": ("a.txt", b"tides")}, "data": {"purpose": "user_data"}}
    stored = await storing.send("POST", "/v1/files", **form)
    assert stored.status_code == 200, stored.text
    assert (await storing.send("POST", "/v1/files", **form)).status_code == 429
    changing = Phone(rig, (await make(rig, "changing", requests_per_day=2))[1])
    packed = {"files": {"file": ("skill.zip", skill(), "application/zip")}}
    made = await changing.send("POST", "/perplexity/v1/skills", **packed)
    assert made.status_code == 200, made.text
    path = f"/perplexity/v1/skills/{made.json()['skill_id']}"

    async def revise(revision: str) -> httpx2.Response:
        return await changing.send("PUT", path, params={"expected_revision": revision}, **packed)

    revised = await revise(made.json()["revision"])
    assert revised.status_code == 200, revised.text
    revision = revised.json()["revision"]
    assert (await revise(revision)).status_code == 429
    assert (await changing.send("DELETE", path, params={"expected_revision": revision})).status_code == 204


async def test_a_day_that_is_over_does_not_use_up_the_minute(rig: Rig) -> None:
    key_id, secret = await make(rig, "minute", requests_per_day=1, requests_per_minute=3)
    caller = Phone(rig, secret)
    assert [await caller.asks() for _ in range(6)] == [200] + [429] * 5
    await rig.client.patch(
        f"{rig.url}/admin/caller-keys/{key_id}", json={"requests_per_day": None}, headers=bearer(KEY)
    )
    assert [await caller.asks() for _ in range(3)] == [200, 200, 429]


async def test_a_store_that_fails_leaves_a_refusal_a_refusal(rig: Rig, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be counted out counts."""
    caller = await phone(rig, "broken store")
    write = Database.write

    async def failing(self: Database, *statements: Any) -> list[int]:
        if any("count - 1" in sql for sql, _ in statements):
            raise StoreUnavailable("full")
        return await write(self, *statements)

    with monkeypatch.context() as broken:
        broken.setattr(Database, "write", failing)
        assert await caller.post("/v1/chat/completions", ask("sonnar")) == 404
    assert await caller.asks() == 429
