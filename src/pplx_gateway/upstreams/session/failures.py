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


class UploadsExhausted(QuotaExhausted):
    """The plan's quota of uploads is gone, which says nothing about its searches."""


class SignInAsked(UpstreamError):
    """The site asked to sign in, in place of an answer."""

    retry = False


class AttachmentRefused(UpstreamError):
    """The site does not take an attachment, or cannot read it; a repeat would not help. Nothing was asked."""

    retry = False


class AnsweredStranger(UpstreamError):
    """The site answered as it answers strangers, although it does not say that the session is dead: the answer is not
    the plan's, so nobody gets it. A new cookie would not help, and a repeat hardly."""

    retry = False


class CookieOutdated(UpstreamError):
    """The answer is a stranger's because the question went out with a cookie that was renewed meanwhile."""
