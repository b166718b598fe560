"""The list of threads, reading back, deletion, and the models."""

from typing import Any

import httpx2
import pytest

from pplx_gateway.catalogue import Catalogue
from pplx_gateway.emulator.session.account import Accounts, Tier
from pplx_gateway.emulator.session.catalogue import Models
from tests.emulator_session.asking import COOKIE, QUESTION, Page
from tests.emulator_session.reader import Reader, legacy_text

LIST = "/rest/thread/list_ask_threads"
DELETE = "/rest/thread/delete_thread_by_entry_uuid"


async def listed(page: Page, **wanted: Any) -> list[dict[str, Any]]:
    reply = await page.post(LIST, {"limit": 20, "offset": 0, "ascending": False, "search_term": "", **wanted})
    assert reply.status_code == 200
    found: list[dict[str, Any]] = reply.json()
    return found


async def delete(page: Page, body: dict[str, Any]) -> httpx2.Response:
    return await page.client.request("DELETE", DELETE, json=body, headers=page.headers())


async def test_threads_are_listed_newest_first(page: Page) -> None:
    first = await page.read("What is tea?")
    await page.read("And coffee?", last_backend_uuid=first.merged["backend_uuid"])
    await page.read("What is rain?")
    newest, oldest = await listed(page)
    assert (newest["title"], oldest["title"]) == ("What is rain?", "What is tea?")
    assert (oldest["query_count"], oldest["thread_status"], oldest["display_model"]) == (2, "COMPLETED", "gpt56_terra")
    assert oldest["context_uuid"] == first.merged["context_uuid"]
    assert (oldest["total_threads"], oldest["has_next_page"]) == (2, False)
    assert [thread["title"] for thread in await listed(page, ascending=True)] == ["What is tea?", "What is rain?"]


async def test_the_list_has_pages_and_a_search(page: Page) -> None:
    for subject in ("tea", "rain", "snow"):
        await page.read(f"What is {subject}?")
    (first,) = await listed(page, limit=1)
    assert (first["title"], first["total_threads"], first["has_next_page"]) == ("What is snow?", 3, True)
    (last,) = await listed(page, limit=2, offset=2)
    assert (last["title"], last["has_next_page"]) == ("What is tea?", False)
    (found,) = await listed(page, search_term="RAIN")
    assert found["title"] == "What is rain?"


async def test_incognito_threads_are_not_in_the_library(page: Page) -> None:
    await page.read(QUESTION, is_incognito=True)
    assert await listed(page) == []
    assert len(await listed(page, with_temporary_threads=True)) == 1


async def test_without_the_app_headers_the_list_is_empty(page: Page, client: httpx2.AsyncClient) -> None:
    await page.read(QUESTION)
    reply = await client.post(LIST, json={"limit": 20}, headers={"cookie": f"{COOKIE}=emulator-pro"})
    assert (reply.status_code, reply.json()) == (200, [])
    assert await listed(Page(client, "emulator-max")) == []
    assert await listed(Page(client, None)) == []


async def test_a_list_by_get_is_400(page: Page) -> None:
    assert (await page.get(LIST)).status_code == 400


async def test_a_thread_is_read_back_in_either_shape(page: Page) -> None:
    first = await page.read(QUESTION)
    await page.read("And then?", last_backend_uuid=first.merged["backend_uuid"])
    for slug in (first.merged["thread_url_slug"], first.merged["backend_uuid"]):
        thread = (await page.get(f"/rest/thread/{slug}", with_schematized_response="true")).json()
        assert (thread["status"], thread["has_next_page"], len(thread["entries"])) == ("success", False, 2)
        assert Reader().read(thread["entries"][:1]).text == first.text
        assert "text" not in thread["entries"][0]
    plain = (await page.get(f"/rest/thread/{first.merged['thread_url_slug']}")).json()
    assert legacy_text(plain["entries"][0]["text"]) == first.text
    assert plain["entries"][0]["blocks"] == []


