"""Two callers, races, restarts of readers, callers who leave, what is secret, and what parameters become."""

import asyncio
import contextlib
import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.settings import Secret
from tests.caller_keys.calling import make
from tests.cases.asking import PATHS, asked, let_answer
from tests.cases.scripts import CLEANED, TEXT, agent_steps, session_steps
from tests.cases.test_bodies import PROMPT, echo, everything_logged
from tests.keys.calling import gateway
from tests.keys.files import entry
from tests.models.helping import health_shows
from tests.responses.asking import ASK, BOTH, PATH, WAYS, Json, answered, ask, refused
from tests.responses.calling import LONG, SSE, Caller, Told, calling, script_run, told
from tests.responses.conftest import Both
from tests.responses.test_create import lies_in, rows
from tests.rig import AGENT, API_KEY, COOKIE, KEY, SECRETS, bearer, running

STEPS = {"api": agent_steps(), "session": session_steps()}

# whose is what


async def test_a_caller_finds_nothing_of_anothers(tmp_path: Path) -> None:
    """Neither by any route nor through a chain, a reference, a file or a key; and it looks as if it never was."""
    async with running(tmp_path) as rig:
        (_, one), (_, two) = await make(rig, "one"), await make(rig, "two")
        key = {"idempotency-key": "job-1"}
        async with Caller(rig.url, one) as mine, Caller(rig.url, two) as other, Caller(rig.url) as owner:
            made = await mine.create(key)
            (item,) = (await mine.get(f"{made['id']}/input_items")).json()["data"]
            for stranger in (other, owner):
                messages = set()
                for response_id in (made["id"], "resp_never"):
                    replies = [
                        await stranger.get(response_id),
                        await stranger.get(response_id, stream="true"),
                        await stranger.get(f"{response_id}/input_items"),
                        await stranger.cancel(response_id),
                        await stranger.delete(response_id),
                    ]
                    assert {reply.status_code for reply in replies} == {404}
                    chained = await stranger.post({**ASK, "previous_response_id": response_id})
                    assert (chained.status_code, chained.json()["error"]["code"]) == (
                        400,
                        "previous_response_not_found",
                    )
                    messages |= {r.json()["error"]["message"].replace(response_id, "X") for r in [*replies, chained]}
                assert len(messages) == 2
                for item_id in (item["id"], made["output"][0]["id"]):
                    reply = await stranger.post({**ASK, "input": [{"type": "item_reference", "id": item_id}]})
                    assert (reply.status_code, reply.json()["error"]["param"]) == (400, "input[0].id")
                assert (await stranger.create(key))["id"] != made["id"]
            assert (await mine.get(made["id"])).json() == made


# races


async def test_whatever_is_done_at_once_to_a_running_response_it_ends_once_and_goes_for_good(both: Both) -> None:
    _, caller = both
    dice = random.Random(7)
    for _ in range(12):
        made = await caller.create(background=True, tools=[{"type": "web_search"}])
        await asyncio.sleep(dice.random() * 0.03)  # wherever that falls
        work: list[Any] = [
            caller.delete(made["id"]),
            caller.cancel(made["id"]),
            caller.cancel(made["id"]),
            caller.get(made["id"]),
            caller.get(f"{made['id']}/input_items"),
            caller._client.get(f"{PATH}/{made['id']}", params={"stream": "true"}),
            caller.post({**ASK, "previous_response_id": made["id"]}),
            caller.delete(made["id"]),
        ]
        dice.shuffle(work)
        replies = await asyncio.gather(*work)
        assert {reply.status_code for reply in replies} <= {200, 400, 404}
        assert (await caller.get(made["id"])).status_code == 404


