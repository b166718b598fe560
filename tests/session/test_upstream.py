"""The session upstream against a scripted site: questions out, batches in."""

import asyncio
import json
import logging
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import pytest

from pplx_gateway.answer import Answer, Batch, Finished, Started, TextDelta
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Model
from pplx_gateway.errors import (
    EmptyAnswer,
    GatewayError,
    InvalidRequest,
    RateLimited,
    SessionBlocked,
    SessionExpired,
    UpstreamError,
    UpstreamTimeout,
    UpstreamTruncated,
)
from pplx_gateway.question import Question, Search
from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Timeouts
from pplx_gateway.upstreams import Upstream
from pplx_gateway.upstreams.session.cookies import NAME, Credentials
from pplx_gateway.upstreams.session.download import MISSING
from pplx_gateway.upstreams.session.failures import (
    AnsweredStranger,
    AnswerFailed,
    AnswerRewritten,
    FreeTierLimited,
    SignInAsked,
)
from pplx_gateway.upstreams.session.keeping import Memory, Record
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.login import SESSION_PATH, Login
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.threads import Handle, Threads
from pplx_gateway.upstreams.session.upstream import SessionUpstream
from tests.session.fakes import (
    BROKEN,
    HTML,
    JSON,
    SIGNED_IN,
    SIGNED_OUT,
    SSE,
    DictStore,
    FakeTransport,
    HandClock,
    Played,
    cut,
)
from tests.session.stories import (
    CHUNKS,
    FORM_E,
    FORMS,
    TEXT,
    THREAD,
    URLS,
    W_BASE,
    completed,
    diff,
    done,
    markdown,
    op,
    pending,
    sse,
    wire,
)
from tests.session.test_findings import PICTURE, QUESTIONS, pro_steps
from tests.session.test_request import assistant, model, question, system, user

SECRET = "T-SECRET-0123456789"
VALID = Played([SIGNED_IN], headers=JSON)
EXPIRED = Played([SIGNED_OUT], headers=JSON)
BLOCKED = Played([b"<html>"], status=403, headers=HTML)
THREAD_PATH = "/rest/thread/slug-1"
FAILED = {"backend_uuid": "b-2", "status": "FAILED", "error_code": "GENERIC_FAILED_RESPONSE", "final_sse_message": True}


class Site:
    """An upstream and everything around it."""

    def __init__(
        self, *answers: Played, pages: dict[str, Played] | None = None, checked: bool = True, **options: Any
    ) -> None:
        """`checked`: the login was good a moment ago, so that no check runs beside the first question."""
        self.clock = HandClock()
        self.way_out = FakeTransport(self.clock, *answers, pages=pages)
        at = self.clock.now()
        self.keeper = Memory(Record(version=0, state="valid", at=at, login="valid") if checked else None)
        self.clock.seconds += 1
        self.credentials = Credentials(Secret(SECRET), self.keeper)
        self.store = DictStore()
        chosen = SessionOptions(**options)
        self.life = Life(Login(self.way_out, chosen), self.credentials, self.clock, chosen, keeper=self.keeper)
        self.upstream = SessionUpstream(
            self.way_out, self.clock, self.credentials, Threads(self.store, b"secret"), chosen, life=self.life
        )

    async def batches(self, asked: Question | None = None, name: str = "gpt", caller: str = "anna") -> list[Batch]:
        async with aclosing(self.upstream.ask(asked or question(), model(name), caller)) as batches:
            return [batch async for batch in batches]

    async def answer(self, asked: Question | None = None, name: str = "gpt", **more: Any) -> Answer:
        collected = Answer()
        for batch in await self.batches(asked, name, **more):
            collected.collect(batch)
        assert collected.finished is not None
        return collected

    async def error(self, asked: Question | None = None, name: str = "gpt") -> tuple[str, GatewayError]:
        """The text that came out, and the error after it."""
        collected = Answer()
        with pytest.raises(GatewayError) as raised:
            await self._collect(asked or question(), model(name), collected)
        assert collected.finished is None
        return collected.text, raised.value

    async def _collect(self, asked: Question, chosen: Model, collected: Answer) -> None:
        async with aclosing(self.upstream.ask(asked, chosen, "anna")) as batches:
            async for batch in batches:
                collected.collect(batch)


