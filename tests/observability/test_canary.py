"""What the upstreams send that nobody knows: counted, shown, and captured without a value in it."""

import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.clock import Clock
from pplx_gateway.emulator.session.forms import FORMS
from pplx_gateway.observing.canary import MOST_BYTES, MOST_LOOKS, MOST_SURPRISES, Canary
from pplx_gateway.observing.known import Surprise, known_wire
from pplx_gateway.observing.meter import Meter
from pplx_gateway.observing.shapes import MOST_CHARACTERS, plain_name, shape_of
from tests.cases.scripts import W_BASE, Json, agent_events, agent_steps, session_steps
from tests.emulator_session.test_forms import THINKING, course_of
from tests.ledger.asking import QUESTION, ask
from tests.observability.scraping import scrape
from tests.rig import AGENT, API_KEY, ASK_PATH, COOKIE, KEY, Rig, bearer, running

OF_MODULE = pytest.mark.asyncio(loop_scope="module")

HIDDEN = "the asker's private words"
ODD_FRAME: Json = {
    **W_BASE[0],
    "sparkle_level": 3,
    "blocks": [
        {"intended_usage": "sparkle_cards", "sparkle_block": {"cards": [{"title": HIDDEN, "rank": 1}]}},
        {
            "intended_usage": "pro_search_steps",
            "plan_block": {"steps": [{"uuid": "s", "step_type": "TELEPATHY", "telepathy_content": {"w": HIDDEN}}]},
        },
    ],
    "by_question": {HIDDEN: 1, COOKIE: True, API_KEY: None},
}
ODD_EVENTS: list[Json] = [
    {"type": "response.dream.started", "sequence_number": 900, "dream": HIDDEN},
    {
        "type": "response.output_item.done",
        "sequence_number": 901,
        "output_index": 9,
        "item": {"type": "hologram", "id": "h", "voxels": [1, 2]},
    },
]


@pytest_asyncio.fixture(loop_scope="module")
async def wire(rig: Rig) -> AsyncGenerator[Rig, None]:
    """Without a capture of before."""
    await rig.client.delete(f"{rig.url}/admin/wire/capture", headers=bearer(KEY))
    yield rig
    await rig.client.delete(f"{rig.url}/admin/wire/capture", headers=bearer(KEY))


async def report(rig: Rig) -> dict[str, Any]:
    found: dict[str, Any] = (await rig.get("/admin/wire")).json
    return found


async def odd_answer(rig: Rig) -> None:
    await rig.script(ASK_PATH, session_steps([ODD_FRAME, *W_BASE]))
    assert (await rig.stream(ask("gpt"))).done


async def odd_run(rig: Rig) -> None:
    events = agent_events("The Leie.")
    await rig.script(AGENT, agent_steps([*events[:-1], *ODD_EVENTS, {**events[-1], "sequence_number": 902}]))
    assert (await rig.stream(ask())).done


@OF_MODULE
async def test_what_is_known_is_no_surprise(wire: Rig) -> None:
    for model in ("gpt", "api/sonar", "api/low"):
        await wire.stream(ask(model))
    await wire.post({"model": "sonar", "input": QUESTION}, path="/perplexity/v1/agent")
    assert (await report(wire))["surprises"] == []
    assert (await scrape(wire.client, wire.url)).values("wire_surprises_total", "name") == set()


