"""Whether an upstream can be reached, and what stands in the way. Nothing secret is sent."""

from email.utils import parsedate_to_datetime
from typing import NamedTuple

from pplx_gateway.clock import Clock
from pplx_gateway.diagnosis.finding import Finding, bad, ok
from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport import Headers, Incoming, Network, Outgoing, Timeouts, Transport
from pplx_gateway.upstreams.session.headers import page_headers
from pplx_gateway.upstreams.session.login import SESSION_PATH
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.refusals import BLOCKED, Page

MOST_SECONDS_OFF = 300.0
TIMEOUTS = Timeouts(connect=10.0, first_byte=15.0, idle=15.0, total=30.0)
_CA_CURE = (
    "Name the PEM file of the authority that signs here in SSL_CERT_FILE; where the date is wrong, set the clock."
)
_NETWORK_CURE = "Check the network, the DNS, a firewall, and whether a proxy is needed (HTTPS_PROXY)."


class Reached(NamedTuple):
    """`incoming` None = nothing came."""

    findings: tuple[Finding, ...]
    incoming: Incoming | None = None


async def session_site(transport: Transport, options: SessionOptions, network: Network, clock: Clock) -> Reached:
    """Asks the site who is signed in, as nobody."""
    url = options.origin + SESSION_PATH
    headers = page_headers(options, url, "session", "", accept="application/json")
    reached = await _ask(
        transport, Outgoing(method="GET", url=url, headers=headers, timeouts=TIMEOUTS), "site", network, clock
    )
    if reached.incoming is None:
        return reached
    return reached._replace(findings=(*reached.findings, _site(reached.incoming, options)))


async def api(transport: Transport, url: str, network: Network, clock: Clock) -> Reached:
    return await _ask(
        transport, Outgoing(method="GET", url=f"{url.rstrip('/')}/v1/models", timeouts=TIMEOUTS), "api", network, clock
    )


async def _ask(transport: Transport, outgoing: Outgoing, check: str, network: Network, clock: Clock) -> Reached:
    try:
        incoming = await transport.request(outgoing)
    except UpstreamError as error:
        return Reached((unreachable(check, outgoing.url, error, network),))
    return Reached(
        (ok(check, f"{outgoing.url.split('/')[2]} answers"), *_clock(check, incoming.headers, clock)), incoming
    )


def unreachable(check: str, url: str, error: UpstreamError, network: Network) -> Finding:
    """Which of certificate, proxy and network it is."""
    said = error.message
    if "certificate" in said or "SSL_CERT_FILE" in said:
        return bad(check, "certificate", said, _CA_CURE)
    proxy = network.route(url).proxy
    if proxy is not None:
        return bad(
            check,
            "proxy",
            said,
            f"The proxy of {proxy.variable} is in the way: correct it, start it, or except the host in NO_PROXY.",
        )
    return bad(check, "network", said, _NETWORK_CURE)


def _site(incoming: Incoming, options: SessionOptions) -> Finding:
    page = Page(incoming.status, incoming.headers, incoming.body)
    if page.challenge or (page.status == 403 and page.html):
        return bad(
            "edge",
            "edge_block",
            BLOCKED,
            f"Wait some minutes; then another PPLX_IMPERSONATE than {_browser()}, or another network.",
        )
    if page.status >= 500:
        return bad("edge", "failure", f"The site answers HTTP {page.status}.", "Wait: the trouble is at Perplexity.")
    if page.status != 200 or page.html or incoming.body.strip()[:1] not in (b"{", b"n"):
        return bad(
            "edge",
            "schema_change",
            f"The page {options.host}{SESSION_PATH} has another form than this release knows (HTTP {page.status}).",
            "Look for a newer release of pplx-gateway, and report this.",
        )
    return ok("edge", "no challenge page stands before the site")


def _browser() -> str:
    import os  # noqa: PLC0415

    return os.environ.get("PPLX_IMPERSONATE") or "now"


def _clock(check: str, headers: Headers, clock: Clock) -> tuple[Finding, ...]:
    """By the last Date there is: an earlier one is of whoever stands between."""
    try:
        there = parsedate_to_datetime(headers.all("date")[-1]).timestamp()
    except (ValueError, IndexError):
        return ()
    off = clock.now() - there
    if abs(off) <= MOST_SECONDS_OFF:
        return (ok("clock", "it is right"),) if check == "site" else ()
    way = "fast" if off > 0 else "slow"
    return (
        bad(
            "clock",
            "clock",
            f"The clock of this machine is {abs(off) / 60:.0f} minutes {way}, by the {check}'s own.",
            "Set it (timedatectl set-ntp true): certificates and expiries are judged by it.",
        ),
    )
