"""Conversations on `/chat` in Chromium, over both upstreams and both interfaces."""

import json
import re
from typing import NamedTuple

import pytest
from playwright.async_api import Browser, Page, expect

from tests.pages.chromium import ChatPage
from tests.rig import AGENT, ASK_PATH, KEY, Rig

pytestmark = pytest.mark.asyncio(loop_scope="package")

QUESTION = "Which two rivers meet in Ghent?"


class Over(NamedTuple):
    """An upstream, a model that it answers, and the path on which it is asked."""

    upstream: str
    model: str
    path: str


UPSTREAMS = [Over("session", "gpt", ASK_PATH), Over("api", "api/sonar", AGENT)]
FORMS = [("chat", True), ("chat", False), ("responses", True), ("responses", False)]
over_each = pytest.mark.parametrize("over", UPSTREAMS, ids=lambda over: over.upstream)
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
PASTE = """([data, name, type]) => {
    const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
    const clipboardData = new DataTransfer();
    clipboardData.items.add(new File([bytes], name, { type }));
    document.querySelector("#question").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true }));
}"""
DROP = """([text, name, type]) => {
    const dataTransfer = new DataTransfer();
    dataTransfer.items.add(new File([text], name, { type }));
    document.querySelector("#turns").dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true }));
}"""


async def paste(page: Page, name: str) -> None:
    await page.evaluate(PASTE, [PNG, name, "image/png"])


async def dial(page: Page, name: str) -> str:
    return await page.inner_text(f'#readout [data-dial="{name}"] dd')


@pytest.mark.parametrize(("api", "stream"), FORMS)
@over_each
async def test_a_chat_shows_the_answer_with_its_sources(
    chat: ChatPage, rig: Rig, over: Over, api: str, stream: bool
) -> None:
    await chat.choose(model=over.model, api=api, stream=stream, thinking=True)
    answer = await chat.ask(QUESTION)
    await expect(answer.locator(".body strong").first).to_have_text("Leie")
    assert "[" not in await answer.locator(".body").inner_text(), "every mark is a link"
    cards = answer.locator(".cards .card")
    assert await cards.count() >= 3
    assert over.upstream in await answer.locator(".foot").inner_text()
    mark = answer.locator(".mark").first
    target = await mark.get_attribute("href")
    await mark.click()
    await expect(chat.page.locator(f"{target} .card")).to_be_focused()
    assert await chat.page.locator(f"{target} .card b").inner_text() == await mark.inner_text()
    assert len(await rig.requests(over.path)) == 1


async def test_reasoning_and_search_steps_fold(chat: ChatPage) -> None:
    await chat.choose(model="gpt", thinking=True)
    answer = await chat.ask(QUESTION)
    summary = answer.locator(".reasoning summary")
    await expect(summary).to_contain_text("searches: 3")
    await expect(answer.locator(".steps .query").first).to_be_hidden()
    await summary.click()
    await expect(answer.locator(".steps .query").first).to_have_text("rivers meet Ghent")
    assert await answer.locator(".steps .found").count() >= 3


async def test_related_questions_are_asked_at_a_click(chat: ChatPage) -> None:
    answer = await chat.ask(QUESTION)
    await answer.locator(".related button").first.click()
    await chat.page.locator(".wire-button").nth(1).wait_for()
    question = await chat.page.locator(".question").nth(1).inner_text()
    first, second = chat.bodies()
    assert len(first["messages"]) == 1
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][-1]["content"] == question.strip()


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_pictures_are_cards_and_seen_only_where_they_came_as_bytes(chat: ChatPage, api: str) -> None:
    await chat.choose(model="gpt", api=api, pictures=True)
    cards = (await chat.ask(QUESTION)).locator(".pictures .card")
    assert await cards.count() == 2
    linked, drawn = cards.nth(0), cards.nth(1)
    assert re.match("https://images.example/", await linked.locator("a.card-title").get_attribute("href") or "")
    assert re.match("https://", await linked.locator("a.card-foot").get_attribute("href") or "")
    assert await linked.locator("img").count() == 0
    await expect(drawn.locator(".card-title")).to_contain_text("drawn")
    assert await drawn.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)") == 32
    await chat.choose(pictures=False)
    assert await (await chat.ask(QUESTION)).locator(".pictures .card").count() == 0
    assert [body.get("return_images") for body in chat.bodies()] == [True, None]


@over_each
@pytest.mark.parametrize("way", ["button", "key"])
async def test_stopping_ends_the_answer_upstream_too(chat: ChatPage, rig: Rig, over: Over, way: str) -> None:
    await chat.choose(model=over.model)
    await chat.send(f"slow: {QUESTION}")
    answer = chat.page.locator(".answer").last
    await expect(answer.locator(".body")).to_contain_text("Two")
    if way == "button":
        await chat.page.click("#stop")
    else:
        await chat.page.keyboard.press("Escape")
    await expect(answer.locator(".stopped")).to_be_visible()
    await rig.wait(over.path, closed=True)
    await expect(chat.page.locator("#send")).to_be_visible()
    assert await dial(chat.page, "state") == "stopped"
    assert (await chat.checks())["done"] == "fail"