def story(frames: Sequence[Any] = W_BASE, *, end: bool = True, **more: Any) -> Played:
    return Played([wire(frames, end=end)], **more)


def test_it_is_an_upstream() -> None:
    upstream: Upstream = Site().upstream
    assert upstream.name == "session"


async def test_the_base_story_comes_in_one_batch_a_read() -> None:
    site = Site(Played([*(sse(frame).encode() for frame in W_BASE), sse({}, name="end_of_stream").encode()]))
    batches = await site.batches()
    assert len(batches) == len(W_BASE)
    assert isinstance(batches[0][0], Started)
    assert [event.text for batch in batches for event in batch if isinstance(event, TextDelta)] == CHUNKS
    assert isinstance(batches[-1][-1], Finished)


@pytest.mark.parametrize("form", FORMS)
async def test_every_form_arrives(form: str) -> None:
    assert (await Site(story(FORMS[form])).answer()).text == TEXT


async def test_the_wire_may_be_cut_anywhere() -> None:
    data = wire(W_BASE)
    for size in (1, 7, 100, 1000):
        assert (await Site(Played(list(cut(data, size)))).answer()).text == TEXT


async def test_text_is_cleaned_on_the_way() -> None:
    parts = ["<response>The Leie <grok:ren", "der x='1'>junk</grok:render>flows.", "</respon", "se> <b"]
    frames = [pending(markdown([part], place)) for place, part in enumerate(parts)]
    answer = await Site(story([*frames, completed(done(parts))])).answer()
    assert answer.text == "The Leie flows. <b"


async def test_an_answer_of_artefacts_alone_is_empty() -> None:
    _, error = await Site(story([completed(done(["<grok:x/>"]))])).error()
    assert type(error) is EmptyAnswer


async def test_usage_is_an_estimate_without_a_cost() -> None:
    usage = (await Site(story()).answer(question(user("x" * 41)))).finished
    assert usage is not None
    assert usage.usage is not None
    assert (usage.usage.input_tokens, usage.usage.output_tokens) == (11, 9)
    assert usage.usage.estimated
    assert usage.usage.cost is None


async def test_images_and_related_questions_come_only_if_they_were_asked_for() -> None:
    frames = [completed(done(["So."]), media_items=[PICTURE], related_queries=["And?"])]
    plain = await Site(story(frames)).answer()
    assert (plain.images, plain.related_questions) == ([], [])
    wish = Search(images=True, image_formats=("png",), related_questions=True)
    rich = await Site(story(frames)).answer(question(search=wish))
    assert len(rich.images) == 1
    assert rich.related_questions == ["And?"]
    gif = await Site(story(frames)).answer(question(search=Search(images=True, image_formats=("gif",))))
    assert gif.images == []


async def test_warnings_come_before_the_text() -> None:
    site = Site(story())
    batches = await site.batches(question(system("You are Ada."), user("One?")))
    names = [type(event).__name__ for batch in batches for event in batch]
    assert names.index("Warned") < names.index("TextDelta")
    assert names.count("Warned") == 1


# what is sent


async def test_the_question_is_sent_as_the_page_sends_it() -> None:
    site = Site(story())
    await site.batches()
    (sent,) = site.way_out.asked
    assert sent.method == "POST"
    assert sent.url == "https://www.perplexity.ai/rest/sse/perplexity_ask"
    body = json.loads(sent.body or b"")
    assert dict(sent.headers) == {
        "accept": "text/event-stream",
        "accept-language": "en-US,en;q=0.9",
        "origin": "https://www.perplexity.ai",
        "referer": "https://www.perplexity.ai/",
        "priority": "u=1, i",
        "sec-fetch-dest": "empty",
        "sec-fetch-mode": "cors",
        "sec-fetch-site": "same-origin",
        "x-app-apiclient": "default",
        "x-app-apiversion": "2.18",
        "x-perplexity-request-endpoint": "https://www.perplexity.ai/rest/sse/perplexity_ask",
        "x-perplexity-request-reason": "ask-query-state-provider",
        "x-perplexity-request-try-number": "1",
        "cookie": f"{NAME}={SECRET}",
        "content-type": "application/json",
        "x-request-id": body["params"]["frontend_uuid"],
    }
    assert sent.timeouts == Timeouts(connect=10, first_byte=120, idle=120)


