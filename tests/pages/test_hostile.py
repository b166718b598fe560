"""What models and web pages write stays text: nothing of it runs, loads, or leads anywhere but to the web."""

import json

import pytest
from playwright.async_api import expect

from tests.cases.scripts import S1, S2, agent_events, agent_steps
from tests.pages.chromium import ChatPage
from tests.rig import AGENT, Rig

pytestmark = pytest.mark.asyncio(loop_scope="package")

IMAGE = "<img src=x onerror=\"document.title='taken'\">"
HOSTILE = f"""{IMAGE}

<script>document.title = "taken"</script><svg onload="document.title='taken'"></svg>

<form><input name=attributes><button>Log in</button></form> <style>body {{ display: none }}</style>

[Click](javascript:document.title='taken') [Data](data:text/html,<script>1</script>) [Web](https://a.example/)

![A picture](https://elsewhere.example/spy.png) <a href="javascript:1" class="mark">1</a>

| a | b |
| --: | --- |
| {IMAGE} | `{IMAGE}` |

```html
{IMAGE}
```

[Ref]: javascript:1 "title"
[Ref] &lt;script&gt; <math><mtext></mtext></math> [1] `[1]` [7]
"""
# Those of markdown.js, less what HOSTILE has no Markdown for.
ALLOWED = {"a", "code", "div", "p", "pre", "strong", "table", "tbody", "td", "th", "thead", "tr"}


async def hostile(chat: ChatPage, rig: Rig, *deltas: str, **source: str) -> None:
    await rig.script(AGENT, agent_steps(agent_events(*deltas, sources=[{**S1, **source}, S2])))
    await chat.choose(model="api/sonar")
    await chat.ask("Which two rivers meet in Ghent?")


async def test_a_hostile_answer_stays_text(chat: ChatPage, rig: Rig) -> None:
    await hostile(chat, rig, HOSTILE)
    body = chat.page.locator(".answer .body")
    found = await body.evaluate("body => [...body.querySelectorAll('*')].map((one) => one.localName)")
    assert set(found) <= ALLOWED
    assert "table" in found
    attributes = await body.evaluate(
        "body => [...body.querySelectorAll('*')].flatMap((one) => one.getAttributeNames())"
    )
    assert set(attributes) <= {"href", "class", "target", "rel", "tabindex", "role", "aria-label", "title"}
    links = await body.locator("a:not(.mark)").evaluate_all("links => links.map((link) => link.href)")
    assert set(links) == {"https://a.example/", "https://elsewhere.example/spy.png"}
    await expect(body).to_contain_text(IMAGE)
    assert await chat.page.title() == "Chat · pplx-gateway"
    assert await body.locator(".mark").count() == 1, "not in code, and not where no source is"


async def test_hostile_source_titles_and_addresses_stay_text(chat: ChatPage, rig: Rig) -> None:
    await hostile(chat, rig, "The Leie[1].", title=IMAGE, snippet=IMAGE, url="javascript:document.title='taken'")
    cards = chat.page.locator(".cards")
    links = await cards.locator("a").evaluate_all("links => links.map((link) => link.href)")
    assert all(link.startswith("https://") for link in links)
    assert await cards.locator("img").count() == 0
    assert await chat.page.title() == "Chat · pplx-gateway"


async def test_hostile_titles_are_shown_to_the_letter(chat: ChatPage, rig: Rig) -> None:
    await hostile(chat, rig, "The Leie[1].", title=IMAGE, snippet="<b>bold</b>")
    card = chat.page.locator(".cards .card").first
    await expect(card.locator(".card-title")).to_have_text(IMAGE)
    await expect(card.locator(".snippet")).to_have_text("<b>bold</b>")
    assert await chat.page.locator(".mark").first.get_attribute("title") == IMAGE


PICTURES = [
    "javascript:document.title='taken'",
    "data:text/html,<script>document.title='taken'</script>",
    "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=",
    "//elsewhere.example/spy.png",
    "https://elsewhere.example/spy.png",
]


async def test_hostile_pictures_load_nothing_and_lead_only_to_the_web(chat: ChatPage, rig: Rig) -> None:
    found = [{"image_url": url, "origin_url": url, "title": IMAGE, "width": 1280, "height": 720} for url in PICTURES]
    events = agent_events("The Leie.")
    results = {"type": "image_search_results", "results": found}
    item = {"type": "response.output_item.done", "output_index": 0, "item": results, "sequence_number": 5}
    await rig.script(AGENT, agent_steps([*events[:5], item, *events[5:]]))
    await chat.choose(model="api/sonar", pictures=True)
    cards = (await chat.ask("Which two rivers meet in Ghent?")).locator(".pictures .card")
    assert await cards.locator(".card-title").all_inner_texts() == [IMAGE] * len(PICTURES)
    links = await cards.locator("a").evaluate_all("links => links.map((link) => link.href)")
    assert links == ["https://elsewhere.example/spy.png"] * 2
    assert await cards.locator(".size").all_inner_texts() == ["1,280 × 720 pixels"] * len(PICTURES)
    assert await cards.locator("img").count() == 0
    assert await chat.page.title() == "Chat · pplx-gateway"


@pytest.mark.parametrize("size", [1, 3, 7])
async def test_hostile_text_in_small_parts_stays_text_while_it_streams(chat: ChatPage, rig: Rig, size: int) -> None:
    parts = [HOSTILE[at : at + size] for at in range(0, len(HOSTILE), size)]
    await hostile(chat, rig, *parts)
    assert await chat.page.locator(".answer .body :is(img, script, svg, form, style, math)").count() == 0
    assert await chat.page.title() == "Chat · pplx-gateway"


async def test_a_hostile_name_of_a_file_stays_text(chat: ChatPage) -> None:
    name = '"><img src=x onerror=alert(1)>.txt'
    await chat.page.set_input_files("#picker", {"name": name, "mimeType": "text/plain", "buffer": b"words"})
    await expect(chat.page.locator("#attached .file-name")).to_have_text(name)
    assert await chat.page.locator("#attached img").count() == 0


async def test_a_hostile_error_stays_text(chat: ChatPage, rig: Rig) -> None:
    told = {"error": {"message": IMAGE, "type": "invalid_request_error", "code": IMAGE}}
    await rig.script(AGENT, {"status": 400, "steps": [{"bytes": json.dumps(told)}]})
    await chat.choose(model="api/sonar")
    answer = await chat.ask("Which two rivers meet in Ghent?")
    await expect(answer.locator(".error")).to_be_visible()
    assert await chat.page.locator("#talk img:not(.brand img)").count() == 0


async def test_the_page_cannot_be_given_html_at_all(chat: ChatPage) -> None:
    """Trusted types: even a mistake of our own could not do it."""
    refused = await chat.page.evaluate(
        "() => { try { document.body.innerHTML = '<b>x</b>'; return false } catch (error) { return error.name } }"
    )
    assert refused == "TypeError"
    chat.troubles.clear()
