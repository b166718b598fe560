"""The session's life on a scripted site: four states, one check an interval, alarms only for a clear word."""

import asyncio
import logging

import pytest

from pplx_gateway.errors import (
    CookieRefused,
    GatewayError,
    InvalidRequest,
    SessionBlocked,
    SessionExpired,
    StoreUnavailable,
    UpstreamError,
)
from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME
from pplx_gateway.upstreams.session.keeping import Held, Memory, Record, Shared
from tests.life.playing import CHALLENGE, EXPIRED, HOUR, OUTAGE, Living, SleepingClock, signed_in
from tests.session.fakes import Played

# states


async def test_before_the_first_check_nothing_is_known() -> None:
    living = Living()
    standing = living.life.standing()
    assert (standing.state, standing.checked_seconds_ago, standing.tier) == ("unknown", None, None)
    living.life.refuse()
    assert await living.life.doubtful()


async def test_four_states_are_shown() -> None:
    living = Living()
    assert await living.check(signed_in()) == "valid"
    assert living.life.standing().tier == "pro"
    assert await living.check(CHALLENGE) == "blocked"
    assert await living.check(OUTAGE) == "unknown"
    assert await living.check(None) == "unknown"
    living.answers(None)
    assert await living.check() == "unknown"
    assert await living.check(EXPIRED) == "expired"


@pytest.mark.parametrize("later", [CHALLENGE, OUTAGE])
async def test_no_clear_word_unsays_the_last_one(later: Played) -> None:
    living = Living()
    await living.check(signed_in())
    await living.check(later)
    living.life.refuse()
    await living.check(EXPIRED)
    assert await living.check(later) == "expired"
    with pytest.raises(SessionExpired, match="inject-cookie"):
        living.life.refuse()
    await living.check(signed_in())
    living.life.refuse()


async def test_without_a_cookie_everything_is_refused_and_nobody_is_asked() -> None:
    living = Living(cookie=None)
    assert not living.life.present
    with pytest.raises(SessionExpired):
        await living.life.doubtful()
    await living.check()
    assert living.checks == 0


# alarms


async def test_a_challenge_of_a_day_and_an_outage_of_an_hour_alarm_nobody() -> None:
    living = Living()
    for site, hours in ((signed_in(), 1), (CHALLENGE, 24), (OUTAGE, 1), (signed_in(), 1)):
        for _ in range(hours):
            await living.check(site)
            living.clock.seconds += HOUR
            living.life.refuse()
    assert living.alarms == []


async def test_an_expiry_is_told_at_every_clear_word_and_alarms_keep_the_cooldown_themselves() -> None:
    living = Living()
    await living.check(signed_in())
    await living.check(EXPIRED)
    await living.check(CHALLENGE)
    await living.check(EXPIRED)
    assert living.alarms == ["session_expired"] * 2


async def test_an_old_cookie_is_told_of_once(caplog: pytest.LogCaptureFixture) -> None:
    living = Living(cookie_max_age_seconds=168 * HOUR)
    at = living.clock.now()
    living.credentials.take(Held(Secret("T2"), 0, 1, at))
    await living.check(signed_in())
    assert not living.life.standing().cookie_old
    living.clock.seconds += 168 * HOUR
    for _ in range(3):
        await living.check(signed_in())
    standing = living.life.standing()
    assert standing.cookie_old
    assert standing.cookie_age_hours == pytest.approx(168, abs=0.1)
    assert living.alarms == ["cookie_old"]
    assert len([record for record in caplog.records if "is old" in record.message]) == 1
    living.credentials.take(Held(Secret("T3"), 0, 2, living.clock.now()))
    assert not living.life.standing().cookie_old
    living.clock.seconds += 169 * HOUR
    await living.check(signed_in())
    assert living.alarms == ["cookie_old"] * 2