async def test_research_may_be_silent_for_longer() -> None:
    site = Site(story(), story(), research_seconds=900.0)
    await site.batches(name="deep-research")
    assert site.way_out.asked[0].timeouts == Timeouts(connect=10, first_byte=900, idle=900)


async def test_the_address_is_a_setting() -> None:
    site = Site(story(), base_url="http://127.0.0.1:8080/")
    await site.batches()
    assert site.way_out.asked[0].url == "http://127.0.0.1:8080/rest/sse/perplexity_ask"
    assert site.way_out.asked[0].headers["origin"] == "http://127.0.0.1:8080"


async def test_a_bad_question_is_refused_before_anything_is_sent() -> None:
    site = Site()
    _, error = await site.error(question(user("One?"), assistant("One.")))
    assert type(error) is InvalidRequest
    _, error = await site.error(question(user("x" * 96_001)))
    assert "96001" in error.message
    assert site.way_out.asked == []


async def test_without_a_cookie_nothing_is_sent() -> None:
    site = Site()
    site.upstream = SessionUpstream(site.way_out, site.clock, Credentials(None))
    assert type((await site.error())[1]) is SessionExpired
    assert site.way_out.asked == []


# the cookie


async def test_a_renewed_cookie_is_used_for_the_next_question() -> None:
    renewing = (*SSE, ("set-cookie", f"{NAME}=NEW; Path=/; Secure; HttpOnly"))
    site = Site(story(headers=renewing), story())
    await site.batches()
    await site.batches()
    assert site.way_out.asked[1].headers["cookie"] == f"{NAME}=NEW"


@pytest.mark.parametrize("status", [403, 500, 301])
async def test_a_refusal_never_changes_the_cookie(status: int) -> None:
    for line in (f"{NAME}=NEW", f"{NAME}=; Max-Age=0"):
        site = Site(Played([b"<html>"], status=status, headers=(*HTML, ("set-cookie", line))))
        await site.error()
        assert site.credentials.cookie() == f"{NAME}={SECRET}"


# refusals


@pytest.mark.parametrize("status", [200, 403])
async def test_a_challenge_page_is_told_once_and_touches_nothing(status: int) -> None:
    page = b"<!DOCTYPE html><title>Just a moment...</title>"
    site = Site(Played([page], status=status, headers=(*HTML, ("cf-mitigated", "challenge"))))
    text, error = await site.error()
    assert (text, type(error)) == ("", SessionBlocked)
    assert len(site.way_out.asked) == 1
    assert site.way_out.looked_up == []


async def test_a_page_under_the_name_of_a_stream_is_known_by_its_bytes() -> None:
    site = Site(Played([b"\r\n", b"<!DOCTYPE html><title>Just a", b" moment...</title>"]))
    assert type((await site.error())[1]) is SessionBlocked
    assert type((await Site(Played([b"<html>Hello"])).error())[1]) is UpstreamError


async def test_throttling_keeps_its_hint() -> None:
    _, error = await Site(Played([b"{}"], status=429, headers=(*JSON, ("retry-after", "3")))).error()
    assert isinstance(error, RateLimited)
    assert error.retry_after == 3


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"status": "FAILED", "error_message": "odd", "final_sse_message": true}', AnswerFailed),
        (b'{"error": {"message": "odd"}}', UpstreamError),
        (b'{"error_code": "RATE_LIMITED", "error_message": "odd"}', RateLimited),
        (b'{"detail": "odd"}', UpstreamError),
        (b"[]", UpstreamError),
        (b"", UpstreamError),
    ],
)
async def test_json_in_place_of_a_stream_is_an_error(body: bytes, kind: type[GatewayError]) -> None:
    _, error = await Site(Played([body], headers=JSON)).error()
    assert isinstance(error, kind)
    assert b"odd" not in body or "odd" in error.message


async def test_a_whole_answer_in_one_json_body_is_an_answer() -> None:
    body = json.dumps(completed(done(CHUNKS, answer=TEXT))).encode()
    assert (await Site(Played([body], headers=JSON)).answer()).text == TEXT


async def test_the_sites_words_never_hold_the_cookie() -> None:
    frame = {**FAILED, "error_message": f"bad cookie {SECRET}"}
    _, error = await Site(story([frame])).error()
    assert SECRET not in error.message
    assert "bad cookie" in error.message


