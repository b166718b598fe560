"""Push alerts: one of a kind within the cooldown, no secret in them, and never in anybody's way."""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest

from pplx_gateway.alerts import MOST_CHARACTERS, Alerts, Channel
from pplx_gateway.errors import UpstreamTimeout, UpstreamUnreachable
from pplx_gateway.settings import Secret
from pplx_gateway.store import Database, Facts
from pplx_gateway.supervisor import Supervisor, Work
from pplx_gateway.transport.exchange import Headers, Incoming, Outgoing
from tests.session.fakes import HandClock

TOPIC = "topic-SECRET-5"


class Ntfy:
    """Answers with `replies` in turn (a status, or an error to raise), then with 200."""

    def __init__(self, *replies: int | Exception) -> None:
        self.got: list[Outgoing] = []
        self.closed = False
        self._replies = list(replies)

    async def request(self, outgoing: Outgoing) -> Incoming:
        self.got.append(outgoing)
        reply = self._replies.pop(0) if self._replies else 200
        if isinstance(reply, Exception):
            raise reply
        return Incoming(status=reply, headers=Headers(()), body=b'{"code":42901,"error":"limit reached"}')

    async def close(self) -> None:
        self.closed = True

    @property
    def told(self) -> list[dict[str, Any]]:
        return [json.loads(outgoing.body or b"") for outgoing in self.got]


class InstantClock(HandClock):
    """Sleeping takes no time."""

    async def sleep(self, seconds: float) -> None:
        self.seconds += seconds


class Later(Supervisor):
    """Runs what was begun when it is told to."""

    def __init__(self, clock: HandClock) -> None:
        super().__init__(clock)
        self.begun: list[Work] = []

    def once(self, name: str, work: Work) -> None:
        self.begun.append(work)

    async def run(self) -> None:
        while self.begun:
            await self.begun.pop(0)()


class Sender:
    """One worker that sends."""

    def __init__(self, database: Database, ntfy: Ntfy, clock: HandClock, url: str = "https://ntfy.example/") -> None:
        self.supervisor = Later(clock)
        channel = Channel(url=url, topic=Secret(TOPIC), cooldown_seconds=3600.0)
        self.alerts = Alerts(channel, ntfy, Facts(database), clock, self.supervisor)

    async def send(self, kind: str = "expired", title: str = "Title", message: str = "Words") -> None:
        """Sends, and waits until it is done."""
        self.alerts.send(kind, title, message)
        await self.supervisor.run()


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database, None]:
    opened = await Database.open(tmp_path / "gateway.sqlite")
    yield opened
    await opened.close()


async def test_an_alert_goes_to_the_topic_as_json(database: Database) -> None:
    ntfy = Ntfy()
    sender = Sender(database, ntfy, HandClock())
    await sender.send(title="Größe ✓", message="Zeile\nzwei")
    (outgoing,) = ntfy.got
    assert (outgoing.method, outgoing.url) == ("POST", "https://ntfy.example/")
    assert TOPIC not in outgoing.url + str(outgoing.headers)
    told = ntfy.told[0]
    assert (told["topic"], told["title"], told["message"]) == (TOPIC, "Größe ✓", "Zeile\nzwei")
    assert isinstance(told["priority"], int)


@pytest.mark.parametrize("url", ["https://ntfy.example", "https://ntfy.example/", "http://127.0.0.1:80//"])
async def test_the_servers_address_may_end_in_any_way(database: Database, url: str) -> None:
    ntfy = Ntfy()
    await Sender(database, ntfy, HandClock(), url).send()
    assert ntfy.got[0].url == url.rstrip("/") + "/"


async def test_one_of_a_kind_within_the_cooldown(database: Database) -> None:
    ntfy, clock = Ntfy(), HandClock()
    sender = Sender(database, ntfy, clock)
    for _ in range(5):
        await sender.send()
        clock.seconds += 719
    assert len(ntfy.got) == 1
    clock.seconds += 5
    await sender.send()
    assert len(ntfy.got) == 2
    await sender.send("models")
    assert len(ntfy.got) == 3, "another kind has a cooldown of its own"


async def test_the_cooldown_is_shared_by_workers_and_restarts(database: Database, tmp_path: Path) -> None:
    ntfy, clock = Ntfy(), HandClock()
    other = await Database.open(tmp_path / "gateway.sqlite")
    one, two = Sender(database, ntfy, clock), Sender(other, ntfy, clock)
    one.alerts.send("expired", "a", "b")
    two.alerts.send("expired", "a", "b")
    await asyncio.gather(one.supervisor.run(), two.supervisor.run())
    await Sender(other, ntfy, clock).send()
    assert len(ntfy.got) == 1
    await other.close()


@pytest.mark.parametrize("failure", [500, 429, 403, UpstreamUnreachable("down")])
async def test_what_surely_did_not_arrive_is_tried_again(database: Database, failure: int | Exception) -> None:
    ntfy = Ntfy(failure, failure)
    await Sender(database, ntfy, InstantClock()).send()
    assert len(ntfy.got) == 3


async def test_what_cannot_be_sent_at_all_leaves_room_for_the_next(database: Database) -> None:
    ntfy, clock = Ntfy(*[503] * 3), InstantClock()
    sender = Sender(database, ntfy, clock)
    await sender.send()
    assert len(ntfy.got) == 3
    await sender.send()
    assert len(ntfy.got) == 4


async def test_what_may_have_arrived_is_not_sent_twice(database: Database) -> None:
    ntfy = Ntfy(UpstreamTimeout("slow"))
    sender = Sender(database, ntfy, InstantClock())
    await sender.send()
    await sender.send()
    assert len(ntfy.got) == 1


async def test_secrets_are_blotted_out_and_long_words_are_cut(
    database: Database, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    ntfy = Ntfy(500)
    sender = Sender(database, ntfy, InstantClock())
    sender.alerts.hide(lambda: ["T-SECRET", ""])
    await sender.send(title="of T-SECRET", message="T-SECRET " + "x" * 5000 + "\ud83d")
    told = ntfy.told[-1]
    assert told["title"] == "of ***"
    assert told["message"].startswith("*** x")
    assert len(told["message"]) == MOST_CHARACTERS
    assert not [record for record in caplog.records if "SECRET" in str(vars(record))]


async def test_a_store_that_fails_sends_nothing_and_raises_nothing(database: Database) -> None:
    ntfy = Ntfy()
    sender = Sender(database, ntfy, HandClock())
    await database.close()
    await sender.send()
    assert ntfy.got == []


async def test_without_a_topic_alerts_are_off(database: Database) -> None:
    supervisor = Later(HandClock())
    alerts = Alerts(None, None, Facts(database), HandClock(), supervisor)
    alerts.send("expired", "a", "b")
    assert not alerts.on
    assert supervisor.begun == []
    await alerts.close()


@pytest.mark.parametrize("topic", ["", "a b", "a/b", "x" * 65, "täg"])
async def test_a_topic_that_cannot_be_is_a_setting_error_that_does_not_repeat_it(
    database: Database, topic: str
) -> None:
    channel = Channel(url="https://ntfy.example", topic=Secret(topic))
    with pytest.raises(ValueError, match="NTFY_TOPIC") as raised:
        Alerts(channel, Ntfy(), Facts(database), HandClock(), Later(HandClock()))
    assert not topic or topic not in str(raised.value)


async def test_closing_closes_the_way_out(database: Database) -> None:
    ntfy = Ntfy()
    await Sender(database, ntfy, HandClock()).alerts.close()
    assert ntfy.closed
