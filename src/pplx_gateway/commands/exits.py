"""The exit codes of the command line, which scripts may rely on."""

from enum import IntEnum

from pplx_gateway.errors import GatewayError


class Exit(IntEnum):
    OK = 0
    FAILED = 1
    USAGE = 2
    CREDENTIAL = 3
    LIMIT = 4
    UPSTREAM = 5
    CUT = 6
    NOT_FOUND = 7
    INTERRUPTED = 130
    PIPE = 141
    TERMINATED = 143


ABOUT = {
    Exit.OK: "It is done, and the answer is whole.",
    Exit.FAILED: "It failed otherwise; `doctor`: something is wrong; `setup`: a client's file cannot be changed.",
    Exit.USAGE: "An argument, a setting or a request cannot be used. Nothing was asked.",
    Exit.CREDENTIAL: "A cookie or a key is missing, wrong, expired, or may not do this.",
    Exit.LIMIT: "A quota, a balance or a rate limit is used up.",
    Exit.UPSTREAM: "The gateway or Perplexity cannot be reached, refuses, or failed.",
    Exit.CUT: "The answer is not whole: it was cut at a limit, or the connection broke.",
    Exit.NOT_FOUND: "There is no such model, response, key or setting.",
    Exit.INTERRUPTED: "Ctrl-C. What ran upstream was stopped, except research, whose id was printed.",
    Exit.PIPE: "Whoever read the output closed it.",
    Exit.TERMINATED: "A signal ended it, in the same way as Ctrl-C.",
}

_BY_CODE = {
    "upstream_auth": Exit.CREDENTIAL,
    "session_expired": Exit.CREDENTIAL,
    "cookie_refused": Exit.CREDENTIAL,
    "upstream_truncated": Exit.CUT,
}
_BY_STATUS = {401: Exit.CREDENTIAL, 402: Exit.LIMIT, 403: Exit.CREDENTIAL, 404: Exit.NOT_FOUND, 429: Exit.LIMIT}


class CommandFailed(Exception):
    """What a person is told in one line, the way out in another, and the exit code for scripts."""

    def __init__(self, message: str, code: Exit = Exit.FAILED, *, cure: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.cure = cure


def exit_of(status: int, code: str) -> Exit:
    """For an error of the gateway: its HTTP status and its code."""
    usual = Exit.USAGE if 400 <= status < 500 else Exit.UPSTREAM
    return _BY_CODE.get(code) or _BY_STATUS.get(status, usual)


CURES = {
    "session_expired": "Renew it: pplx-gateway login",
    "session_blocked": "See what stands in the way: pplx-gateway doctor",
    "model_not_found": "See what there is: pplx-gateway models",
    "quota_exhausted": "See what is left: pplx-gateway usage",
    "upstream_auth": "Sign in (pplx-gateway login), or set PERPLEXITY_API_KEY. What is missing: pplx-gateway doctor",
}
"""The next step for a person at a command line, by the code of the gateway's error."""


def failed(error: GatewayError) -> CommandFailed:
    return CommandFailed(error.message, exit_of(error.status, error.code), cure=CURES.get(error.code))


def exits_markdown() -> str:
    """The table for the docs."""
    rows = [f"| {int(code)} | {about} |" for code, about in ABOUT.items()]
    return "\n".join(["| code | meaning |", "| --- | --- |", *rows]) + "\n"