# ends


async def test_a_stream_without_a_verdict_is_truncated_and_not_repeated() -> None:
    site = Site(story(W_BASE[:4], end=False))
    text, error = await site.error()
    assert text == "".join(CHUNKS[:2])
    assert type(error) is UpstreamTruncated
    assert len(site.way_out.asked) == 1


async def test_a_broken_connection_is_truncated_too() -> None:
    text, error = await Site(Played([wire(W_BASE[:4], end=False), BROKEN])).error()
    assert (text, error) == ("".join(CHUNKS[:2]), BROKEN)


async def test_a_connection_that_breaks_after_completed_is_whole() -> None:
    last = {**W_BASE[-1], "final_sse_message": False}
    site = Site(Played([wire([*W_BASE[:-1], last], end=False), BROKEN]))
    assert (await site.answer()).text == TEXT


async def test_nothing_at_all_is_an_empty_answer() -> None:
    assert type((await Site(Played([])).error())[1]) is EmptyAnswer


async def test_a_stream_that_stays_open_is_left_at_its_end() -> None:
    site = Site(Played([wire(W_BASE), sse(completed(done(["More"]))).encode()]))
    assert (await site.answer()).text == TEXT


async def test_a_finished_response_is_read_to_its_end_so_that_its_connection_can_serve_again() -> None:
    site = Site(Played([wire(W_BASE, end=False), sse({}, name="end_of_stream").encode(), b": bye\n"]))
    await site.batches()
    assert site.way_out.left[0].exhausted


async def test_leaving_aborts_the_transfer_at_once() -> None:
    site = Site(Played([wire(W_BASE[:3], end=False), wire(W_BASE[3:])]))
    answers = site.upstream.ask(question(), model(), "anna")
    await anext(answers)
    await answers.aclose()
    assert len(site.way_out.left) == 1
    assert not site.way_out.left[0].exhausted


async def test_cancelling_while_the_site_is_silent_aborts_too() -> None:
    site = Site(Played([wire(W_BASE[:1], end=False), asyncio.Event()]))
    answers = site.upstream.ask(question(), model(), "anna")
    await anext(answers)
    task = asyncio.create_task(anext(answers))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(site.way_out.left) == 1
    assert not site.way_out.left[0].exhausted


async def test_pings_do_not_keep_a_silent_answer_alive() -> None:
    pings = [part for _ in range(10) for part in (15.0, b": ping\n\nevent: ping\ndata: {}\n\n")]
    text, error = await Site(Played([wire(W_BASE[:3], end=False), *pings])).error()
    assert text == CHUNKS[0]
    assert type(error) is UpstreamTimeout


async def test_frames_keep_an_answer_alive_however_long_it_takes() -> None:
    parts = [part for frame in W_BASE for part in (100.0, sse(frame).encode())]
    assert (await Site(Played(parts)).answer()).text == TEXT


async def test_research_may_ping_for_nine_minutes() -> None:
    pings = [part for _ in range(36) for part in (15.0, b": ping\n\n")]
    site = Site(Played([wire(W_BASE[:3], end=False), *pings, wire(W_BASE[3:])]))
    assert (await site.answer(name="deep-research")).text == TEXT


async def test_close_closes_the_way_out() -> None:
    site = Site()
    await site.upstream.close()
    assert site.way_out.closed


# logged out

ANONYMOUS = [
    pending(display_model="turbo"),
    pending(markdown(["Anonymous "], 0)),
    completed(done(["Anonymous ", "answer."]), display_model="turbo", user_selected_model="turbo"),
]
WEAK = [completed(done(["Weak ", "answer."]), display_model="turbo", user_selected_model="gpt56_terra")]
UNTOLD = [completed(done(["Weak ", "answer."]), display_model="turbo", user_selected_model=None)]
TOLD_EARLY = [pending(user_selected_model="turbo", display_model="turbo"), *ANONYMOUS[1:]]


async def test_an_anonymous_answer_is_an_expired_session() -> None:
    site = Site(story(ANONYMOUS), pages={SESSION_PATH: EXPIRED})
    _, error = await site.error()
    assert type(error) is SessionExpired
    assert "PPLX_COOKIE" in error.message
    assert len(site.way_out.asked) == 1


