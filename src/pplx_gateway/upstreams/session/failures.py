"""Failures that only the session knows: leaves of the tree in errors.py, with their parents' statuses and codes."""

from pplx_gateway.errors import QuotaExhausted, UpstreamError


class AnswerFailed(UpstreamError):
    """The site began and gave up (FAILED, GENERIC_FAILED_RESPONSE). A stale handle of a thread looks the same."""


class AnswerRefused(UpstreamError):
    """The site will not answer this question (BLOCKED); a repeat would not help."""

    retry = False


class RequestRefused(UpstreamError):
    """The site did not take the request itself (HTTP 400): ours is malformed or out of date."""

    retry = False


class AnswerRewritten(UpstreamError):
    """The final text contradicts what was streamed. Nothing can be taken back, so the answer counts as failed."""


class FreeTierLimited(QuotaExhausted):
    """The free quota is gone, or nobody is signed in: the site says the same for both."""


class SignInAsked(UpstreamError):
    """The site asked to sign in, in place of an answer."""

    retry = False
