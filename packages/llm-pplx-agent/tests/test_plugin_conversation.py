"""Conversations, schemas and tools through the `llm` command."""

import json

import sqlite_utils
from plugin_rig import ANSWER, Json, Rig, events, response

TOOL = """
def web_search(query: str) -> str:
    "Looks into a local index."
    return f"found {query}"
"""


def call(name: str, arguments: Json, **more: object) -> Json:
    return {"type": "function_call", "call_id": "call_7", "name": name, "arguments": json.dumps(arguments), **more}


async def test_a_conversation_leans_on_the_earlier_run(rig: Rig) -> None:
    await rig.script(events(), events("It is long."))
    await rig.ask("-s", "Be brief.", "Which rivers meet in Ghent?")
    done = await rig.llm("-c", "How long is the Leie?")
    assert (
        done.out
        == "It is long.\n\nSources:\n[2] Leie — https://a.example/leie\n[4] Scheldt — https://b.example/scheldt\n"
    )
    body = (await rig.bodies())[1]
    assert body["previous_response_id"] == "resp_t1"
    assert body["input"] == [{"type": "message", "role": "user", "content": "How long is the Leie?"}]


async def test_a_run_that_is_gone_is_replaced_by_the_whole_conversation(rig: Rig) -> None:
    await rig.script(events())
    await rig.ask("-o", "spotlight", "true", "-s", "Be brief.", "Which rivers meet in Ghent?")
    done = await rig.llm("-c", "How long is the Leie?")  # the emulator knows no run of this name
    assert done.code == 0, done.err
    assert "asking with the whole conversation" in done.err
    assert "previous_response_id" not in (await rig.bodies())[2]
    assert (await rig.bodies())[2]["input"] == [
        {"type": "message", "role": "system", "content": "Be brief."},
        {"type": "message", "role": "user", "content": "Which rivers meet in Ghent?"},
        {"type": "message", "role": "assistant", "content": ANSWER},
        {"type": "message", "role": "user", "content": "How long is the Leie?"},
    ]


async def test_the_emulated_api_goes_on_with_its_own_runs(rig: Rig) -> None:
    await rig.ask("What is a neap tide?")
    done = await rig.llm("-c", "--no-stream", "-s", "Be brief.", "And a spring tide?")
    assert done.code == 0, done.err
    second = (await rig.bodies())[1]
    assert second["previous_response_id"].startswith("resp_")
    assert [item["role"] for item in second["input"]] == ["system", "user"]


async def test_a_schema_gives_json_alone(rig: Rig) -> None:
    answer = '{"capital": "Reykjavík[2]", "population": 387758}'
    fenced = events("<think>look up</think>\n```js", "on\n", answer, "\n```")
    await rig.script(fenced, events(answer))
    for _ in range(2):
        done = await rig.ask("--schema", "capital, population int", "Iceland")
        assert json.loads(done.out) == json.loads(answer)
    body = (await rig.bodies())[0]
    assert body["response_format"]["type"] == "json_schema"
    assert body["response_format"]["json_schema"]["schema"]["required"] == ["capital", "population"]


async def test_an_answer_that_is_no_json_is_an_error(rig: Rig) -> None:
    await rig.script(events("I would rather not."))
    told = await rig.refused("--schema", "capital, people int", "Iceland")
    assert "not the JSON that the schema asks for" in told
    assert "-o response_id resp_t1" in told
    assert await rig.log() == []


async def test_a_tool_of_a_reserved_name_is_called_under_another(rig: Rig) -> None:
    asked = response(
        "requires_action", text="", output=[call("fn_web_search", {"query": "Leie"}, thought_signature="c2ln")]
    )
    ended = {"type": "response.completed", "sequence_number": 9, "response": asked}
    await rig.script([*events()[:2], ended], events())
    done = await rig.ask("--functions", TOOL, "-u", "What do we know of the Leie?")
    assert done.out.startswith(ANSWER)
    first, second = await rig.bodies()
    assert [tool.get("name") for tool in first["tools"]] == [None, None, "fn_web_search"]
    assert first["tools"][2]["description"] == "Looks into a local index."
    assert second["input"][1:] == [
        call("fn_web_search", {"query": "Leie"}, thought_signature="c2ln"),
        {"type": "function_call_output", "call_id": "call_7", "name": "fn_web_search", "output": "found Leie"},
    ]
    assert "previous_response_id" not in second


async def test_the_emulated_api_calls_functions(rig: Rig) -> None:
    tool = 'def local_weather(city: str) -> str:\n    "The weather in a city."\n    return "21 degrees"\n'
    for way in ([], ["--no-stream"]):
        done = await rig.ask(*way, "--functions", tool, "--td", "call local_weather: What is the weather in Lyon?")
        assert "21 degrees" in done.out + done.err


async def test_an_old_log_is_gone_on_with(rig: Rig) -> None:
    """Logs of llm before 0.36 have rows instead of messages, and options that are no more."""
    await rig.script(events())
    await rig.ask("Which rivers?")  # makes the tables
    database = sqlite_utils.Database(rig.folder / "llm" / "logs.db")
    database.table("conversations").insert({"id": "01zzz", "name": "old", "model": "pplx-agent"})
    database.table("responses").insert(
        {
            "id": "01zzz1",
            "model": "pplx-agent",
            "prompt": "Which rivers?",
            "response": ANSWER,
            "options_json": '{"return_images": true, "preset": "low"}',
            "conversation_id": "01zzz",
        }
    )
    database.close()
    await rig.script(events())
    done = await rig.llm("--cid", "01zzz", "How long?")
    assert done.code == 0, done.err
    assert [item["content"] for item in (await rig.bodies())[-1]["input"]] == ["Which rivers?", ANSWER, "How long?"]