async def test_an_anonymous_answer_in_one_json_body_is_one_too() -> None:
    body = json.dumps(ANONYMOUS[-1]).encode()
    _, error = await Site(Played([body], headers=JSON), pages={SESSION_PATH: EXPIRED}).error()
    assert type(error) is SessionExpired


@pytest.mark.parametrize("name", ["gpt", "auto", "deep-research"])
async def test_an_early_sign_stops_the_text_before_it_is_passed_on(name: str) -> None:
    parts = [sse(frame).encode() for frame in TOLD_EARLY]
    text, error = await Site(Played(parts), pages={SESSION_PATH: EXPIRED}).error(name=name)
    assert (text, type(error)) == ("", SessionExpired)


async def test_an_expired_session_is_asked_about_once_more_and_then_refused_at_once() -> None:
    site = Site(story(ANONYMOUS), story(), pages={SESSION_PATH: EXPIRED})
    for _ in range(3):
        assert type((await site.error())[1]) is SessionExpired
        site.clock.seconds += 1
    assert len(site.way_out.asked) == 1
    assert site.way_out.paths() == [SESSION_PATH] * 2, "for the answer, and once more for the next question"
    site.clock.seconds += 301
    await site.error()
    assert len(site.way_out.asked) == 1, "the site is asked about the login first"
    assert site.way_out.paths() == [SESSION_PATH] * 3
    site.clock.seconds += 301
    site.way_out.pages[SESSION_PATH] = VALID
    assert (await site.answer()).text == TEXT


async def test_a_renewed_cookie_is_tried_at_once() -> None:
    site = Site(story(ANONYMOUS), story(), pages={SESSION_PATH: EXPIRED})
    await site.error()
    await site.credentials.replace(Secret("fresh"))
    site.way_out.pages[SESSION_PATH] = VALID
    assert (await site.answer()).text == TEXT


@pytest.mark.parametrize("page", [VALID, BLOCKED])
async def test_an_answer_that_the_site_calls_a_strangers_is_never_shown(page: Played) -> None:
    """Whatever the site says of the session meanwhile, and however often it has just said it."""
    site = Site(story(TOLD_EARLY), story(TOLD_EARLY), story(TOLD_EARLY), pages={SESSION_PATH: page})
    for name in ("gpt", "opus", "gpt"):
        text, error = await site.error(name=name)
        assert (text, type(error), error.retry) == ("", AnsweredStranger, False)
        site.clock.seconds += 1
    assert site.way_out.paths() == [SESSION_PATH] * 3


@pytest.mark.parametrize("page", [VALID, BLOCKED])
async def test_a_weak_answer_to_somebody_is_a_substitution(page: Played) -> None:
    """The site tells to whom it answered: it knows what was selected."""
    site = Site(story(WEAK), pages={SESSION_PATH: page})
    finished = (await site.answer()).finished
    assert finished is not None
    assert (finished.served_model, finished.substituted_by) == ("turbo", "turbo")
    assert site.way_out.paths() == [SESSION_PATH]


async def test_where_the_choice_is_the_sites_its_word_on_the_session_decides() -> None:
    """Perhaps it chose what strangers get, for a free account, say."""
    good = (await Site(story(TOLD_EARLY), pages={SESSION_PATH: VALID}).answer(name="auto")).finished
    assert good is not None
    assert good.served_model == "turbo"
    unclear = Site(story(TOLD_EARLY), pages={SESSION_PATH: BLOCKED})
    assert type((await unclear.error(name="auto"))[1]) is AnsweredStranger


async def test_an_answer_that_tells_too_little_stands_by_the_sites_word_on_the_session() -> None:
    good = (await Site(story(UNTOLD), pages={SESSION_PATH: VALID}).answer()).finished
    assert good is not None
    assert (good.served_model, good.substituted_by) == (None, None)
    assert type((await Site(story(UNTOLD), pages={SESSION_PATH: BLOCKED}).error())[1]) is AnsweredStranger
    assert type((await Site(story(UNTOLD), pages={SESSION_PATH: EXPIRED}).error())[1]) is SessionExpired


async def test_a_free_answer_of_the_automatic_model_is_not_checked() -> None:
    frames = [completed(done(["So."]), display_model="turbo", user_selected_model="pplx_pro")]
    site = Site(story(frames))
    await site.answer(name="auto")
    assert site.way_out.looked_up == []


