"""Failures inside an answer that began with HTTP 200 (docs/wire-session.md 2.7), by table."""

import re
from collections.abc import Callable
from typing import NamedTuple

from msgspec import UNSET

from pplx_gateway.errors import GatewayError, QuotaExhausted, RateLimited, UpstreamError
from pplx_gateway.upstreams.session.envelope import BLOCKED, FAILED, Envelope
from pplx_gateway.upstreams.session.failures import AnswerFailed, AnswerRefused, FreeTierLimited, SignInAsked
from pplx_gateway.upstreams.session.frames import Frame, parse

PROCESSING_ERROR = "Error in processing query."
_UNEXPLAINED = "the model may be missing from this plan, or the service is in trouble"
_LONGEST_REASON = 600  # a longer text is an answer, not a reason


class Failure(NamedTuple):
    """What the site said of itself. `code` in capitals; `words` unclean."""

    code: str
    words: str


Clean = Callable[[str], str]


def stream_error(frame: Frame, clean: Clean) -> GatewayError | None:
    """The error for a frame with a top-level `error`, or None."""
    value = None if frame.error is UNSET else parse(frame.error)
    if not value:
        return None
    if isinstance(value, dict):
        code = str(value.get("code") or value.get("error_code") or value.get("type") or "")
        words = value.get("message") or value.get("error_message") or value.get("detail") or ""
        return _by_code(Failure(code.upper(), str(words)), clean)
    return _by_code(Failure("", str(value)), clean)


def failed_answer(envelope: Envelope, text: str | None, clean: Clean) -> GatewayError | None:
    """The error for an answer whose status or code says that it failed, or None. `text` is the frame's `text`."""
    code = (envelope.error_code or "").upper()
    if envelope.status == BLOCKED:
        return AnswerRefused(_sentence("Perplexity blocked this question or its answer", envelope.error_message, clean))
    if envelope.status != FAILED and not code:
        return None
    words = envelope.error_message or _reason(text) or ("" if code else _UNEXPLAINED)
    if (envelope.experience or "").lower() == "upgrade" and "LIMIT" not in code:
        code = f"{code}_UPGRADE_QUOTA"
    return _by_code(Failure(code, words), clean)


def asked_to_sign_in(frame: Frame) -> bool:
    """True for the answer-like text that really is a wall: an upsell of the kind that wants a login."""
    upsell = None if frame.upsell_information is UNSET else parse(frame.upsell_information)
    if not isinstance(upsell, dict):
        return False
    return upsell.get("upsell_type") == "LOGIN" or "authwall" in str(upsell.get("name", ""))


def sign_in_asked() -> GatewayError:
    return SignInAsked("Perplexity asked to sign in instead of answering. Renew PPLX_COOKIE.")


def _reason(text: str | None) -> str | None:
    """Legacy `text` as a reason: short words, not a list of steps."""
    if not text or len(text) > _LONGEST_REASON or text.lstrip().startswith(("[", "{")):
        return None
    return text


def _by_code(failure: Failure, clean: Clean) -> GatewayError:
    for pattern, make in _CODES:
        if pattern.search(failure.code):
            return make(failure, clean)
    return AnswerFailed(_sentence("Perplexity could not answer", failure.words, clean))


def _free_tier(failure: Failure, clean: Clean) -> GatewayError:
    return FreeTierLimited(_sentence("The free quota on Perplexity is used up", failure.words, clean))


def _quota(failure: Failure, clean: Clean) -> GatewayError:
    return QuotaExhausted(_sentence("The quota of this Perplexity plan is used up", failure.words, clean))


def _throttled(failure: Failure, clean: Clean) -> GatewayError:
    return RateLimited(_sentence("Perplexity limits how fast this session may ask", failure.words, clean))


def _stream(failure: Failure, clean: Clean) -> GatewayError:
    return UpstreamError(_sentence("Perplexity ended the answer with an error", failure.words, clean))


_CODES: tuple[tuple[re.Pattern[str], Callable[[Failure, Clean], GatewayError]], ...] = (
    (re.compile("FREE_TIER"), _free_tier),
    (re.compile(r"QUOTA|LIMIT_REACHED|OUT_OF_CREDIT|(?:PRO|RESEARCH|LABS|SEARCH)_\w*LIMIT"), _quota),
    (re.compile("RATE_LIMIT|TOO_MANY_REQUESTS|THROTTL"), _throttled),
    (re.compile("^INTERNAL"), _stream),
)


def _sentence(lead: str, words: str | None, clean: Clean) -> str:
    said = clean(words or "")
    return f"{lead}: {said}" if said else f"{lead}."
