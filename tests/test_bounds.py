"""Numbers that make no sense, and requests that would keep a worker to themselves."""

import time
from pathlib import Path

import pytest

from pplx_gateway.clock import Clock
from pplx_gateway.environment import load
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import Message, Question, TextPart
from pplx_gateway.settings import Secret, SettingsError
from pplx_gateway.store import Database, Facts, Leases
from pplx_gateway.upstreams.session.kept import StoreKeeper
from pplx_gateway.upstreams.session.transcript import transcript
from tests.cases.scripts import ASK
from tests.rig import Rig, running
from tests.test_commands import refusal


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PPLX_KEEP_ALIVE_SECONDS", "0"),
        ("PPLX_KEEP_ALIVE_SECONDS", "nan"),
        ("PPLX_CLOCK_FACTOR", "inf"),
        ("KEEPALIVE_HOURS", "nan"),
        ("PPLX_IDLE_TIMEOUT_SECONDS", "-1"),
        ("PPLX_TOTAL_TIMEOUT_SECONDS", "-5"),
        ("PPLX_MAX_BODY_BYTES", "-1"),
        ("PPLX_MAX_CONNECTIONS", "0"),
        ("PPLX_PROXY_PORT", "99999"),
        ("PPLX_PROXY_PORT", "-1"),
    ],
)
def test_a_number_that_makes_no_sense_stops_the_start(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match=name):
        load({name: value}, None)


async def test_a_start_that_cannot_be_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    nowhere = str(tmp_path / "file" / "x")
    assert "file" in await refusal("serve", "--port", "0", folder=tmp_path, status=5, PPLX_DATA_DIR=nowhere)
    for arguments in (("serve", "--port", "99999"), ("serve", "--workers", "0"), ("demo", "--clock-factor", "0")):
        assert arguments[-1] in await refusal(*arguments, folder=tmp_path)


def test_very_many_neighbouring_turns_are_joined_in_no_time() -> None:
    turns = tuple(Message("user", (TextPart("word"),)) for _ in range(100_000))
    began = time.process_time()
    (turn,) = transcript(Question(model="gpt", turns=turns)).turns
    assert turn.text.count("word") == 100_000
    assert time.process_time() - began < 5, "joined one by one it takes minutes"


async def test_more_stop_strings_than_anybody_needs_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, order=("api",)) as rig:
        reply = await rig.chat({**ASK, "stop": ["a"] * 1000})
    assert (reply.status, reply.error["param"]) == (400, "stop")
    assert isinstance(rig, Rig)


async def test_a_kept_cookie_is_used_at_its_own_site_alone(tmp_path: Path) -> None:
    database = await Database.open(tmp_path / "s.sqlite")
    facts, leases = Facts(database), Leases(database, Clock(), "one")
    here, there = (StoreKeeper(facts, leases, Clock(), site=site) for site in ("here.example", "there.example"))
    await here.give(Secret("token-of-here"))
    assert await there.open(None, lambda: None) is None
    assert (await there.read()).held is None
    again = await here.open(None, lambda: None)
    assert again is not None
    assert again.token.reveal() == "token-of-here", "looking from elsewhere does not lose it"
    given = await there.open(Secret("token-of-there"), lambda: None)
    assert given is not None
    assert await here.open(None, lambda: None) is None
    await database.close()


def test_a_question_of_nothing_is_still_refused() -> None:
    with pytest.raises(InvalidRequest):
        transcript(Question(model="gpt", turns=(Message("user", (TextPart(" "),)),)))