@pytest.mark.parametrize(
    ("frame", "otherwise"),
    [
        ({"status": "failed", "error_code": "FREE_TIER_RATE_LIMITED", "final_sse_message": True}, FreeTierLimited),
        (pending(upsell_information={"name": "fraud_authwall_upsell"}), SignInAsked),
    ],
)
async def test_walls_for_strangers_ask_whether_the_session_lives(frame: Any, otherwise: type[GatewayError]) -> None:
    assert type((await Site(story([frame]), pages={SESSION_PATH: EXPIRED}).error())[1]) is SessionExpired
    assert type((await Site(story([frame]), pages={SESSION_PATH: VALID}).error())[1]) is otherwise


# threads

SECOND = question(user("One?"), assistant("The answer."), user("Two?"))


async def remembering(site: Site, caller: str = "anna") -> None:
    """Asks the first question and keeps its thread, as the gateway does."""
    first = question(user("One?"))
    finished = (await site.answer(first, caller=caller)).finished
    assert finished is not None
    assert isinstance(finished.continuation, Handle)
    await site.upstream.remember(first, model(), caller, "The answer.", finished.continuation)


async def test_a_plain_follow_up_goes_on_in_its_thread() -> None:
    site = Site(story(), story())
    await remembering(site)
    assert (await site.answer(SECOND)).text == TEXT
    sent = site.way_out.bodies()[1]
    assert sent["query_str"] == "Two?"
    assert sent["params"]["last_backend_uuid"] == "b-1"
    assert sent["params"]["read_write_token"] == "rw-1"
    assert sent["params"]["query_source"] == "followup"


async def test_another_caller_sends_the_whole_conversation() -> None:
    site = Site(story(), story())
    await remembering(site, caller="bert")
    await site.answer(SECOND)
    sent = site.way_out.bodies()[1]
    assert json.loads(sent["query_str"])["query"] == "Two?"
    assert sent["params"]["last_backend_uuid"] is None


@pytest.mark.parametrize(
    "stale",
    [
        story([FAILED]),
        story([pending(), FAILED]),
        Played([sse(pending()).encode(), sse(FAILED).encode()]),
        story([{"status": "FAILED", "final": True, "final_sse_message": True}]),
        Played([b'{"error_code": "ENTRY_EXPIRED"}'], status=400, headers=JSON),
    ],
)
async def test_a_stale_thread_is_asked_anew_with_everything(stale: Played) -> None:
    site = Site(story(), stale, story())
    await remembering(site)
    answer = await site.answer(SECOND)
    assert answer.text == TEXT
    assert len(site.way_out.asked) == 3
    sent = site.way_out.bodies()[2]
    assert json.loads(sent["query_str"])["history"][1]["content"] == "The answer."
    assert sent["params"]["last_backend_uuid"] is None


async def test_a_stale_thread_is_retried_once() -> None:
    site = Site(story(), story([FAILED]), story([FAILED]))
    await remembering(site)
    assert type((await site.error(SECOND))[1]) is AnswerFailed
    assert len(site.way_out.asked) == 3


async def test_a_failure_after_text_is_not_retried() -> None:
    site = Site(story(), Played([sse(pending(markdown(["Some "]))).encode(), sse(FAILED).encode()]))
    await remembering(site)
    text, error = await site.error(SECOND)
    assert (text, type(error)) == ("Some ", AnswerFailed)
    assert len(site.way_out.asked) == 2


async def test_a_new_thread_that_fails_is_not_retried() -> None:
    site = Site(story([FAILED]))
    await site.error()
    assert len(site.way_out.asked) == 1


async def test_other_failures_of_a_follow_up_are_not_retried() -> None:
    site = Site(story(), Played([b""], status=500))
    await remembering(site)
    await site.error(SECOND)
    assert len(site.way_out.asked) == 2


async def test_a_foreign_continuation_is_not_kept() -> None:
    site = Site()
    await site.upstream.remember(question(), model(), "anna", "text", object())
    assert site.store.kept == {}


# what the stream did not hold


