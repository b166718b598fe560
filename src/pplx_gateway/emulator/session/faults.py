"""Failures on the wire: over HTTP, as a frame, or in the middle of a stream (docs/wire-session.md 2.7, 7.1)."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
from starlette.responses import Response

from pplx_gateway.emulator.script import Bytes, Cut, Step
from pplx_gateway.emulator.session.entry import new_id
from pplx_gateway.emulator.session.forms import Course
from pplx_gateway.emulator.session.frames import END_OF_STREAM, Frame, encode, written

CHALLENGE_PAGE = (
    b'<!DOCTYPE html><html lang="en-US"><head><title>Just a moment...</title></head><body>'
    b"<script>window._cf_chl_opt={cvId:'3'};</script>"
    b'<script src="/cdn-cgi/challenge-platform/h/b/orchestrate/chl_page/v1"></script></body></html>'
)
CHALLENGE_HEADERS = {
    "content-type": "text/html; charset=UTF-8",
    "cf-mitigated": "challenge",
    "server": "cloudflare",
    "cf-ray": "8f0000000000abcd-FRA",
}


class Refusal(NamedTuple):
    """An answer that is not a stream."""

    status: int
    body: bytes
    headers: dict[str, str]

    def response(self, cookies: Sequence[str] = ()) -> Response:
        response = Response(self.body, self.status, self.headers)
        for cookie in cookies:
            response.headers.append("set-cookie", cookie)
        return response


def refusal(status: int, code: str, message: str, **headers: str) -> Refusal:
    """The app's own way to refuse: JSON."""
    body = msgspec.json.encode({"status": "failed", "error_code": code, "detail": message})
    return Refusal(status, body, {"content-type": "application/json", **headers})


CHALLENGE = Refusal(403, CHALLENGE_PAGE, CHALLENGE_HEADERS)
GATEWAY_TIMEOUT = (
    b"<html><head><title>504 Gateway Time-out</title></head><body><h1>504 Gateway Time-out</h1></body></html>"
)

# Faults that are answered before any stream begins.
REFUSALS: dict[str, Refusal] = {
    "upstream_429": refusal(429, "TOO_MANY_REQUESTS", "Slow down", **{"retry-after": "3"}),
    "upstream_401": refusal(401, "UNAUTHORIZED", "Not authenticated"),
    "upstream_402": refusal(402, "PAYMENT_REQUIRED", "Payment required"),
    "upstream_500": refusal(500, "INTERNAL_SERVER_ERROR", "Something broke"),
    "upstream_html": CHALLENGE,
}


def failed(code: str | None, text: str, **more: object) -> Frame:
    """A FAILED frame. Without a code it says no more than which model was meant (2.7)."""
    frame: Frame = {"backend_uuid": new_id(), "status": "FAILED"}
    if code is not None:
        frame |= {"error_code": code, "text": text}
    return frame | {"final": True, "final_sse_message": True, **more}


def generic() -> Frame:
    """Wrong model or mode, a stale handle, or a passing fault: the wire does not say which."""
    return failed("GENERIC_FAILED_RESPONSE", "Something went wrong. Please try again later.")


def above_tier(model: str) -> Frame:
    return failed(None, "", display_model="turbo", user_selected_model=model, blocks=[])


def too_long() -> Frame:
    return failed("QUERY_TOO_LONG", "The question is too long.")


def quota_gone(kind: str, *, free: bool) -> Frame:
    """`kind` is the counter that stands at zero."""
    if free:
        return {
            "backend_uuid": new_id(),
            "status": "failed",
            "error_code": "FREE_TIER_RATE_LIMITED",
            "experience": "upgrade",
            "text": "You have used up your free searches. Upgrade for more.",
            "final_sse_message": True,
        }
    code = "PRO_SEARCH_RATE_LIMIT_EXCEEDED" if kind == "pro" else f"{kind.upper()}_QUOTA_EXCEEDED"
    return failed(code, "You have used up your searches of this kind.")


def bad_json(course: Course) -> list[Step]:
    """A stream that begins well and goes on with broken frames."""
    broken = [Bytes(encode(frame)[:-12] + b"\r\n\r\n") for frame in course.text]
    return [*written(course.way), *broken, Bytes(END_OF_STREAM)]


def dropped(course: Course) -> list[Step]:
    """Half of the text, then the connection breaks in the middle of a frame."""
    sent, following = _half(course)
    return [*written([*course.way, *sent]), Bytes(encode(following)[:40]), Cut()]


def broken_off(course: Course) -> list[Step]:
    """Half of the text, then a FAILED frame."""
    sent, _ = _half(course)
    end = generic() | {"backend_uuid": course.completed["backend_uuid"]}
    return [*written([*course.way, *sent, end]), Bytes(END_OF_STREAM)]


def empty(course: Course) -> list[Step]:
    """A success without a word of text."""
    bare = {key: value for key, value in course.completed.items() if key not in ("blocks", "text")}
    return [*written([*course.way, {**bare, "blocks": []}]), Bytes(END_OF_STREAM)]


def _half(course: Course) -> tuple[list[Frame], Frame]:
    """The first half of the text's frames (one at least, where there is more than one), and the frame after it."""
    count = max(1, len(course.text) // 2) if len(course.text) > 1 else 0
    following = course.text[count] if course.text else course.completed
    return course.text[:count], following


# Faults that spoil a stream.
SPOILERS: dict[str, Callable[[Course], list[Step]]] = {
    "upstream_bad_json": bad_json,
    "midstream_drop": dropped,
    "midstream_error": broken_off,
    "empty": empty,
}