@OF_MODULE
async def test_unknown_things_on_both_wires_are_counted_and_shown(wire: Rig) -> None:
    for _ in range(2):
        await odd_answer(wire)
    await odd_run(wire)
    seen = {(s["wire"], s["kind"], s["name"]): s for s in (await report(wire))["surprises"]}
    assert set(seen) == {
        ("session", "block", "sparkle_cards"),
        ("session", "step", "TELEPATHY"),
        ("session", "field", "frame.sparkle_level"),
        ("session", "field", "frame.by_question"),
        ("session", "field", "block.sparkle_block"),
        ("api", "event", "response.dream.started"),
        ("api", "field", "event.dream"),
        ("api", "item", "hologram"),
        ("api", "field", "item.voxels"),
    }
    assert seen["session", "block", "sparkle_cards"]["answers"] == 2, "once an answer, however often it comes in one"
    first, last = (seen["session", "step", "TELEPATHY"][name] for name in ("first_at", "last_at"))
    assert 0 < first <= last
    found = await scrape(wire.client, wire.url)
    assert found.get("wire_surprises_total", wire="session", kind="block", name="sparkle_cards") == 2
    assert found.get("wire_surprises_total", wire="api", kind="item", name="hologram") == 1


@OF_MODULE
async def test_an_armed_capture_holds_the_shape_and_no_value(wire: Rig) -> None:
    assert (await report(wire))["capture"]["state"] == "off"
    armed = await wire.post({}, path="/admin/wire/capture")
    assert (armed.status, armed.json["state"]) == (200, "armed")
    await wire.stream(ask("gpt"))
    assert (await report(wire))["capture"]["state"] == "armed", "nothing was unknown in that answer"
    await odd_answer(wire)
    await odd_run(wire)
    held = (await report(wire))["capture"]
    assert held["state"] == "held"
    capture = held["capture"]
    assert capture["wire"] == "session", "the first one counts"
    assert "block sparkle_cards" in capture["surprises"]
    shape = json.loads(capture["shape"])
    assert shape["status"] == f"text of {len(str(ODD_FRAME['status']))}"
    assert shape["blocks"][1]["sparkle_block"]["cards"][1] == {"title": "text of 25", "rank": "number"}
    assert set(shape["by_question"]) == {f"(key of {len(key)})" for key in (HIDDEN, COOKIE, API_KEY)}
    told = json.dumps(held)
    for secret in (HIDDEN, COOKIE, API_KEY, KEY, QUESTION, str(W_BASE[0]["backend_uuid"])):
        assert secret not in told
    cleared = await wire.client.delete(f"{wire.url}/admin/wire/capture", headers=bearer(KEY))
    assert cleared.json() == {"state": "off", "armed_at": None, "capture": None}


