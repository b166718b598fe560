"""Bodies, messages and what they hold: what is wrong with a request before it is a question, and what is only odd."""

import asyncio
import base64
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.cases.asking import asked, let_answer
from tests.cases.test_bodies import NO_JSON, socket
from tests.responses.asking import ASK, BOTH, PATH, WAYS, Json, answered, ask, refused
from tests.rig import KEY, Rig, bearer, running

HALF = r"\ud800"
PNG = "data:image/png;base64,iVBORw0KGgo="
FUNCTION: Json = {"type": "function", "name": "f", "parameters": {"type": "object"}}


def body(fields: str) -> bytes:
    """A good body but for `fields`, which are written as they are."""
    return b'{"model":"sonar","input":"Why?",' + fields.encode() + b"}"


def saying(item: str) -> bytes:
    return f'{{"model":"sonar","input":[{item}]}}'.encode()


async def wrong(rig: Rig, content: bytes, *, status: int = 400) -> Json:
    async with asyncio.timeout(20):
        said = await ask(rig, content)
    assert said.status == status, (content[:80], said)
    assert not await asked(rig)
    return said.error


@BOTH
async def test_a_body_that_is_no_json_object_is_told_so(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        own = json.dumps(ASK).encode()
        others = [content for content in NO_JSON if not content.startswith(b'{"model"')]  # which are chats
        for content in [*others, own + b"{}", own[:-1], gzip.compress(own), b"\xff\xfe", b'{"input":"\xe2\x82"}']:
            assert (await wrong(rig, content))["code"] == "invalid_json", content[:40]
        for content in (b"[]", b"null", b'"x"', b"5", b'[{"model":"sonar"}]'):
            assert (await wrong(rig, content))["code"] != "invalid_json"
        reply = await rig.client.post(rig.url + PATH, content=b"{", headers=bearer("wrong"))
        assert reply.status_code == 401
        assert (await ask(rig, b"\xef\xbb\xbf" + json.dumps(ASK).encode())).status in (200, 400)


async def test_half_a_letter_is_refused_wherever_it_stands(tmp_path: Path) -> None:
    bodies = [
        f'{{"model":"sonar","input":"Why{HALF}?"}}'.encode(),
        saying(f'{{"role":"user","content":"{HALF}"}}'),
        saying(f'{{"role":"user","content":[{{"type":"input_text","text":"{HALF}"}}]}}'),
        saying(f'{{"role":"user","content":"Why?","id":"{HALF}"}}'),
        saying(f'{{"role":"user","content":"Why?"}},{{"type":"item_reference","id":"{HALF}"}}'),
        saying(
            f'{{"role":"user","content":"Why?"}},{{"type":"function_call","call_id":"c","name":"f","arguments":"{HALF}"}}'
        ),
        body(f'"instructions":"{HALF}"'),
        body(f'"previous_response_id":"{HALF}"'),
        body(f'"metadata":{{"a":"{HALF}"}}'),
        body(f'"metadata":{{"{HALF}":"a"}}'),
        body(f'"prompt_cache_key":"{HALF}"'),
        body(f'"user":"{HALF}"'),
        body(f'"tools":[{{"type":"function","name":"f","parameters":{{"description":"{HALF}"}}}}]'),
        body(f'"tools":[{{"type":"web_search","filters":{{"allowed_domains":["{HALF}"]}}}}]'),
        body(f'"text":{{"format":{{"type":"json_schema","name":"f","schema":{{"title":"{HALF}"}}}}}}'),
    ]
    async with running(tmp_path) as rig:
        for content in bodies:
            await wrong(rig, content)
        assert (await ask(rig, body(f'"{HALF}":1'))).status in (200, 400)


async def test_depth_is_refused_and_not_walked(tmp_path: Path) -> None:
    deep = '{"properties":' * 2000 + "{}" + "}" * 2000
    named: list[tuple[bytes, str | None]] = [
        (b"[" * 100_000, None),
        (b'{"a":' * 50_000, "a"),
        (body(f'"tools":[{{"type":"function","name":"f","parameters":{deep}}}]'), "tools"),
        (body(f'"text":{{"format":{{"type":"json_schema","name":"f","schema":{deep}}}}}'), "text"),
        (saying(f'{{"role":"user","content":"Why?","odd":{deep}}}'), "input"),
        (body('"metadata":' + '{"a":' * 1000 + "1" + "}" * 1000), "metadata"),
    ]
    async with running(tmp_path) as rig:
        for content, param in named:
            error = await wrong(rig, content)
            assert param is None or (error["param"] or "").startswith(param), (content[:60], error)
            assert len(error["message"]) < 500


async def test_size_is_refused_before_it_is_read(tmp_path: Path) -> None:
    async with running(tmp_path, max_body_bytes=10_000) as rig:
        assert (await wrong(rig, body(f'"odd":"{"x" * 10_000}"'), status=413))["code"] == "request_too_large"
        async with socket(rig) as line:
            await line.send(
                f"POST {PATH} HTTP/1.1\r\nHost: {line.host}\r\nAuthorization: Bearer {KEY}\r\n"
                "Content-Length: 20000\r\n\r\n".encode()
            )
            status, headers, _ = await line.response()
            assert (status, headers["connection"]) == (413, "close")
        said = await ask(rig, b"x", headers={"content-encoding": "gzip"})
        assert said.status == 415


@BOTH
@WAYS
async def test_a_zero_and_letters_beyond_the_first_plane_cut_nothing(
    tmp_path: Path, upstream: str, streamed: bool
) -> None:
    """In the question, in the answer, in the next of the chain, and in what is kept."""
    question, answer = "Which rivers\0 meet, 👩‍👩‍👧‍👦 東京?", "The Leie.\0 And the 🚲[1]."
    async with running(tmp_path, order=(upstream,), citation_marks="keep") as rig:
        await let_answer(rig, upstream, *answer, times=2)
        first, _ = await answered(rig, {"input": question}, streamed=streamed)
        assert first.text == answer
        (mark,) = first.items("message")[0]["content"][0]["annotations"]
        assert answer[mark["start_index"] : mark["end_index"]] == "[1]"
        items = (await rig.get(f"{PATH}/{first.response['id']}/input_items")).json["data"]
        assert items[0]["content"][0]["text"] == question
        second, sent = await answered(
            rig, {"input": "And\0?", "previous_response_id": first.response["id"]}, streamed=streamed
        )
        assert second.text == answer
        assert "And\\u0000?" in json.dumps(sent) or "And\\\\u0000?" in json.dumps(sent)
        assert (await rig.get(f"{PATH}/{first.response['id']}")).json == first.response


@pytest.mark.parametrize("value", ["true", 1, 0, "", [], {}])
async def test_stream_is_true_or_false(tmp_path: Path, value: object) -> None:
    async with running(tmp_path) as rig:
        for field in ("stream", "background", "store"):
            error = await wrong(rig, json.dumps({**ASK, field: value}).encode())
            assert error["param"] == field
        for nothing in (None, False):
            said = await ask(rig, json.dumps({**ASK, "stream": nothing}).encode())
            assert said.response["status"] == "completed"


BAD_INPUT: list[tuple[Any, str]] = [
    ("", "input"),
    ("  \n", "input"),
    ([], "input"),
    (5, "input"),
    (None, "input"),
    ({"role": "user", "content": "x"}, "input"),
    (["x"], "input[0]"),
    ([{"type": "nope"}], "input[0].type"),
    ([{"role": "user"}], "input[0].content"),
    ([{"role": "user", "content": None}], "input[0].content"),
    ([{"role": "user", "content": ""}], "input[0].content"),
    ([{"role": "user", "content": []}], "input[0].content"),
    ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], "input[0].content[0].type"),
    ([{"role": "user", "content": [{"type": "input_text"}]}], "input[0].content[0].text"),
    ([{"role": "user", "content": [{"type": "input_text", "text": 5}]}], "input[0].content[0].text"),
    ([{"role": "user", "content": [{"type": "refusal", "refusal": "x"}]}], "input[0].content[0].type"),
    ([{"role": "user", "content": [{"type": "output_text", "text": "x"}]}], "input[0].content[0].type"),
    ([{"role": "user", "content": [{"type": "input_image", "image_url": {"url": PNG}}]}], "input[0].content[0].image"),
    ([{"role": "user", "content": [{"type": "input_image", "image_url": "data:,"}]}], "input[0].content[0].image_url"),
    ([{"role": "user", "content": [{"type": "input_audio", "input_audio": {}}]}], "input[0].content[0]"),
    ([{"role": "assistant", "content": [{"type": "input_text", "text": "x"}]}], "input[0].content[0].type"),
    ([{"role": "tool", "content": "x"}], "input[0].role"),
    ([{"type": "item_reference", "id": "msg_nowhere"}], "input[0].id"),
    ([{"type": "function_call_output", "call_id": "c", "output": "x"}], "input[0].call_id"),
    ([{"role": "user", "content": "x"}, {"type": "function_call", "call_id": "c", "name": "f"}], "input[1].arguments"),
]


