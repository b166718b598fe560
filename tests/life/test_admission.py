"""No anonymous text is passed off as the plan's: the first answers wait for a check, and signs force a new one."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

import pytest

from pplx_gateway.answer import Answer, Batch
from pplx_gateway.errors import SessionExpired, UpstreamError
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.admission import Admission
from pplx_gateway.upstreams.session.cookies import NAME
from pplx_gateway.upstreams.session.failures import AnsweredStranger, CookieOutdated
from pplx_gateway.upstreams.session.login import SESSION_PATH
from tests.life.playing import CHALLENGE, EXPIRED, OUTAGE, signed_in
from tests.session.fakes import JSON, Played
from tests.session.stories import TEXT, completed, done, sse
from tests.session.test_request import model, question
from tests.session.test_upstream import ANONYMOUS, SECRET, TOLD_EARLY, WEAK, Site, story

# An anonymous answer of the automatic model bears no sign at all.
UNSIGNED = [completed(done(["A stranger's ", "answer."]), display_model="turbo", user_selected_model="pplx_pro")]


def unchecked(*answers: Played, site: Played | None, **options: Any) -> Site:
    return Site(*answers, pages={SESSION_PATH: site} if site else {}, checked=False, **options)


async def collected(batches: AsyncGenerator[Batch, None], into: Answer) -> None:
    async with aclosing(batches):
        async for batch in batches:
            into.collect(batch)


async def test_the_first_question_is_sent_at_once_and_a_check_runs_beside_it() -> None:
    site = unchecked(story(), story(), site=signed_in())
    assert (await site.answer()).text == TEXT
    assert (await site.answer()).text == TEXT
    assert site.way_out.paths() == [SESSION_PATH], "one check an interval, not one a question"


async def test_an_anonymous_first_answer_without_any_sign_is_not_shown() -> None:
    text, error = await unchecked(story(UNSIGNED), site=EXPIRED).error(name="auto")
    assert (text, type(error)) == ("", SessionExpired)


async def test_nothing_is_shown_before_the_check_is_known() -> None:
    known = asyncio.Event()
    site = unchecked(story(), site=Played([known, *signed_in().parts], headers=JSON))
    answer = Answer()
    asking = asyncio.create_task(collected(site.upstream.ask(question(), model(), "anna"), answer))
    await asyncio.wait({asking}, timeout=0.05)
    assert not asking.done()
    assert (answer.text, len(site.way_out.asked)) == ("", 1)
    known.set()
    await asking
    assert answer.text == TEXT


async def test_a_check_that_does_not_end_holds_the_answer_only_so_long() -> None:
    site = unchecked(story(), site=Played([asyncio.Event()], headers=JSON), hold_seconds=0.01)
    assert (await site.answer()).text == TEXT
    await site.upstream.close()


@pytest.mark.parametrize("page", [CHALLENGE, OUTAGE, None])
async def test_a_site_that_cannot_tell_stops_no_answer(page: Played | None) -> None:
    site = unchecked(story(), story(), site=page)
    assert (await site.answer()).text == TEXT
    assert (await site.answer()).text == TEXT
    assert site.way_out.paths() == [SESSION_PATH]


async def test_a_first_answer_in_one_json_body_waits_too() -> None:
    body = sse(UNSIGNED[0]).removeprefix("event: message\r\ndata: ").strip().encode()
    text, error = await unchecked(Played([body], headers=JSON), site=EXPIRED).error(name="auto")
    assert (text, type(error)) == ("", SessionExpired)


@pytest.mark.parametrize("frames", [ANONYMOUS, TOLD_EARLY])
async def test_a_sign_that_is_newer_than_the_check_forces_a_new_one(frames: Sequence[Any]) -> None:
    site = Site(story(frames), pages={SESSION_PATH: EXPIRED})
    text, error = await site.error()
    assert type(error) is SessionExpired
    assert "Anonymous" not in text or frames is ANONYMOUS
    assert site.way_out.paths() == [SESSION_PATH]


async def test_questions_under_way_together_share_the_check_that_their_signs_force() -> None:
    """And a word from just before they were sent counts for none of them."""
    site = Site(*(story(TOLD_EARLY) for _ in range(20)), pages={SESSION_PATH: signed_in()})
    await site.life.check(site.clock.now())
    site.clock.seconds += 1
    failed = await asyncio.gather(*(site.error() for _ in range(20)))
    assert {(text, type(error)) for text, error in failed} == {("", AnsweredStranger)}
    assert site.way_out.paths() == [SESSION_PATH] * 2


async def test_the_check_beside_the_question_answers_for_its_signs_as_well() -> None:
    site = unchecked(story(ANONYMOUS), site=EXPIRED)
    assert type((await site.error())[1]) is SessionExpired
    assert site.way_out.paths() == [SESSION_PATH]


async def test_a_refusal_of_strangers_leads_to_a_check_too() -> None:
    refused = Played([b'{"error": "no"}'], status=401, headers=JSON)
    site = Site(refused, story(), pages={SESSION_PATH: EXPIRED})
    assert type((await site.error())[1]) is SessionExpired
    assert site.life.standing().state == "expired"
    assert type((await site.error())[1]) is SessionExpired
    assert len(site.way_out.asked) == 1


async def test_an_answer_for_a_cookie_that_was_renewed_meanwhile_is_asked_for_again() -> None:
    """By another worker, so that this one asked with the cookie before."""
    early = Played([sse(frame).encode() for frame in TOLD_EARLY])
    site = Site(early, story(), pages={SESSION_PATH: signed_in()})
    held = site.credentials.held
    assert held is not None
    await site.life.sync()
    await site.keeper.renew(Secret("T2"), held)
    assert (await site.answer()).text == TEXT
    sent = [outgoing.headers["cookie"] for outgoing in site.way_out.asked]
    assert sent == [f"{NAME}={SECRET}", f"{NAME}=T2"]


async def test_what_was_shown_already_is_not_asked_for_again() -> None:
    late = Played([sse(frame).encode() for frame in ANONYMOUS])
    site = Site(late, story(), pages={SESSION_PATH: signed_in()})
    held = site.credentials.held
    assert held is not None
    await site.life.sync()
    await site.keeper.renew(Secret("T2"), held)
    text, error = await site.error()
    assert (text, type(error)) == ("Anonymous ", CookieOutdated)
    assert isinstance(error, UpstreamError)
    assert len(site.way_out.asked) == 1


async def test_an_answer_that_renews_the_cookie_itself_is_no_such_case() -> None:
    renewing = Played(story(WEAK).parts, headers=(*story().headers, ("set-cookie", f"{NAME}=T2; Path=/")))
    site = Site(renewing, pages={SESSION_PATH: signed_in()})
    finished = (await site.answer()).finished
    assert finished is not None
    assert finished.substituted_by == "turbo"
    assert site.credentials.cookie() == f"{NAME}=T2"


async def test_a_renewal_for_an_earlier_cookie_than_the_owners_is_dropped() -> None:
    """The owner gives a cookie of another account while an answer for the old one is on its way."""
    site = Site()
    admission = await Admission.begin(site.life, site.credentials, site.clock, 1.0)
    admission.sending()
    await site.credentials.replace(Secret("given"))
    await admission.answered(Headers((("set-cookie", f"{NAME}=OLD2; Path=/"),)))
    assert site.credentials.cookie() == f"{NAME}=given"