@OF_MODULE
async def test_another_worker_takes_up_the_wish_and_hands_over_what_it_found(tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("two")
    async with running(folder, order=("api",)) as one, running(folder, order=("api",)) as other:
        await one.post({}, path="/admin/wire/capture")
        assert (await report(other))["capture"]["state"] == "armed"
        await odd_run(other)
        assert (await report(one))["capture"]["state"] in ("armed", "held")
        assert (await report(other))["capture"]["capture"]["wire"] == "api"
        assert (await report(one))["capture"]["state"] == "held"


@OF_MODULE
async def test_a_frame_that_fails_the_answer_is_looked_at_too(wire: Rig) -> None:
    failed: Json = {"status": "FAILED", "error_code": "NEW", "sparkle_reason": HIDDEN, "final_sse_message": True}
    await wire.script(ASK_PATH, session_steps([failed]))
    assert (await wire.chat(ask("gpt"))).status == 502
    assert "frame.sparkle_reason" in {surprise["name"] for surprise in (await report(wire))["surprises"]}


@OF_MODULE
async def test_only_the_owner_asks_for_it(wire: Rig) -> None:
    for method, path in (("GET", "/admin/wire"), ("POST", "/admin/wire/capture"), ("DELETE", "/admin/wire/capture")):
        assert (await wire.client.request(method, wire.url + path)).status_code == 401


# without a program


@pytest.mark.parametrize("form", sorted(FORMS))
def test_no_form_of_an_answer_holds_a_surprise(form: str) -> None:
    for frame in course_of(form, THINKING).frames:
        assert list(known_wire("session").surprises(frame)) == []


def canary() -> tuple[Canary, Meter]:
    meter = Meter(None, Clock())
    return Canary(meter, Clock()), meter


async def names(meter: Meter) -> list[str]:
    return sorted(series[3] for series in await meter.totals())


async def test_names_without_end_do_not_grow_the_table() -> None:
    bird, meter = canary()
    for number in range(MOST_SURPRISES + 50):
        bird.sight("session").note("step", f"S_{number}")
    told = await meter.totals()
    assert len(told) == MOST_SURPRISES + 1
    assert told["wire_surprises", "session", "step", "other"].value == 50


async def test_what_is_no_name_is_not_told() -> None:
    bird, meter = canary()
    bird.hide(lambda: ["hunter_two"])
    for odd in ("a question?", "8b7c6d5e4f", "x" * 65, "with_hunter_two_in_it", "\ud83d"):
        bird.sight("api").note("event", odd)
    assert await names(meter) == ["(not a name)"]


async def test_few_answers_are_looked_into_and_only_so_far() -> None:
    bird, meter = canary()
    assert [bird.sight("api").deep for _ in range(MOST_LOOKS + 5)].count(True) == MOST_LOOKS
    assert bird.sight("session").deep, "each wire has its own"
    bird.armed = True
    assert bird.sight("api").deep, "while the owner waits, all are"
    bird.armed = False
    sight = bird.sight("session")
    sight.see(json.dumps({"status": "x" * MOST_BYTES}).encode())
    sight.see(b'{"late_field": 1}')
    assert await names(meter) == []
    sight.see(b'{"last_field": 1}', last=True)
    assert await names(meter) == ["frame.last_field"]


@pytest.mark.parametrize("payload", [b"", b"[DONE]", b"{", b'"text"', b"[1]", b"{}", b"[" * 5000, b'{"a":"\xff"}'])
def test_bytes_of_any_kind_hurt_nobody(payload: bytes) -> None:
    for wire_name in ("session", "api"):
        bird, _ = canary()
        bird.sight("session" if wire_name == "session" else "api").see(payload, last=True)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(min_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=6), inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_a_shape_holds_no_value_whatever_comes(value: Any) -> None:
    shape = shape_of(value)
    json.loads(shape)
    for text in texts(value):
        if plain_name(text) is None:
            assert text not in shape.replace("text of", "").replace("list of", "").replace("true or false", "")


def texts(value: Any) -> set[str]:
    match value:
        case str():
            return {value} if value.strip(" .()[]{},:0123456789\n") else set()
        case list():
            return set().union(*map(texts, value)) if value else set()
        case dict():
            return set().union(*(texts(key) | texts(inner) for key, inner in value.items())) if value else set()
        case _:
            return set()


def test_a_shape_is_bounded() -> None:
    deep: Any = "end"
    for _ in range(200):
        deep = {"inner": deep}
    many = {f"key_{chr(97 + n % 26) * (n % 40 + 1)}": [deep, {"a": n}] for n in range(300)}
    assert len(shape_of({"deep": deep, "many": many, "list": [{"k": {"v": n}} for n in range(9999)]})) <= (
        MOST_CHARACTERS + 8
    )
    assert list(json.loads(shape_of({str(n): n for n in range(500)}))) == ["(500 keys)"]


@pytest.mark.parametrize(
    ("frame", "found"),
    [
        ({"author_image": 1, "blocks": [{"intended_usage": "ask_text_3_markdown"}]}, []),
        ({"blocks": [{"intended_usage": "inline_maps", "inline_maps_block": {}}]}, []),
        ({"blocks": [{"diff_block": {"patches": [{"op": "merge"}]}}]}, [Surprise("field", "patch.op.merge")]),
        ({"blocks": "none", "web_results": [{"url": "u", "score": 1}]}, [Surprise("field", "result.score")]),
        ([{"x": 1}], [Surprise("field", "frame.x")]),
    ],
)
def test_places_are_told_by_name(frame: Any, found: list[Surprise]) -> None:
    assert list(known_wire("session").surprises(frame)) == found