async def test_a_thread_is_read_back_where_the_stream_held_no_text() -> None:
    page = Played([json.dumps(THREAD).encode()], headers=JSON)
    site = Site(story(FORM_E), pages={THREAD_PATH: page})
    answer = await site.answer()
    assert answer.text == TEXT
    assert list(answer.sources) == [1, 2]
    (read,) = site.way_out.looked_up
    assert "with_schematized_response=true" in read.url
    assert "version=2.18" in read.url
    assert read.headers["x-perplexity-request-reason"] == "thread-body"


@pytest.mark.parametrize(
    "page",
    [
        None,
        Played([b"{}"], status=404, headers=JSON),
        Played([b"<html>"], headers=HTML),
        Played([b'{"entries": null}'], headers=JSON),
        Played([b'{"entries": [5, {"backend_uuid": "another", "status": "COMPLETED", "text": "Not mine."}]}']),
        Played([b'{"entries": [{"backend_uuid": "b-1", "status": "PENDING", "text": "Half."}]}'], headers=JSON),
        Played([b'{"entries": [{"backend_uuid": "b-1", "status": "COMPLETED"}]}'], headers=JSON),
    ],
)
async def test_a_thread_that_cannot_be_read_leaves_an_empty_answer(page: Played | None) -> None:
    site = Site(story(FORM_E), pages={THREAD_PATH: page} if page else {})
    assert type((await site.error())[1]) is EmptyAnswer


async def test_a_missing_piece_is_read_back_too() -> None:
    lost = diff("ask_text", None, op("replace", "", {"chunks": ["The Leie[1]"]}), op("add", "/chunks/q", "?"))
    frames = [pending(lost), completed()]
    site = Site(story(frames), pages={THREAD_PATH: Played([json.dumps(THREAD).encode()], headers=JSON)})
    assert (await site.answer()).text == TEXT
    assert type((await Site(story(frames)).error())[1]) is UpstreamTruncated


INTRO = done(["Here is your report."])
RESEARCHED = {"display_model": "pplx_alpha", "user_selected_model": "pplx_alpha"}
REPORTED = {
    "intended_usage": "unified_assets",
    "unified_assets_block": {"assets": [{"research_report": {"source_content": "# Report"}}]},
}


async def test_a_research_without_its_report_looks_for_it_in_the_thread() -> None:
    entry = {"backend_uuid": "b-1", "status": "COMPLETED", "blocks": [done(["x"], answer="The cover!"), None, REPORTED]}
    page = Played([json.dumps({"entries": [entry]}).encode()], headers=JSON)
    cover = [pending(markdown(["The cover."])), completed(**RESEARCHED)]
    with_page = await Site(story(cover), pages={THREAD_PATH: page}).answer(name="deep-research")
    assert with_page.text == "The cover.\n\n# Report"
    assert (await Site(story(cover)).answer(name="deep-research")).text == "The cover."


async def test_a_research_with_its_report_reads_no_thread() -> None:
    site = Site(story([completed(INTRO, REPORTED, **RESEARCHED)]))
    assert (await site.answer(name="deep-research")).text == "Here is your report.\n\n# Report"
    assert site.way_out.looked_up == []


async def test_an_end_without_any_text_looks_for_the_thread_by_its_entry() -> None:
    site = Site(story(W_BASE[:2]))
    assert type((await site.error())[1]) is EmptyAnswer
    assert site.way_out.paths() == ["/rest/thread/b-1"]


def report_story(url: str) -> Played:
    assets = [{"asset_type": "DOC_FILE", "download_info": [{"url": url, "filename": "report.md"}]}]
    block = {"intended_usage": "assets_answer_mode", "assets_mode_block": {"assets": assets}}
    return story([pending(markdown(["Here is your report."])), completed(INTRO, block, **RESEARCHED)])


async def test_a_report_is_fetched_and_follows_its_introduction() -> None:
    url = "https://bucket.s3.amazonaws.com/r/report.md?sig=1"
    body = "# Report\n\n" + "word " * 3000
    site = Site(report_story(url), pages={"/r/report.md": Played(list(cut(body.encode(), 1000)), headers=())})
    answer = await site.answer(name="deep-research")
    assert answer.text == f"Here is your report.\n\n{body}"
    assert answer.warnings == []
    (fetched,) = site.way_out.looked_up
    assert fetched.url == url
    assert "cookie" not in fetched.headers


