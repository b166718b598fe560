"""Answers that failed after HTTP 200 (docs/wire-session.md 2.7). After a failure nothing looks like success."""

from typing import Any

import pytest

from pplx_gateway.errors import (
    EmptyAnswer,
    GatewayError,
    QuotaExhausted,
    RateLimited,
    UpstreamError,
    UpstreamTruncated,
)
from pplx_gateway.sse import Event
from pplx_gateway.upstreams.session.failures import AnswerFailed, AnswerRefused, FreeTierLimited, SignInAsked
from pplx_gateway.upstreams.session.frames import END, decode
from pplx_gateway.upstreams.session.oddities import Oddities
from tests.session.playing import assembler, feed, play, text
from tests.session.stories import CHUNKS, W_BASE, completed, done, legacy_text, markdown, pending


def failure(frame: Any, *before: Any) -> GatewayError:
    with pytest.raises(GatewayError) as raised:
        play([*before, frame])
    return raised.value


def failed(**fields: Any) -> dict[str, Any]:
    return {"backend_uuid": "b-1", "status": "FAILED", "final": True, "final_sse_message": True, **fields}


@pytest.mark.parametrize(
    ("frame", "kind", "said"),
    [
        (
            failed(status="failed", error_code="FREE_TIER_RATE_LIMITED", experience="upgrade", text="Limit reached"),
            FreeTierLimited,
            "Limit reached",
        ),
        (failed(error_code="free_tier_rate_limited"), FreeTierLimited, "free quota"),
        (failed(error_code="PRO_QUOTA_EXCEEDED"), QuotaExhausted, "plan is used up"),
        (failed(error_code="pro_search_limit_reached"), QuotaExhausted, "plan is used up"),
        (failed(experience="upgrade"), QuotaExhausted, "plan is used up"),
        (failed(error_code="PRO_SEARCH_RATE_LIMIT_EXCEEDED"), QuotaExhausted, "plan is used up"),
        (failed(error_code="RATE_LIMIT_EXCEEDED"), RateLimited, "how fast"),
        (failed(error_code="RATE_LIMITED", error_message="Slow down"), RateLimited, "Slow down"),
        (failed(error_code="GENERIC_FAILED_RESPONSE", text="Something failed"), AnswerFailed, "Something failed"),
        (failed(error_code="SOMETHING_NEW"), AnswerFailed, "could not answer"),
        (failed(blocks=[], display_model="turbo"), AnswerFailed, "could not answer"),
        (failed(final_sse_message=False, blocks=None), AnswerFailed, "could not answer"),
        (failed(status="BLOCKED", error_message="Not allowed"), AnswerRefused, "Not allowed"),
        (failed(text=legacy_text("The answer")), AnswerFailed, "could not answer"),
        (completed(text="Error in processing query."), AnswerFailed, "could not process"),
        (completed(done(["Error in processing query."])), AnswerFailed, "could not process"),
        (completed(done(["It is so."]), error_code="GENERIC_FAILED_RESPONSE"), AnswerFailed, "could not answer"),
        ({"error": {"code": "internal", "message": "demo"}}, UpstreamError, "demo"),
        ({"error": "out of luck"}, UpstreamError, "out of luck"),
        ({"error": {"code": "RATE_LIMIT", "message": "slow"}}, RateLimited, "slow"),
        ({"error": ["odd"]}, UpstreamError, "odd"),
        (
            pending(upsell_information={"name": "fraud_authwall_upsell"}),
            SignInAsked,
            "sign in",
        ),
        (completed(done(["Sign up!"]), upsell_information={"upsell_type": "LOGIN"}), SignInAsked, "sign in"),
    ],
)
def test_a_sign_of_failure_raises_its_error(frame: Any, kind: type[GatewayError], said: str) -> None:
    error = failure(frame)
    assert type(error) is kind or (kind is UpstreamError and isinstance(error, UpstreamError))
    assert said in error.message


@pytest.mark.parametrize("before", [[], W_BASE[:4]])
def test_failed_is_a_failure_with_text_and_without(before: list[Any]) -> None:
    assert isinstance(failure(failed(), *before), AnswerFailed)


def test_failed_and_final_is_told_at_once() -> None:
    target = assembler()
    with pytest.raises(AnswerFailed):
        feed(target, failed(final_sse_message=False))


def test_failed_without_its_last_mark_counts_at_the_end_of_the_stream() -> None:
    assert isinstance(failure(pending(markdown(["a"]), status="FAILED")), AnswerFailed)


def test_a_failure_that_is_taken_back_is_none() -> None:
    assert text(play([pending(status="FAILED"), completed(done(["It is so."]))])) == "It is so."


@pytest.mark.parametrize("quiet", [None, {}, "", False, 0])
def test_an_empty_error_field_is_no_error(quiet: Any) -> None:
    assert text(play([completed(done(["It is so."]), error=quiet)])) == "It is so."


def test_an_ordinary_upsell_is_no_wall() -> None:
    assert text(play([completed(done(["It is so."]), upsell_information={"name": "pro_upsell"})])) == "It is so."


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b'{"error": {"message": "broken"}}', "broken"),
        (b'{"message": "broken"}', "broken"),
        (b'"broken"', "broken"),
        (b"broken", "broken"),
        (b'{"status": "FAILED", "error_message": "broken", "final_sse_message": true}', "broken"),
    ],
)
def test_an_error_event_raises(data: bytes, said: str) -> None:
    target = assembler()
    frame = decode(Event("error", data), Oddities())
    assert frame is not None
    with pytest.raises(UpstreamError, match=said):
        target.feed(frame)


def test_an_error_event_that_holds_an_ordinary_frame_is_that_frame() -> None:
    target = assembler()
    frame = decode(Event("error", b'{"status": "PENDING", "blocks": []}'), Oddities())
    assert frame is not None
    target.feed(frame)
    assert target.frames == 1


def test_an_end_without_text_is_an_empty_answer() -> None:
    with pytest.raises(EmptyAnswer):
        play(W_BASE[:2])
    with pytest.raises(EmptyAnswer):
        play([completed()])
    with pytest.raises(EmptyAnswer):
        play([completed(done([" ", "\n"], answer=" \n"))])


def test_nothing_at_all_is_an_empty_answer() -> None:
    with pytest.raises(EmptyAnswer):
        play([], end=False)


def test_a_stream_that_ends_without_a_verdict_is_truncated() -> None:
    with pytest.raises(UpstreamTruncated):
        play(W_BASE[:4], end=False)


def test_a_stream_that_closes_after_completed_is_whole() -> None:
    events = play([completed(done(CHUNKS), final_sse_message=False)], end=False)
    assert text(events) == "".join(CHUNKS)


def test_text_before_the_end_of_the_stream_is_an_answer_but_cannot_be_continued() -> None:
    events = play([pending(markdown(["It is so."]))])
    assert text(events) == "It is so."
    assert events[-1].continuation is None  # type: ignore[union-attr]


def test_the_message_of_an_error_is_made_safe() -> None:
    error = failure(failed(error_message="two\nlines"))
    assert error.message == "Perplexity could not answer: two lines"


def test_errors_that_a_repeat_cannot_mend_say_so() -> None:
    assert failure(failed(status="BLOCKED")).retry is False
    assert failure(failed(error_code="QUOTA")).retry is False
    assert failure(failed()).retry is True


def test_after_the_end_of_the_stream_nothing_counts() -> None:
    target = assembler()
    feed(target, completed(done(["It is so."])))
    assert target.ended
    assert target.feed(END) == []
    assert text(target.close()) == ""
