import json

from pplx_gateway.protocols.openai.responses.named import item_references, named_files
from tests.responses_request.asking import request, text, user

FILE = {"type": "input_file", "file_id": "file-1"}
IMAGE = {"type": "input_image", "file_id": "file-2"}


def test_files_are_named_with_their_paths() -> None:
    found = named_files(request(input=[user("a"), user(text("b"), FILE, IMAGE)]))
    assert list(found) == [("file-1", "input[1].content[1].file_id"), ("file-2", "input[1].content[2].file_id")]


def test_files_of_kept_items_are_named_by_where_they_come_from() -> None:
    before = json.dumps(user(FILE), separators=(",", ":")).encode()
    referred = json.dumps(user(IMAGE)).encode()
    found = named_files(request(), [b'{"type":"message"}', before], [referred])
    assert list(found) == [("file-1", "previous_response_id"), ("file-2", "input")]


def test_references_are_named_with_their_paths() -> None:
    items = [user("a", id="msg_0"), {"type": "item_reference", "id": "msg_1"}, {"id": "rs_1"}]
    assert list(item_references(request(input=items))) == [("msg_1", "input[1].id"), ("rs_1", "input[2].id")]
    assert list(item_references(request())) == []


def test_items_of_any_other_shape_name_nothing() -> None:
    odd = [{"content": 5}, {"content": [5, None, {"file_id": 5}, []]}, {"type": "item_reference", "id": 5}, {}]
    assert list(named_files(request(input=odd))) == []
    assert list(item_references(request(input=odd))) == []
