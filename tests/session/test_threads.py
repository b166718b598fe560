"""Going on where a turn ended: who finds a thread, and who does not (docs/wire-session.md 1.3)."""

from typing import Any

import pytest

from pplx_gateway.question import FunctionTool, ImagePart, JsonObjectFormat, Message, Question, TextPart
from pplx_gateway.upstreams.session.threads import Handle, Threads, eligible
from tests.session.fakes import DictStore
from tests.session.test_request import assistant, model, question, system, user

HANDLE = Handle(backend_uuid="b-1", model="gpt", read_write_token="rw-1", context_uuid="c-1")
FIRST = question(user("One?"))
SECOND = question(user("One?"), assistant("One."), user("Two?"))


def threads(secret: bytes = b"secret") -> Threads:
    return Threads(DictStore(), secret)


async def remembered(asked: Question = FIRST, text: str = "One.") -> Threads:
    kept = threads()
    await kept.remember(asked, model(), "anna", text, HANDLE)
    return kept


async def test_the_next_turn_finds_the_thread() -> None:
    assert await (await remembered()).find(SECOND, model(), "anna") == HANDLE


@pytest.mark.parametrize(
    ("asked", "name", "caller"),
    [
        (SECOND, "gpt", "bert"),
        (SECOND, "sonnet", "anna"),
        (question(user("One?"), assistant("One. "), user("Two?")), "gpt", "anna"),
        (question(user("Uno?"), assistant("One."), user("Two?")), "gpt", "anna"),
        (question(user("Zero?"), assistant("Zero."), user("One?"), assistant("One."), user("Two?")), "gpt", "anna"),
        (FIRST, "gpt", "anna"),
        (question(user("One?"), user("Two?")), "gpt", "anna"),
        (question(system("Be brief."), user("One?"), assistant("One."), user("Two?")), "gpt", "anna"),
    ],
)
async def test_nobody_else_and_nothing_else_finds_it(asked: Question, name: str, caller: str) -> None:
    assert await (await remembered()).find(asked, model(name), caller) is None


async def test_longer_conversations_go_on_too() -> None:
    kept = await remembered(SECOND, "Two.")
    third = question(user("One?"), assistant("One."), user("Two?"), assistant("Two."), user("Three?"))
    assert await kept.find(third, model(), "anna") == HANDLE


async def test_parts_of_a_turn_do_not_matter_only_its_text() -> None:
    kept = await remembered(question(user("One, please?")))
    second = question(user("One, ", "please?"), assistant("One."), user("Two?"))
    assert await kept.find(second, model(), "anna") == HANDLE


@pytest.mark.parametrize(
    "more",
    [{"functions": (FunctionTool(name="f"),)}, {"format": JsonObjectFormat()}],
)
async def test_functions_and_formats_send_their_whole_context(more: dict[str, Any]) -> None:
    kept = await remembered()
    asked = question(user("One?"), assistant("One."), user("Two?"), **more)
    assert await kept.find(asked, model(), "anna") is None
    assert not eligible(asked)


async def test_images_and_files_take_part_with_their_bytes() -> None:
    def asked(png: str) -> Question:
        return question(Message("user", (TextPart("One?"), ImagePart(png))), assistant("One."), user("Two?"))

    kept = Threads(DictStore(), b"secret")
    one, other = "data:image/png;base64,AAAA", "data:image/png;base64,BBBB"
    first = question(Message("user", (TextPart("One?"), ImagePart(one))))
    await kept.remember(first, model(), "anna", "One.", HANDLE)
    assert await kept.find(asked(one), model(), "anna") == HANDLE
    assert await kept.find(asked(other), model(), "anna") is None
    assert await kept.find(question(user("One?"), assistant("One."), user("Two?")), model(), "anna") is None


async def test_an_empty_answer_is_not_kept() -> None:
    store = DictStore()
    await Threads(store, b"secret").remember(FIRST, model(), "anna", "", HANDLE)
    assert store.kept == {}


async def test_keys_tell_nothing_without_the_secret() -> None:
    store = DictStore()
    await Threads(store, b"one").remember(FIRST, model(), "anna", "One.", HANDLE)
    assert await Threads(store, b"two").find(SECOND, model(), "anna") is None
    (key,) = store.kept
    assert len(key) == 32


async def test_what_another_version_kept_is_no_thread() -> None:
    store = DictStore()
    kept = Threads(store, b"secret")
    await kept.remember(FIRST, model(), "anna", "One.", HANDLE)
    store.kept = dict.fromkeys(store.kept, b"\x00garbage")
    assert await kept.find(SECOND, model(), "anna") is None
