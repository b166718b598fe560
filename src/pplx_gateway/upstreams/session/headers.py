"""Headers that the site's own page sends (docs/wire-session.md 1.2).

User agent and `sec-ch-ua*` come from the transport together with its TLS shape: a set that does not match is noticed.
"""

from pplx_gateway.upstreams.session.options import SessionOptions


def page_headers(options: SessionOptions, url: str, reason: str, cookie: str, *, accept: str) -> dict[str, str]:
    """The set of an XHR, never that of a page navigation, and the app's own headers, without which lists come empty."""
    return {
        "accept": accept,
        "accept-language": _accept_language(options.language),
        "origin": options.origin,
        "referer": f"{options.origin}/",
        "priority": "u=1, i",
        "sec-fetch-dest": "empty",
        "sec-fetch-mode": "cors",
        "sec-fetch-site": "same-origin",
        "x-app-apiclient": "default",
        "x-app-apiversion": options.api_version,
        "x-perplexity-request-endpoint": url,
        "x-perplexity-request-reason": reason,
        "x-perplexity-request-try-number": "1",
        "cookie": cookie,
    }


def _accept_language(language: str) -> str:
    short = language.partition("-")[0]
    return language if short == language else f"{language},{short};q=0.9"