async def test_a_plan_that_is_not_the_owners_word_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    living = Living(account_type="max")
    for _ in range(3):
        await living.check(signed_in())
    assert len([record for record in caplog.records if "ACCOUNT_TYPE" in record.message]) == 1
    same = Living(account_type="pro")
    caplog.clear()
    await same.check(signed_in())
    assert not [record for record in caplog.records if "ACCOUNT_TYPE" in record.message]


async def test_logs_and_alarms_tell_no_secret(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    living = Living(cookie="T-SECRET", spare="S-SECRET")
    for site in (signed_in("N-SECRET"), CHALLENGE, OUTAGE, EXPIRED):
        await living.check(site)
    with pytest.raises(GatewayError) as raised:
        await living.life.renew("P-SECRET")
    told = [str(vars(record)) for record in caplog.records] + living.said + [raised.value.message]
    assert len(told) > 5
    assert not [line for line in told if "SECRET" in line]


# intervals


async def test_a_good_word_is_trusted_until_the_next_check_is_due() -> None:
    living = Living()
    await living.check()
    living.clock.seconds += 6 * HOUR
    assert not await living.life.doubtful()
    living.clock.seconds += 300
    assert await living.life.doubtful()


@pytest.mark.parametrize("site", [CHALLENGE, OUTAGE])
async def test_no_clear_word_is_trusted_for_a_moment_only(site: Played) -> None:
    living = Living()
    await living.check(site)
    living.clock.seconds += 299
    assert not await living.life.doubtful()
    living.clock.seconds += 1
    assert await living.life.doubtful()


async def test_a_dead_session_is_asked_about_once_more_and_then_once_in_an_interval() -> None:
    living = Living()
    await living.check(EXPIRED)
    for _ in range(5):
        living.clock.seconds += 50
        with pytest.raises(SessionExpired):
            await living.life.doubtful()
    assert living.checks == 2
    living.clock.seconds += 110
    with pytest.raises(SessionExpired):
        await living.life.doubtful()
    assert living.checks == 3
    living.clock.seconds += 301
    living.answers(signed_in())
    assert not await living.life.doubtful()
    assert living.checks == 4


async def test_a_word_that_was_wrong_once_refuses_nothing() -> None:
    living = Living()
    for number in range(1, 4):
        await living.check(EXPIRED)
        living.clock.seconds += 1
        living.answers(signed_in())
        assert not await living.life.doubtful()
        assert living.checks == 2 * number


async def test_questions_at_once_look_again_once_whatever_they_find() -> None:
    living = Living()
    await living.check(EXPIRED)
    living.clock.seconds += 1
    found = await asyncio.gather(*(living.life.doubtful() for _ in range(10)), return_exceptions=True)
    assert {type(each) for each in found} == {SessionExpired}
    assert living.checks == 2


async def test_an_outage_after_the_word_is_not_asked_about_at_every_question() -> None:
    living = Living()
    await living.check(EXPIRED)
    living.answers(OUTAGE)
    for _ in range(5):
        living.clock.seconds += 1
        with pytest.raises(SessionExpired):
            await living.life.doubtful()
    assert living.checks == 2


async def test_of_two_workers_one_looks_again() -> None:
    keeper = Memory()
    one, other = Living(keeper=keeper), Living(EXPIRED, keeper=keeper)
    await one.check(EXPIRED)
    for living in (one, other):
        living.clock.seconds = one.clock.seconds + 1
        with pytest.raises(SessionExpired):
            await living.life.doubtful()
    assert (one.checks, other.checks) == (2, 0)


async def test_questions_at_once_share_one_check() -> None:
    living = Living()
    living.clock.seconds += 1
    await asyncio.gather(*(living.life.check(living.clock.now()) for _ in range(10)))
    assert living.checks == 1


async def test_a_wall_clock_that_is_set_back_makes_no_checks_without_end() -> None:
    living = Living()
    await living.check()
    living.clock.seconds -= 1000
    assert await living.life.doubtful()
    await living.life.check(living.clock.now() + 5000)
    assert living.checks <= 4


async def kept_alive(living: Living, clock: SleepingClock) -> None:
    task = asyncio.create_task(living.life.keep_alive())
    await clock.enough.wait()
    task.cancel()


async def test_it_is_kept_alive_at_start_and_at_every_interval() -> None:
    clock = SleepingClock(most=5)
    living = Living(clock=clock, keepalive_seconds=6 * HOUR)
    await kept_alive(living, clock)
    assert clock.slept == [6 * HOUR] * 5
    assert living.checks == 5


async def test_a_check_of_another_reason_moves_the_next_one() -> None:
    clock = SleepingClock(most=2, short_of=HOUR)  # an hour early, as if something else had just been checked
    living = Living(clock=clock, keepalive_seconds=6 * HOUR)
    await kept_alive(living, clock)
    assert clock.slept == [6 * HOUR, HOUR]
    assert living.checks == 1


async def test_without_a_cookie_nothing_is_kept_alive_until_there_is_one() -> None:
    clock = SleepingClock(most=3)
    living = Living(clock=clock, cookie=None)
    await kept_alive(living, clock)
    assert living.checks == 0


# the cookie


async def test_a_check_renews_the_cookie_and_the_next_one_uses_it() -> None:
    living = Living()
    await living.check(signed_in("T2"))
    await living.check(signed_in("T3"))
    await living.check(signed_in())
    assert living.sent == ["T", "T2", "T3"]
    assert living.credentials.version == 0


class Late(Memory):
    """The first reading comes before what another worker wrote."""

    readings = 0

    async def read(self) -> Shared:
        self.readings += 1
        return await super().read() if self.readings > 1 else Shared(None, None)


async def test_before_expired_is_concluded_the_store_is_read_again() -> None:
    """Another worker has renewed the cookie a moment ago, and the site knows only the newest."""
    living = Living(EXPIRED, keeper=Late())
    await living.keeper.renew(Secret("T2"), Held(Secret("T")))
    living.way_out.by_token["T2"] = signed_in()
    assert await living.check() == "valid"
    assert living.sent == ["T", "T2"]
    assert living.alarms == []


async def test_the_owners_variable_is_tried_once_where_the_kept_cookie_has_died() -> None:
    living = Living(EXPIRED, spare="V")
    living.way_out.by_token["V"] = signed_in()
    assert await living.check() == "valid"
    assert living.token == "V"
    assert living.credentials.version == 1
    assert living.alarms == []


async def test_a_variable_that_is_dead_too_changes_nothing() -> None:
    living = Living(EXPIRED, spare="V")
    assert await living.check() == "expired"
    assert await living.check() == "expired"
    assert living.sent == ["T", "V", "T"]
    assert living.token == "T"
    assert living.alarms == ["session_expired"] * 2


async def test_a_check_of_a_cookie_that_was_replaced_meanwhile_says_nothing_of_the_new_one() -> None:
    living = Living()
    gate = asyncio.Event()
    living.answers(Played([gate, b"{}"], headers=EXPIRED.headers))
    living.clock.seconds += 1
    checking = asyncio.create_task(living.life.check(living.clock.now()))
    await living.way_out.reached.wait()
    await living.credentials.replace(Secret("new"))
    living.answers(signed_in())
    gate.set()
    await checking
    assert living.life.standing().state == "valid"
    assert living.token == "new"
    assert living.alarms == []


# a new cookie from the owner


async def test_a_good_cookie_takes_the_old_ones_place_and_heals() -> None:
    living = Living(EXPIRED)
    await living.check()
    living.answers(signed_in("fresh2"))
    standing = await living.life.renew(f"{NAME}=fresh; other=1")
    assert (standing.state, standing.tier) == ("valid", "pro")
    assert living.sent[-1] == "fresh"
    assert living.token == "fresh2", "the check itself may renew it"
    assert living.credentials.version == 1
    assert not await living.life.doubtful()


@pytest.mark.parametrize(
    ("site", "kind", "words"),
    [
        (EXPIRED, CookieRefused, "signed in"),
        (CHALLENGE, SessionBlocked, "challenge"),
        (OUTAGE, UpstreamError, "could not say"),
        (None, UpstreamError, "could not say"),
    ],
)
async def test_a_cookie_that_is_not_good_changes_nothing(
    site: Played | None, kind: type[GatewayError], words: str
) -> None:
    living = Living()
    await living.check()
    living.answers(site)
    with pytest.raises(kind, match=words) as raised:
        await living.life.renew("fresh")
    assert "old one was kept" in raised.value.message
    assert living.token == "T"
    assert living.life.standing().state == "valid"
    assert living.alarms == []


async def test_what_is_no_cookie_is_not_asked_about() -> None:
    living = Living()
    with pytest.raises(InvalidRequest) as raised:
        await living.life.renew("two words")
    assert raised.value.param == "session_token"
    assert living.checks == 0


async def test_the_same_cookie_again_is_only_checked() -> None:
    living = Living(EXPIRED)
    await living.check()
    living.answers(signed_in())
    assert (await living.life.renew("T")).state == "valid"
    assert living.credentials.version == 0


async def test_the_first_cookie_of_all_may_be_given_while_it_runs() -> None:
    living = Living(cookie=None)
    await living.life.renew("first")
    assert living.life.present
    assert living.token == "first"
    living.life.refuse()


async def test_a_cookie_that_cannot_be_kept_is_an_error_and_not_in_use() -> None:
    class Full(Memory):
        async def give(self, token: Secret) -> Held:
            raise StoreUnavailable("full")

    living = Living(keeper=Full())
    with pytest.raises(StoreUnavailable):
        await living.life.renew("fresh")
    assert living.token == "T"


# other workers


async def test_what_another_worker_learned_is_used() -> None:
    keeper = Memory()
    one = Living(keeper=keeper)
    two = Living(keeper=keeper, clock=one.clock)
    await one.check(signed_in("T2"))
    await two.life.sync()
    assert two.token == "T2"
    assert two.life.standing().state == "valid"
    assert not await two.life.doubtful()
    one.answers(signed_in())
    await one.life.renew("fresh")
    await two.life.sync()
    assert (two.token, two.credentials.version) == ("fresh", 1)


async def test_a_check_waits_for_the_worker_whose_turn_it_is() -> None:
    class Busy(Memory):
        """Another worker checks, and has done so when it is looked at for the second time."""

        looked = 0

        async def take_turn(self) -> bool:
            return False

        async def read(self) -> Shared:
            self.looked += 1
            if self.looked == 2:
                await self.conclude(Record(version=0, state="valid", at=living.clock.now(), login="valid"))
            return await super().read()

    keeper = Busy()
    living = Living(keeper=keeper)
    assert await living.check() == "valid"
    assert living.checks == 0


async def test_a_worker_that_died_while_checking_is_not_waited_for_long() -> None:
    class Dead(Memory):
        async def take_turn(self) -> bool:
            return False

    living = Living(keeper=Dead())
    living.clock.factor = 1000  # so that waiting takes no time; the hand clock itself stands still
    assert await living.check() == "valid"
    assert living.checks == 1


async def test_a_store_that_fails_leaves_the_session_as_it_is_in_memory() -> None:
    class Broken(Memory):
        async def read(self) -> Shared:
            raise StoreUnavailable("broken")

    living = Living(keeper=Broken())
    assert await living.check(signed_in("T2")) == "valid"
    assert living.token == "T2"


async def test_closing_ends_a_check_under_way() -> None:
    living = Living(Played([asyncio.Event()]))
    living.life.start(living.clock.now())
    await living.way_out.reached.wait()
    await living.life.close()
    await living.life.close()
