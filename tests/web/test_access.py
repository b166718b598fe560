import logging

import pytest

from tests.openai.fakes import KEY
from tests.web.calling import ASK, calling


async def test_every_reply_has_a_fresh_id_of_our_own() -> None:
    async with calling() as caller:
        own = {"x-request-id": "req_mine", "authorization": f"Bearer {KEY}"}
        replies = [
            await caller.ask(headers=own),
            await caller.stream(),
            await caller.ask(b"{"),
            await caller.ask(headers={}),
            await caller.get("/health"),
            await caller.get("/nowhere"),
            await caller.get("/health", headers={"host": "evil.example"}),
        ]
    ids = [reply.headers.get_list("x-request-id") for reply in replies]
    assert all(len(found) == 1 and found[0].startswith("req_") for found in ids)
    assert len({found[0] for found in ids}) == len(replies)
    assert ["req_mine"] not in ids


async def test_a_line_for_each_request_tells_its_facts_and_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pplx_gateway.access"):
        async with calling() as caller:
            await caller.ask()
            await caller.get(f"/v1/models?api_key={KEY}", headers={})
    first, second = (vars(record) for record in caplog.records)
    assert (first["method"], first["path"], first["status"]) == ("POST", "/v1/chat/completions", 200)
    assert (first["model"], first["upstream"], first["stream"]) == ("sonar", "api", False)
    assert first["milliseconds"] >= 0
    assert first["caller"] == "owner"
    assert (second["path"], second["status"]) == ("/v1/models", 401)
    for record in caplog.records:
        assert KEY not in str(vars(record))
        assert ASK["messages"][0]["content"] not in str(vars(record))


async def test_an_error_names_its_code_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pplx_gateway.access"):
        async with calling() as caller:
            await caller.ask({**ASK, "model": "nobody"})
    assert vars(caplog.records[-1])["error"] == "model_not_found"


async def test_a_path_cannot_forge_a_line_or_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "pplx_gateway.access"):
        async with calling() as caller:
            await caller.get("/" + "a" * 5000)
    assert len(vars(caplog.records[-1])["path"]) == 200