async def test_forty_at_once_on_both_upstreams_all_come_to_their_end(tmp_path: Path) -> None:
    async with calling(tmp_path, factor=20.0) as (_, caller):
        models = ["api/sonar", "session/sonar"] * 20
        made = await asyncio.gather(*(caller.create(background=True, model=model) for model in models))
        ended = await asyncio.gather(*(caller.ended(response["id"]) for response in made))
        assert {response["status"] for response in ended} == {"completed"}
        assert rows(tmp_path, "response_runs") == []


async def test_a_repeat_whose_first_caller_leaves_is_told_and_the_next_is_asked_anew(both: Both) -> None:
    rig, caller = both
    key = {"idempotency-key": "k"}
    await script_run(rig, shown=7)
    async with caller.open(key) as events:
        while (event := await anext(events)) and "delta" not in event:
            continue
        repeat = caller.open(key)
        following = await repeat.__aenter__()
        seen = [await anext(following)]
    async with contextlib.AsyncExitStack() as leaving:
        leaving.push_async_exit(repeat)
        second: Told = told([*seen, *[event async for event in following]])
    assert (second.types[-1], second.events[-1]["code"]) == ("error", "response_cancelled")
    assert (await caller.stream(key)).done
    assert len(await rig.requests(AGENT)) == 2


async def test_a_response_deleted_while_a_repeat_waits_for_it_is_asked_anew(tmp_path: Path) -> None:
    async with calling(tmp_path) as (rig, caller):
        key = {"idempotency-key": "k"}
        await rig.script(AGENT, [*agent_steps()[:7], LONG])
        first = asyncio.create_task(caller.post(ASK | {"model": "api/sonar"}, headers=key))
        await rig.wait(AGENT)
        repeat = asyncio.create_task(caller.create(key))
        (row,) = rows(tmp_path, "responses")
        await caller.delete(str(row[1]))
        assert (await first).status_code == 404
        assert (await repeat)["id"] != row[1]


# readers and leavers


