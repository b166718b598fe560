"""The Check tab: good answers pass, and each fault that is put in shows."""

import pytest
from playwright.async_api import expect

from tests.cases.scripts import S1, agent_events, agent_steps
from tests.pages.chromium import ChatPage, names
from tests.rig import AGENT, Rig

pytestmark = pytest.mark.asyncio(loop_scope="package")

QUESTION = "Which two rivers meet in Ghent?"
FORMS = [("chat", True), ("chat", False), ("responses", True), ("responses", False)]


@pytest.mark.parametrize("model", ["gpt", "api/sonar"])
@pytest.mark.parametrize(("api", "stream"), FORMS)
async def test_good_answers_pass_by_twenty_checks_and_more(chat: ChatPage, api: str, stream: bool, model: str) -> None:
    await chat.choose(model=model, api=api, stream=stream, thinking=True)
    await chat.ask(QUESTION)
    states = await chat.checks()
    assert names(states, "fail") == []
    assert len(names(states, "pass")) >= 20
    await expect(chat.page.locator("#check-count")).to_have_text(f"{len(names(states, 'pass'))} PASS")


@pytest.mark.parametrize(("api", "stream"), FORMS)
async def test_answers_with_calls_pass(chat: ChatPage, api: str, stream: bool) -> None:
    await chat.choose(model="api/sonar", api=api, stream=stream, tools=True)
    await chat.ask('Please calculate "17 * 23".', answers=2)
    await chat.page.locator(".wire-button").first.click()
    states = await chat.checks()
    assert names(states, "fail") == []
    assert states["call-form"] == states["call-arguments"] == states["call-offered"] == "pass"


FAULTS = [
    ("upstream_500", {"status"}, {"status"}),
    ("upstream_402", {"status"}, {"status"}),
    ("empty", {"status"}, {"status"}),
    ("midstream_drop", {"no-error-event", "done", "one-finish"}, {"terminal-good", "done", "response-status"}),
    ("midstream_error", {"no-error-event", "done", "one-finish"}, {"terminal-good", "done", "response-status"}),
]


@pytest.mark.parametrize("model", ["gpt", "api/sonar"])
@pytest.mark.parametrize(("fault", "of_chat", "of_responses"), FAULTS)
async def test_faults_fail(chat: ChatPage, fault: str, of_chat: set[str], of_responses: set[str], model: str) -> None:
    for api, due in (("chat", of_chat), ("responses", of_responses)):
        await chat.choose(model=model, api=api)
        await chat.ask(f"fault:{fault} {QUESTION}")
        states = await chat.checks()
        # Some failures come before a stream of Responses begins, and some within it.
        failed = set(names(states, "fail"))
        assert due <= failed or failed & {"terminal-good", "status"}
        await expect(chat.page.locator(".verdict-word")).to_have_text("Does not keep to the interface")


async def test_the_reason_stands_beside_a_failure(chat: ChatPage) -> None:
    await chat.ask(f"fault:midstream_drop {QUESTION}")
    await chat.see("check")
    because = chat.page.locator('[data-check="no-error-event"] .because')
    await expect(because).to_contain_text("upstream_truncated: 127.0.0.1 closed the connection")


async def test_a_source_without_a_web_address_fails_where_the_gateway_lets_it_through(chat: ChatPage, rig: Rig) -> None:
    await rig.script(AGENT, agent_steps(agent_events("Hello[1].", sources=[{**S1, "url": "ftp://a.example/leie"}])))
    await chat.choose(model="api/sonar")
    await chat.ask(QUESTION)
    states = await chat.checks()
    shown = await chat.page.locator(".cards").count()
    assert (states["source-addresses"] == "fail") is bool(shown)