async def test_what_was_stopped_is_still_said_in_the_next_question(chat: ChatPage) -> None:
    await chat.send(f"slow: {QUESTION}")
    await expect(chat.page.locator(".answer .body")).to_contain_text("Two")
    await chat.page.click("#stop")
    await chat.ask("And how long is the Leie?")
    said = chat.bodies()[-1]["messages"]
    assert [message["role"] for message in said] == ["user", "assistant", "user"]
    assert said[1]["content"].startswith("Two")


@pytest.mark.parametrize("api", ["chat", "responses"])
@over_each
async def test_demo_tools_run_in_the_page_and_their_result_is_answered(chat: ChatPage, over: Over, api: str) -> None:
    await chat.choose(model=over.model, api=api, tools=True)
    answer = await chat.ask('Please calculate "(17 + 4) * 2 ^ 3".', answers=2)
    call = chat.page.locator(".call")
    await call.locator("summary").click()
    assert json.loads(await call.locator(".output").inner_text())["result"] == 168
    assert "168" in await answer.locator(".body").inner_text()


@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_tools_that_no_upstream_has_are_refused_by_name(chat: ChatPage, api: str) -> None:
    await chat.choose(api=api, unsupported=True)
    answer = await chat.ask(QUESTION)
    error = answer.locator(".error")
    await expect(error).to_contain_text("HTTP 400")
    await expect(error).to_contain_text("tools[0].type")
    await expect(error).to_contain_text("file_search")


