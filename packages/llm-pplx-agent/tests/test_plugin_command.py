"""The `llm` command, as people use it."""

import json

from plugin_rig import ANSWER, COST, KEY, SOURCES, USAGE, Rig, events, response

QUESTION = "Which two rivers meet in Ghent?"


async def test_an_answer_is_told_once_with_its_sources(rig: Rig) -> None:
    await rig.script(events(), events())
    fresh, done = await rig.fresh_llm("-m", "pplx-agent", QUESTION), await rig.ask(QUESTION)
    assert fresh == done
    assert done.out == f"{ANSWER}{SOURCES}\n"
    assert len(await rig.requests()) == 2
    first, seen = await rig.requests("POST")
    assert (
        first["json"]
        == seen["json"]
        == {
            "input": [{"type": "message", "role": "user", "content": QUESTION}],
            "effort": "medium",
            "background": True,
            "stream": True,
            "tools": [{"type": "web_search"}, {"type": "fetch_url"}],
        }
    )


async def test_reasoning_and_progress_go_to_stderr(rig: Rig) -> None:
    await rig.script(events())
    done = await rig.ask(QUESTION)
    assert "Look at the map\nSearching: rivers of Ghent\n" in done.err
    assert "[pplx-agent] run resp_t1 has started\n" in done.err
    assert "2 search result(s) gathered\n" in done.err
    await rig.script(events())
    hidden = await rig.ask("-R", QUESTION)
    assert "Look at the map" not in hidden.err


async def test_the_log_keeps_usage_cost_model_reasoning_and_sources(rig: Rig) -> None:
    await rig.script(events())
    done = await rig.ask("-u", QUESTION)
    assert "20 input, 9 output" in done.err
    assert '"total_cost": 0.00503' in done.err
    (kept,) = await rig.log()
    assert (kept["input_tokens"], kept["output_tokens"]) == (USAGE["input_tokens"], USAGE["output_tokens"])
    assert json.loads(kept["token_details"]) == {"cost": COST}
    assert kept["resolved_model"] == "perplexity/sonar"
    assert "Look at the map" in kept["reasoning"]
    assert kept["response_json"] == response()


async def test_without_a_stream_the_run_is_looked_at_until_it_ends(rig: Rig) -> None:
    await rig.script({"id": "resp_t1", "status": "queued", "output": []})
    waiting = response("in_progress", text="", usage=None)
    await rig.script(waiting, response(), path="/v1/agent/resp_t1", method="GET")
    done = await rig.ask("--no-stream", QUESTION)
    assert done.out == f"{ANSWER}{SOURCES}\n"
    assert "status in_progress after 0s; 2 search result(s) gathered" in done.err
    assert len(await rig.requests("POST")) == 1
    assert "stream" not in (await rig.bodies())[0]


async def test_the_emulated_api_takes_every_request(rig: Rig) -> None:
    for way in ([], ["--no-stream"], ["--async"], ["--async", "--no-stream"]):
        done = await rig.ask(
            *way, "-o", "preset", "low", "-o", "recency", "year", "-o", "domains", "-a.example", QUESTION
        )
        assert "\n\nSources:\n[" in done.out
    for body in await rig.bodies():
        assert body["effort"] == "low"
        filters = {"search_recency_filter": "year", "search_domain_filter": ["-a.example"]}
        assert body["tools"] == [{"type": "web_search", "filters": filters}, {"type": "fetch_url"}]


async def test_the_list_of_sources_can_be_left_out(rig: Rig) -> None:
    for way in ([], ["--no-stream"]):
        await rig.script(response())
        done = await rig.ask(*way, "-o", "include_citations", "false", QUESTION)
        assert done.out == f"{ANSWER}\n"
    assert [page["id"] for page in (await rig.log())[0]["response_json"]["output"][0]["results"]] == [2, 4]


async def test_a_fenced_answer_comes_whole_and_marked_as_untrusted(rig: Rig) -> None:
    await rig.script(events())
    done = await rig.ask("-o", "spotlight", "true", QUESTION)
    assert done.out.startswith("<untrusted-web-content-")
    assert f"\n\n{ANSWER}{SOURCES}\n</untrusted-web-content-" in done.out


async def test_the_key_is_found_in_llms_own_order(rig: Rig) -> None:
    given = ("pplx-given", "pplx-kept", "pplx-environment")
    await rig.llm("keys", "set", "perplexity", "--value", given[1])
    for arguments, key in ((["--key", given[0]], given[0]), ([], given[1]), (["--key", "perplexity"], given[1])):
        await rig.script(events())
        await rig.ask(*arguments, QUESTION, PERPLEXITY_API_KEY=given[2])
        assert (await rig.requests("POST"))[-1]["headers"]["authorization"] == f"Bearer {key}"
    (rig.folder / "llm" / "keys.json").unlink()
    await rig.script(events())
    await rig.ask(QUESTION, PERPLEXITY_API_KEY=given[2])
    assert (await rig.requests("POST"))[-1]["headers"]["authorization"] == f"Bearer {given[2]}"


async def test_without_a_key_llm_says_where_to_put_one(rig: Rig) -> None:
    done = await rig.llm("-m", "pplx-agent", QUESTION, key=None)
    assert (done.code, done.out) == (1, "")
    assert "llm keys set perplexity" in done.err
    assert "PERPLEXITY_API_KEY" in done.err


async def test_a_key_that_cannot_be_one_is_not_sent(rig: Rig) -> None:
    told = await rig.refused("--key", f"{KEY}\nX-Evil: 1", QUESTION)
    assert "llm keys set perplexity" in told
    assert await rig.requests() == []


async def test_the_alias_names_the_same_model(rig: Rig) -> None:
    await rig.script(events())
    done = await rig.llm("-m", "perplexity-agent", QUESTION)
    assert done.out == f"{ANSWER}{SOURCES}\n"


async def test_a_template_and_a_system_prompt_reach_the_model(rig: Rig) -> None:
    await rig.script(events())
    await rig.ask("-s", "Be brief.", stdin=QUESTION)
    (body,) = await rig.bodies()
    assert [item["role"] for item in body["input"]] == ["system", "user"]
    assert "instructions" not in body


async def test_an_image_travels_as_data_and_an_address_as_it_is(rig: Rig) -> None:
    picture = rig.folder / "dot.png"
    picture.write_bytes(bytes.fromhex("89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"))
    await rig.script(events())
    await rig.ask("-a", str(picture), "--at", "https://pictures.example/a.jpg", "image/jpeg", "What is this?")
    (body,) = await rig.bodies()
    text, first, second = body["input"][0]["content"]
    assert text == {"type": "input_text", "text": "What is this?"}
    assert first["image_url"].startswith("data:image/png;base64,iVBORw0KGgo")
    assert second == {"type": "input_image", "image_url": "https://pictures.example/a.jpg"}