async def test_a_turn_that_has_not_ended_reads_back_empty(page: Page) -> None:
    await page.cut(f"fault:midstream_drop {QUESTION}")
    (thread,) = await listed(page)
    assert thread["thread_status"] == "PENDING"
    (entry,) = (await page.get(f"/rest/thread/{thread['slug']}", with_schematized_response="true")).json()["entries"]
    assert (entry["status"], entry["blocks"]) == ("PENDING", [])


@pytest.mark.parametrize("token", ["emulator-max", None])
async def test_nobody_reads_or_deletes_the_threads_of_another(
    page: Page, client: httpx2.AsyncClient, token: str | None
) -> None:
    first = (await page.read(QUESTION)).merged
    other = Page(client, token)
    expected = 401 if token is None else 404
    assert (await other.get(f"/rest/thread/{first['thread_url_slug']}")).status_code == expected
    assert (await delete(other, {"entry_uuid": first["backend_uuid"]})).status_code == expected
    assert len(await listed(page)) == 1


async def test_a_thread_is_deleted_whole_and_more_than_once(page: Page) -> None:
    first = (await page.read(QUESTION)).merged
    second = (await page.read("And then?", last_backend_uuid=first["backend_uuid"])).merged
    body = {"entry_uuid": second["backend_uuid"], "read_write_token": second["read_write_token"]}
    for _ in range(2):
        reply = await delete(page, body)
        assert (reply.status_code, reply.json()) == (200, {"status": "success"})
    assert await listed(page) == []
    gone = await page.get(f"/rest/thread/{first['thread_url_slug']}")
    assert (gone.status_code, gone.json()["error_code"]) == (400, "ENTRY_DELETED")
    (frame,) = await page.frames("And now?", last_backend_uuid=first["backend_uuid"])
    assert frame["error_code"] == "GENERIC_FAILED_RESPONSE"


async def test_an_unknown_thread_is_404(page: Page) -> None:
    reply = await delete(page, {"entry_uuid": "nothing"})
    assert (reply.status_code, reply.json()["error_code"]) == (404, "THREAD_NOT_FOUND")
    assert (await page.get("/rest/thread/nothing")).status_code == 404
    assert (await page.client.request("DELETE", "/rest/thread/nothing", headers=page.headers())).status_code == 405


async def test_the_models_need_no_login_but_the_schema(client: httpx2.AsyncClient) -> None:
    reply = await client.get("/rest/models/config", params={"config_schema": "v1", "version": "2.18"})
    config = reply.json()
    assert config["config_schema"] == "v1"
    assert {"label", "description", "mode", "provider"} == set(config["models"]["gpt56_terra"])
    assert config["default_models"]["research"] == "pplx_alpha"
    assert (await client.get("/rest/models/config")).status_code == 400


async def test_the_picker_pairs_models_that_exist(client: httpx2.AsyncClient) -> None:
    config = (await client.get("/rest/models/config", params={"config_schema": "v1"})).json()
    for row in config["config"]:
        pair = [row["non_reasoning_model"], row["reasoning_model"]]
        assert any(pair)
        assert all(model in config["models"] for model in pair if model)
        assert row["subscription_tier"] in (None, "pro", "max")
    assert any(row["non_reasoning_model"] is None for row in config["config"])
    assert sum(row["is_default"] for row in config["config"]) == 1


def test_every_enabled_model_of_the_gateway_can_be_asked() -> None:
    models, accounts = Models.built_in(), Accounts()
    for model in Catalogue.built_in():
        if model.session is None:
            continue
        account = accounts.of(f"emulator-{model.session.tier}")
        assert account is not None
        for upstream_id in {model.session.upstream_id, model.session.thinking_id} - {None}:
            assert upstream_id is not None
            assert models.fit(model.session.mode, upstream_id, account) == "fits", upstream_id


def test_tiers_of_the_gateway_and_of_the_emulator_agree() -> None:
    lower: dict[Tier, Tier] = {"pro": "free", "max": "pro"}
    models, accounts = Models.built_in(), Accounts()
    for model in Catalogue.built_in():
        if model.session is None or model.session.tier == "free":
            continue
        account = accounts.of(f"emulator-{lower[model.session.tier]}")
        assert account is not None
        assert models.fit(model.session.mode, model.session.upstream_id, account) == "above_tier", model.id