async def test_search_options_go_along(chat: ChatPage) -> None:
    page = chat.page
    await chat.choose(model="api/sonar")
    await page.select_option('[name="recency"]', "week")
    await page.select_option('[name="contextSize"]', "high")
    await page.check('[name="sources"][value="academic"]')
    await page.fill('[name="domains"]', "europa.eu, belgium.be")
    await page.fill('[name="instructions"]', "Be brief.")
    await chat.ask(QUESTION)
    (body,) = chat.bodies()
    assert body["search_recency_filter"] == "week"
    assert body["web_search_options"] == {"search_context_size": "high"}
    assert body["sources"] == ["academic"]
    assert body["search_domain_filter"] == ["europa.eu", "belgium.be"]
    assert body["messages"][0] == {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize("api", ["chat", "responses"])
@pytest.mark.parametrize("by", ["data", "file"])
@pytest.mark.parametrize("model", ["gpt", "api/sonar"])
async def test_a_pasted_image_reaches_the_model(chat: ChatPage, rig: Rig, model: str, by: str, api: str) -> None:
    page = chat.page
    await chat.choose(model=model, api=api)
    await page.select_option('[name="imagesBy"]', by)
    await paste(page, "dot.png")
    await expect(page.locator("#attached img")).to_have_attribute("alt", "dot.png")
    await expect(page.locator("#attached li")).to_have_attribute("aria-busy", "false")
    answer = await chat.ask("What is in this image?")
    assert await answer.locator(".error").count() == 0
    assert await page.locator(".question img").count() == 1
    sent = json.dumps(chat.bodies()[0])
    assert (PNG in sent) is (by == "data")
    assert ("file-" in sent) is (by == "file")
    reached = await rig.requests(AGENT if model == "api/sonar" else "/rest/uploads/*")
    assert reached


async def test_a_dropped_file_is_uploaded_and_deleted_with_the_conversation(chat: ChatPage, rig: Rig) -> None:
    page = chat.page
    await page.evaluate(DROP, ["Ostend has two harbours.", "harbours.txt", "text/plain"])
    await expect(page.locator("#attached li")).to_have_attribute("aria-busy", "false")
    listed = (await rig.get("/v1/files")).json["data"]
    assert [(file["filename"], file["purpose"]) for file in listed] == [("harbours.txt", "user_data")]
    assert listed[0]["expires_at"] - listed[0]["created_at"] == 24 * 3600
    answer = await chat.ask("What does the file say?")
    assert await answer.locator(".error").count() == 0
    async with page.expect_response(re.compile("/v1/files/")):
        await page.click("#fresh")
    assert (await rig.get("/v1/files")).json["data"] == []
    assert await page.locator(".answer").count() == 0


async def test_an_attachment_can_be_taken_away(chat: ChatPage) -> None:
    await paste(chat.page, "dot.png")
    await chat.page.get_by_role("button", name="Take away dot.png").click()
    assert await chat.page.locator("#attached li").count() == 0
    await chat.ask(QUESTION)
    assert chat.bodies()[0]["messages"] == [{"role": "user", "content": QUESTION}]


async def test_cost_and_quota_stand_on_the_dials(chat: ChatPage) -> None:
    await chat.choose(model="api/sonar")
    await chat.ask(QUESTION)
    cost = await dial(chat.page, "cost")
    assert re.fullmatch(r"\$0\.00\d+", cost)
    await chat.ask("And how long is the Leie?")
    both = float(cost.removeprefix("$")) + float((await dial(chat.page, "cost")).removeprefix("$"))
    assert float((await dial(chat.page, "spent")).removeprefix("$")) == pytest.approx(both, abs=0.00002)
    assert int((await dial(chat.page, "pro")).replace(",", "")) > 0


async def test_the_models_stand_by_upstream_with_what_they_can_do(chat: ChatPage, rig: Rig) -> None:
    groups = await chat.page.locator("#model optgroup").evaluate_all(
        "groups => groups.map((group) => [group.label, [...group.children].map((option) => option.value)])"
    )
    listed = [model for model in (await rig.get("/v1/models")).json["data"] if model["capabilities"]["chat"]]
    assert [ids for _, ids in groups] == [
        [model["id"] for model in listed if model["upstream"] == upstream] for upstream in ("session", "api")
    ]
    await chat.choose(model="deep-research")
    assert "cannot" in (await chat.page.locator("#capabilities li", has_text="tools").get_attribute("class") or "")
    await chat.choose(model="api/sonar")
    await chat.page.press("#other-model input", "Enter")
    await expect(chat.page.locator("#model-name")).to_contain_text("Sonar")
    await expect(chat.page.locator("#capabilities .upstream")).to_have_text("api")


async def test_an_error_is_shown_with_its_code_and_the_question_is_not_asked_twice(chat: ChatPage) -> None:
    answer = await chat.ask(f"fault:upstream_500 {QUESTION}")
    await expect(answer.locator(".error")).to_contain_text("HTTP 502")
    await expect(answer.locator(".error code").first).to_have_text("upstream_error")
    await chat.ask("Which river is longer?")
    assert len(chat.bodies()[-1]["messages"]) == 1


async def test_a_broken_stream_shows_what_came_and_why_it_ended(chat: ChatPage) -> None:
    for api in ("chat", "responses"):
        await chat.choose(api=api)
        answer = await chat.ask(f"fault:midstream_drop {QUESTION}")
        await expect(answer.locator(".body")).to_contain_text("Two rivers")
        await expect(answer.locator(".error")).to_contain_text("upstream_truncated")
        assert await dial(chat.page, "state") == "failed"


async def test_the_interface_can_change_in_mid_conversation(chat: ChatPage) -> None:
    await chat.ask(QUESTION)
    await chat.choose(api="responses")
    answer = await chat.ask("How long is the Leie?")
    assert await answer.locator(".error").count() == 0
    body = chat.bodies()[-1]
    assert [item["role"] for item in body["input"]] == ["user", "assistant", "user"]
    assert body["store"] is False


async def test_a_wrong_key_is_told_and_asked_for_again(browser: Browser, rig: Rig) -> None:
    context = await browser.new_context()
    page = ChatPage(await context.new_page(), rig.url)
    await page.open(key=None)
    await expect(page.page.locator("#key-dialog .why")).to_contain_text("asks for its key")
    await page.page.fill("#key-dialog input", "wrong")
    await page.page.press("#key-dialog input", "Enter")
    await expect(page.page.locator("#key-dialog .why")).to_be_visible()
    await page.page.fill("#key-dialog input", KEY)
    await page.page.press("#key-dialog input", "Enter")
    await page.page.wait_for_selector("#model option", state="attached")
    await context.close()


async def test_the_key_is_kept_in_memory_only(chat: ChatPage) -> None:
    await chat.ask(QUESTION)
    kept = await chat.page.evaluate("JSON.stringify([localStorage, sessionStorage, document.cookie, location.href])")
    assert json.loads(kept) == [{}, {}, "", f"{chat.url}/chat"]
    assert await chat.page.evaluate("indexedDB.databases()") == []
    assert await chat.page.context.cookies() == []
    assert not [request.url for request in chat.requests if KEY in request.url]
    await chat.see("raw")
    assert KEY not in await chat.page.inner_text("body")
    await chat.page.reload()
    await expect(chat.page.locator("#key-dialog")).to_be_visible()


async def test_the_conversation_is_gone_with_the_page(chat: ChatPage, rig: Rig) -> None:
    await chat.choose(api="responses")
    await chat.ask(QUESTION)
    response = chat.bodies()[-1]
    assert response["store"] is False
    await chat.open()
    assert await chat.page.locator(".question").count() == 0


async def test_chinese_browsers_are_spoken_to_in_chinese(browser: Browser, rig: Rig) -> None:
    context = await browser.new_context(locale="zh-CN", viewport={"width": 1440, "height": 900})
    page = ChatPage(await context.new_page(), rig.url)
    await page.open()
    assert await page.page.get_attribute("html", "lang") == "zh-Hans"
    await expect(page.page.locator("#send")).to_have_text("提问")
    answer = await page.ask(QUESTION)
    await expect(answer.locator(".sources h3")).to_contain_text("来源")
    assert page.troubles == []
    await context.close()