@BOTH
async def test_input_that_is_none_is_refused_by_its_place(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for given, param in BAD_INPUT:
            assert ((await refused(rig, {"input": given}))["param"] or "").startswith(param), given
        error = await wrong(rig, b'{"model":"sonar"}')
        assert error["param"] == "input"


BAD_IMAGES = {
    "data:image/png;base64,": "invalid_base64_image",
    "data:image/png;base64,iVBOR w0KGgo=": "invalid_base64_image",
    "data:image/png;base64,iVBOR\nw0KGgo=": "invalid_base64_image",
    "data:image/svg+xml;base64,PHN2Zy8+": "unsupported_image_media_type",
    "data:text/html;base64,PGI+": "unsupported_image_media_type",
    "data:image/jpeg;base64,iVBORw0KGgo=": "invalid_base64_image",
    "http://169.254.169.254/x": "invalid_request",
    "file:///etc/passwd": "invalid_request",
}


@BOTH
async def test_images_are_looked_at_before_anything_is_sent(tmp_path: Path, upstream: str) -> None:
    async with running(tmp_path, order=(upstream,)) as rig:
        for url, code in BAD_IMAGES.items():
            parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": url}]
            error = await refused(rig, {"input": [{"role": "user", "content": parts}]})
            assert (error["param"], error["code"]) == ("input[0].content[1].image_url", code), url
        good = PNG.replace("data:image/png;base64", "DATA:Image/PNG;BASE64")
        parts = [{"type": "input_text", "text": "What is this?"}, {"type": "input_image", "image_url": good}]
        said = await ask(rig, {"input": [{"role": "user", "content": parts}]})
        assert said.status == 200, said.error


async def test_an_image_above_the_limit_is_refused(tmp_path: Path) -> None:
    huge = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(21 << 20)).decode()
    async with running(tmp_path) as rig:
        parts = [{"type": "input_image", "image_url": huge}, {"type": "input_text", "text": "What is this?"}]
        said = await ask(rig, {"input": [{"role": "user", "content": parts}]})
        assert (said.status, said.error["param"]) == (400, "input[0].content[0].image_url")