@pytest.mark.parametrize(
    "page",
    [
        None,
        Played([b"gone"], status=404, headers=()),
        Played([b""], headers=()),
        Played([b"<html>Expired"], headers=()),
        Played([b"\xff\xfe\x00"], headers=()),
        Played([b"x" * (1 << 20)] * 5, headers=()),
        Played([BROKEN], headers=()),
    ],
)
async def test_a_report_that_cannot_be_fetched_is_a_warning(page: Played | None) -> None:
    url = "https://bucket.s3.amazonaws.com/report.md"
    answer = await Site(report_story(url), pages={"/report.md": page} if page else {}).answer(name="deep-research")
    assert answer.text == "Here is your report."
    assert answer.warnings == [MISSING]


@pytest.mark.parametrize(
    "url",
    [
        "http://bucket.s3.amazonaws.com/report.md",
        "https://amazonaws.com.evil.example/report.md",
        "https://evilamazonaws.com/report.md",
        "https://bucket.s3.amazonaws.com:8443/report.md",
        "https://user@bucket.s3.amazonaws.com/report.md",
        "https://127.0.0.1/report.md",
        "https://169.254.169.254/report.md",
        "https://[::1/report.md",
        "file:///etc/passwd.md",
        "https://www.perplexity.ai.evil.example/report.md",
    ],
)
async def test_a_report_elsewhere_is_never_fetched(url: str) -> None:
    site = Site(report_story(url))
    assert (await site.answer(name="deep-research")).warnings == [MISSING]
    assert site.way_out.looked_up == []


async def test_a_report_at_the_upstreams_own_address_is_fetched() -> None:
    site = Site(
        report_story("http://127.0.0.1:9/files/report.md"),
        pages={"/files/report.md": Played([b"# Report"], headers=())},
        base_url="http://127.0.0.1:9",
    )
    assert (await site.answer(name="deep-research")).text == "Here is your report.\n\n# Report"


async def test_questions_back_end_the_answer_at_once() -> None:
    site = Site(Played([wire([pending(pro_steps(QUESTIONS))], end=False), 600.0, b": ping\n"]))
    answer = await site.answer(name="deep-research")
    assert answer.text == "Which century?\nWhich country?"
    assert answer.finished is not None
    assert answer.finished.needs_input


async def test_held_text_is_the_final_one() -> None:
    final = "Two rivers, the Leie and the Scheldt, meet in Ghent."
    frames = [pending(markdown(["The Leie meets the Scheldt."], 0)), completed(done(["x"], answer=final))]
    assert (await Site(story(frames)).answer(msgspec.structs.replace(question(), streamed=False))).text == final
    text, error = await Site(story(frames)).error()
    assert (text, type(error)) == ("The Leie meets the Scheldt.", AnswerRewritten)


# logs


async def test_logs_tell_what_happened_and_nothing_of_the_question(caplog: pytest.LogCaptureFixture) -> None:
    odd = pending({"intended_usage": "sparkle_cards"}, {"intended_usage": "bad name! " + SECRET})
    with caplog.at_level(logging.DEBUG):
        await Site(story([odd, *W_BASE])).answer(question(user("My private question")))
        await Site(story([{**FAILED, "error_message": "private"}])).error(question(user("My private question")))
    first, second = [record for record in caplog.records if record.name == "pplx_gateway.session"]
    assert first.__dict__["oddities"] == {"block:sparkle_cards": 1, "block": 1}
    assert first.__dict__["frames"] == len(W_BASE) + 1
    assert second.__dict__["code"] == "upstream_error"
    told = json.dumps([vars(record) for record in caplog.records], default=str)
    for secret in (SECRET, "private question", "rw-1", TEXT, URLS[0]):
        assert secret not in told


def test_support_follows_the_model() -> None:
    site = Site()

    def effort(name: str) -> Support:
        found: Model = model(name)
        return site.upstream.support(found)[Feature.EFFORT]

    assert effort("gpt") is Support.HONOURED
    assert effort("nemotron") is Support.HINT
    table = site.upstream.support(model())
    assert set(table) == set(Feature)
    assert table[Feature.TEMPERATURE] is Support.REFUSED
    assert table[Feature.FUNCTIONS] is Support.EMULATED
    assert site.upstream.support(model("deep-research"))[Feature.FUNCTIONS] is Support.REFUSED
    assert table[Feature.RECENCY] is Support.HONOURED