@BOTH
async def test_a_reader_who_is_slow_gets_everything(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig, Caller(rig.url) as caller:
        await let_answer(rig, upstream, *["word " * 2000] * 300, times=2)
        for background in (False, True):
            async with caller.open(model="sonar", background=background) as events:
                seen = [await anext(events)]
                await asyncio.sleep(0.3)
                seen += [event async for event in events]
            assert len(told(seen).text) == 3_000_000


@BOTH
@WAYS
async def test_a_caller_who_leaves_ends_the_answer_and_it_is_kept_as_cancelled(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    async with running(tmp_path, order=(upstream,)) as rig, Caller(rig.url) as caller:
        shown = [*STEPS[upstream][: 7 if upstream == "api" else 4], LONG]
        await rig.script(PATHS[upstream], {"headers": SSE, "steps": shown})
        if streamed:
            async with caller.open(model="sonar") as events:
                while (event := await anext(events)) and "delta" not in event:
                    continue
        else:
            asking = asyncio.create_task(caller.create(model="sonar"))
            await rig.wait(PATHS[upstream])
            asking.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asking
        await rig.wait(PATHS[upstream], closed=True)
        (row,) = rows(tmp_path, "responses")
        assert (await caller.ended(str(row[1])))["status"] == "cancelled"
        assert '"level":"ERROR"' not in rig.log.getvalue()


@BOTH
async def test_a_loop_in_a_broken_store_ends_in_an_error(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        first, _ = await answered(rig, {})
        second, _ = await answered(rig, {"previous_response_id": first.response["id"]})
        ids = (first.response["id"], second.response["id"])
        with contextlib.closing(sqlite3.connect(tmp_path / "gateway.sqlite")) as store:
            store.execute("update responses set parent = ? where id = ?", (ids[1], ids[0]))
            store.commit()
        for response_id in ids:
            async with asyncio.timeout(10):
                error = await refused(rig, {"previous_response_id": response_id})
            assert error["code"] == "previous_response_not_found"


@WAYS
async def test_an_unkept_answer_may_build_upon_a_kept_one_of_the_other_upstream(tmp_path: Path, streamed: bool) -> None:
    async with running(tmp_path) as rig:
        for upstream, other in (("api", "session"), ("session", "api")):
            first, _ = await answered(rig, {"model": f"{upstream}/sonar", "input": "What is the Zwalm?"})
            fields = {"model": f"{other}/sonar", "previous_response_id": first.response["id"], "store": False}
            said, sent = await answered(rig, fields, streamed=streamed)
            assert "What is the Zwalm?" in json.dumps(sent)
            assert (await rig.get(f"{PATH}/{said.response['id']}")).status == 404


async def test_a_referred_item_brings_its_file_and_says_so_where_that_is_gone(tmp_path: Path) -> None:
    async with running(tmp_path) as rig:
        part = {"file": ("tides.txt", b"High water in Ostend is at 06:12.")}
        url, headers = f"{rig.url}/v1/files", bearer(KEY)
        made = await rig.client.post(url, files=part, data={"purpose": "user_data"}, headers=headers)
        file_id = made.json()["id"]
        content = [{"type": "input_text", "text": "When?"}, {"type": "input_file", "file_id": file_id}]
        first, _ = await answered(rig, {"model": "session/gpt", "input": [{"role": "user", "content": content}]})
        (item,) = (await rig.get(f"{PATH}/{first.response['id']}/input_items")).json["data"]
        again = [{"type": "item_reference", "id": item["id"]}, {"role": "user", "content": "And then?"}]
        chained = {"model": "session/gpt", "input": "And then?", "previous_response_id": first.response["id"]}
        for fields in ({"model": "session/gpt", "input": again}, chained):
            _, sent = await answered(rig, fields)
            assert sent["params"]["attachments"]
        await rig.client.delete(f"{url}/{file_id}", headers=headers)
        for fields, param in (({"model": "session/gpt", "input": again}, "input"), (chained, "previous_response_id")):
            error = await refused(rig, fields, status=404)
            assert (error["code"], error["param"]) == ("file_not_found", param)


# what is known at once is told at once


async def test_a_job_that_would_be_refused_unasked_is_refused_before_it_is_queued(tmp_path: Path) -> None:
    async with gateway(tmp_path, entry("a", models=["sonar"]), entry("b"), order=("session", "api")) as rig:
        wrong: list[tuple[Json, dict[str, str], int, str]] = [
            ({"model": "api/sonar"}, {"x-pplx-key-name": "nobody"}, 400, "x-pplx-key-name"),
            ({"model": "api/sonar-pro"}, {"x-pplx-key-name": "a"}, 403, "model"),
            ({"model": "session/sonar"}, {"x-pplx-key-name": "a"}, 400, "x-pplx-key-name"),
            ({"model": "session/sonar", "input": "x" * 97_000}, {}, 400, "input"),
        ]
        for fields, headers, status, param in wrong:
            for background in (False, True):
                for streamed in (False, True):
                    said = await ask(rig, {**fields, "background": background}, streamed=streamed, headers=headers)
                    assert (said.status, said.error["param"]) == (status, param), (fields, background)
        assert rows(tmp_path, "responses") == []
        assert not await asked(rig)
        said = await ask(rig, {"model": "api/sonar", "background": True}, headers={"x-pplx-key-name": "a"})
        assert said.response["status"] == "queued"


async def test_a_job_is_not_refused_for_an_upstream_that_will_not_be_asked(tmp_path: Path) -> None:
    """It is too long for the session, whose searches are spent, so that the api is asked."""
    async with running(tmp_path, allow_spending=True, cookie=Secret("emulator-pro-spent-q"), factor=20.0) as rig:
        await health_shows(rig, remaining_pro=0, remaining_research=0)
        for background in (False, True):
            fields = {"model": "sonar", "input": "x" * 97_000, "background": background}
            said = await ask(rig, fields, streamed=True)
            assert said.response["status"] == "completed", said
            assert said.response["pplx"]["upstream"] == "api"


# secrets


@BOTH
@WAYS
async def test_no_secret_comes_out_of_a_failure(tmp_path: Path, upstream: str, streamed: bool) -> None:
    secret = {"api": API_KEY, "session": COOKIE}[upstream]
    with everything_logged() as seen:
        async with running(tmp_path, order=(upstream,)) as rig:
            for background in (False, True):
                for status in (400, 401, 403, 422, 500):
                    await rig.script(PATHS[upstream], {**echo(status, secret), "strict": False})
                    said = await ask(rig, {"input": PROMPT, "background": background}, streamed=streamed)
                    assert secret not in json.dumps([said.error, said.response]) + str(said.headers)
                    if background:
                        async with Caller(rig.url) as caller:
                            assert secret not in json.dumps(await caller.ended(said.response["id"]))
        for text in (*SECRETS, PROMPT):
            assert text not in seen.getvalue()


@BOTH
async def test_no_secret_and_no_prompt_is_logged_of_what_is_kept_and_followed(tmp_path: Path, upstream: str) -> None:
    with everything_logged() as seen:
        async with running(tmp_path, order=(upstream,)) as rig, Caller(rig.url) as caller:
            await let_answer(rig, upstream, TEXT, times=2)
            made = await caller.create(model="sonar", input=PROMPT, background=True, metadata={"a": PROMPT})
            await caller.follow(made["id"])
            await caller.get(f"{made['id']}/input_items")
            await caller.create(model="sonar", input=PROMPT, previous_response_id=made["id"])
            await caller.delete(made["id"])
    for text in (*SECRETS, PROMPT, TEXT, CLEANED):
        assert text not in seen.getvalue()
    assert "response ended" in seen.getvalue()


async def test_only_the_key_opens_any_of_the_routes(both: Both) -> None:
    rig, caller = both
    made = await caller.create()
    below = ["", f"/{made['id']}", f"/{made['id']}/input_items", f"/{made['id']}/cancel"]
    lines: list[dict[str, str]] = [
        {},
        {"authorization": "Bearer"},
        bearer("wrong"),
        {"authorization": "Bearer sch\xe9"},
    ]
    for path in below:
        for headers in lines:
            for method in ("GET", "POST", "DELETE"):
                raw = [(name, value.encode("latin-1")) for name, value in headers.items()]
                reply = await rig.client.request(method, f"{rig.url}{PATH}{path}", headers=raw)  # type: ignore[arg-type]
                assert reply.status_code == 401, (method, path, headers)
        reply = await rig.client.get(f"{rig.url}{PATH}{path}?api_key={KEY}")
        assert reply.status_code in (400, 401)
    assert (await caller.get(made["id"])).json() == made


# parameters


@BOTH
async def test_values_that_ask_for_nothing_pass_without_a_word(tmp_path: Path, upstream: str) -> None:
    nothing: list[Json] = [
        {"temperature": 1, "top_p": 1.0, "truncation": "disabled", "top_logprobs": 0},
        {"tools": [], "tool_choice": "auto", "parallel_tool_calls": True},
        {"tools": None, "tool_choice": "none", "include": [], "metadata": {}},
        {"text": {"format": {"type": "text"}, "verbosity": "medium"}, "reasoning": {"effort": None, "summary": None}},
        {"service_tier": "auto", "user": "", "instructions": "", "stream_options": {"include_obfuscation": True}},
        dict.fromkeys(
            (
                *("instructions", "previous_response_id", "background", "include", "stream_options", "reasoning"),
                *("text", "tools", "tool_choice", "max_output_tokens", "max_tool_calls", "conversation", "prompt"),
                *("store", "temperature", "top_p", "metadata", "parallel_tool_calls", "user", "service_tier"),
                *("safety_identifier", "prompt_cache_key", "prompt_cache_retention", "truncation", "top_logprobs"),
            )
        ),
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        for fields in nothing:
            for streamed in (False, True):
                said, _ = await answered(rig, fields, streamed=streamed)
                assert "x-pplx-dropped" not in said.headers, fields
                assert "x-pplx-warnings" not in said.headers, fields
                assert (said.response["temperature"], said.response["top_p"]) == (1.0, 1.0)


@BOTH
async def test_search_fields_are_those_of_chat(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        both_times = {"search_recency_filter": "week", "search_after_date_filter": "03/01/2026"}
        assert "search_recency_filter" in (await refused(rig, both_times))["message"]
        for day in ("13/02/2026", "02/30/2026"):
            error = await refused(rig, {"search_after_date_filter": day})
            assert error["param"] == "search_after_date_filter"
        error = await refused(rig, {"search_domain_filter": [f"a{n}.example" for n in range(21)]})
        assert error["param"] == "search_domain_filter"
        if upstream == "session":
            return
        for day in ("3/1/2026", "03/01/2026", "2026-03-01", "2026-03-01T00:00:00Z"):
            _, sent = await answered(rig, {"search_after_date_filter": day})
            assert sent["tools"][0]["filters"]["search_after_date_filter"] == "03/01/2026"
        tool = {"type": "web_search", "filters": {"allowed_domains": ["https://Example.org/", "bücher.example"]}}
        place = {"type": "approximate", "country": "BE", "city": "Ghent", "timezone": "Europe/Brussels"}
        tool |= {"search_context_size": "high", "user_location": place}
        said, sent = await answered(rig, {"tools": [tool]})
        assert sent["tools"][0]["filters"]["search_domain_filter"] == ["example.org", "xn--bcher-kva.example"]
        assert sent["tools"][0]["search_context_size"] == "high"
        assert sent["tools"][0]["user_location"] == {"country": "BE", "city": "Ghent"}
        assert said.headers["x-pplx-dropped"] == "tools[0].user_location.timezone"


async def test_side_calls_by_the_helper_cost_no_search(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        for streamed in (False, True):
            _, sent = await answered(rig, {"model": "helper", "input": "A title, please"}, streamed=streamed)
            assert "tool_choice" not in sent
            assert not [tool for tool in sent.get("tools", []) if tool["type"] == "web_search"]


async def test_a_run_is_found_again_by_several_who_follow_at_once(both: Both) -> None:
    rig, caller = both
    await script_run(rig)
    made = await caller.create(background=True)
    streams = await asyncio.gather(*(caller.follow(made["id"]) for _ in range(8)))
    assert all(stream.events == streams[0].events for stream in streams)


async def test_what_is_not_stored_leaves_no_handle_of_its_thread(tmp_path: Path) -> None:
    kept = []
    async with running(tmp_path, order=("session",)) as rig:
        for store in (False, True):
            body = {"model": "gpt", "input": "Which rivers meet in Ghent?", "store": store}
            assert (await rig.post(body, path=PATH)).status == 200
            kept.append(len(rows(tmp_path, "threads")))
    assert kept == [0, 1]


@pytest.mark.parametrize("background", [False, True])
async def test_the_handle_of_a_thread_goes_with_its_response(tmp_path: Path, background: bool) -> None:
    async with running(tmp_path, order=("session",)) as rig, Caller(rig.url) as caller:
        asked = {"model": "gpt", "input": "Which rivers meet in Ghent?", "background": background}
        made = [(await caller.ended((await caller.create(**asked))["id"]))["id"] for _ in range(2)]
        (_, handle, *_), *others = rows(tmp_path, "threads")
        assert not others, "the same turns again are the same place to go on from"
        assert isinstance(handle, bytes)
        token = json.loads(handle)["read_write_token"]
        await caller.delete(made[0])
        assert rows(tmp_path, "threads"), "it belongs to the later one"
        await caller.delete(made[1])
        assert not rows(tmp_path, "threads")
        assert token
        assert not lies_in(tmp_path, token)
