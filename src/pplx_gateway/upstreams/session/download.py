"""Fetching the file of a research report (docs/wire-session.md 2.4).

The address is the upstream's word, so only https at known storage hosts is followed, or the upstream's own origin; no
cookie goes with it, and no redirect is followed.
"""

from pplx_gateway.errors import UpstreamError
from pplx_gateway.transport.exchange import Outgoing, Timeouts
from pplx_gateway.upstreams.session.options import SessionOptions
from pplx_gateway.upstreams.session.refusals import looks_like_page
from pplx_gateway.upstreams.session.report import Download
from pplx_gateway.upstreams.session.storage_hosts import stands_at
from pplx_gateway.upstreams.session.way_out import WayOut

STORAGE_HOSTS = ("amazonaws.com", "cloudfront.net", "perplexity.ai")
MAX_REPORT_BYTES = 4 << 20
TOTAL_SECONDS = 60.0

MISSING = "The report could not be fetched from Perplexity's storage, so only its introduction is here."


async def fetch_report(way_out: WayOut, download: Download, options: SessionOptions) -> str | None:
    """The report's text, or None if it cannot be had."""
    if not _allowed(download.url, options):
        return None
    outgoing = Outgoing(
        method="GET",
        url=download.url,
        headers={"accept": "text/markdown, text/plain, */*"},
        timeouts=Timeouts(total=TOTAL_SECONDS),
    )
    try:
        async with way_out.stream(outgoing) as response:
            body = await response.read(MAX_REPORT_BYTES + 1) if response.status == 200 else b""
    except UpstreamError:
        return None
    return _text(body)


def _text(body: bytes) -> str | None:
    if not body.strip() or len(body) > MAX_REPORT_BYTES or looks_like_page(body):
        return None
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None


def _allowed(url: str, options: SessionOptions) -> bool:
    if url.startswith(f"{options.origin}/"):
        return True
    return stands_at(url, STORAGE_HOSTS)