@BOTH
@WAYS
async def test_turns_in_odd_orders_keep_their_order(tmp_path: Path, upstream: str, streamed: bool) -> None:
    said: list[Json] = [
        {"role": "assistant", "content": "Hello, how can I help?"},
        {"role": "user", "content": "I moved to Lyon."},
        {
            "role": "user",
            "content": [{"type": "input_text", "text": "Best "}, {"type": "input_text", "text": "parks?"}],
        },
        {"role": "developer", "content": "Answer in German."},
    ]
    async with running(tmp_path, order=(upstream,)) as rig:
        found, sent = await answered(rig, {"input": said}, streamed=streamed)
        told = json.dumps(sent)
        assert found.text
        assert -1 < told.find("I moved to Lyon.") < told.find("Best parks?")
        assert "Answer in German." in told
        _, sent = await answered(rig, {"input": [{"role": "system", "content": "Title: Ghent"}]}, streamed=streamed)
        assert "Title: Ghent" in json.dumps(sent)


async def test_a_question_of_the_sessions_limit_passes_and_one_more_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, order=("session",)) as rig:
        for letter in ("x", "é", "🚲"):
            assert (await ask(rig, {"input": letter * 96_000})).status == 200
            error = await refused(rig, {"input": letter * 96_001})
            assert error["param"] == "input"
            assert "96001" in error["message"]
        for background in (False, True):  # known at once, so it is told at once
            error = await refused(rig, {"input": "x" * 97_000, "background": background})
            assert error["param"] == "input"


async def test_what_a_caller_wrote_is_repeated_on_one_line(tmp_path: Path) -> None:
    odd = "a\nb\u2028<html>\0\u202e"
    bodies: list[Json] = [
        {"previous_response_id": odd},
        {"model": odd},
        {"tools": [FUNCTION], "tool_choice": odd},
        {"tools": [FUNCTION], "tool_choice": {"type": "function", "name": odd}},
        {"text": {"format": {"type": odd}}},
        {"search_domain_filter": [odd]},
        {"tools": [{**FUNCTION, "parameters": {"$ref": odd}}]},
        {"input": [{"role": "user", "content": "x"}, {"type": "function_call", "call_id": odd, "name": "f"}]},
    ]
    async with running(tmp_path) as rig:
        for fields in bodies:
            reply = await rig.client.post(rig.url + PATH, json={**ASK, **fields}, headers=bearer(KEY))
            assert reply.json()["error"]["message"].isprintable(), fields
        reply = await rig.client.get(f"{rig.url}{PATH}/a%0Ab", headers=bearer(KEY))
        assert (reply.status_code, reply.json()["error"]["message"].isprintable()) == (404, True)
