"""From curl's error numbers to the error tree, by table.

Sentences name the host and what to check. They never carry curl's own text, which can hold a proxy's password; that
text is only searched for a few known phrases.
"""

from typing import NamedTuple

from curl_cffi import CurlECode

from pplx_gateway.errors import UpstreamError, UpstreamTruncated, UpstreamUnreachable
from pplx_gateway.transport.network import Route


class Fault(NamedTuple):
    error: type[UpstreamError]
    sentence: str


class Failure(NamedTuple):
    """What curl knows of a transfer that failed: its error number and text, whether the request had begun to leave, and
    what a proxy answered to CONNECT (0 = nothing)."""

    code: int
    text: str
    sent: bool
    proxy_status: int


FAULTS: dict[int, Fault] = {
    CurlECode.COULDNT_RESOLVE_PROXY: Fault(
        UpstreamUnreachable, "The name of the proxy in {variable} does not resolve. Check {variable} and the DNS."
    ),
    CurlECode.COULDNT_RESOLVE_HOST: Fault(
        UpstreamUnreachable, "The name {host} does not resolve. Check the address and the DNS of this machine."
    ),
    CurlECode.COULDNT_CONNECT: Fault(
        UpstreamUnreachable, "No connection to {peer}. Check the network, a firewall, and whether a proxy is needed."
    ),
    CurlECode.PROXY: Fault(UpstreamUnreachable, "The proxy in {variable} did not connect to {host}."),
    CurlECode.SSL_CONNECT_ERROR: Fault(
        UpstreamUnreachable, "No TLS connection to {peer}: the other side does not speak TLS here, or broke it off."
    ),
    CurlECode.SSL_CACERT_BADFILE: Fault(
        UpstreamUnreachable, "The certificate authorities cannot be read. Check the file that SSL_CERT_FILE names."
    ),
    CurlECode.PARTIAL_FILE: Fault(UpstreamTruncated, "{host} closed the connection in the middle of its answer."),
    CurlECode.GOT_NOTHING: Fault(UpstreamTruncated, "{host} closed the connection without an answer."),
    CurlECode.SEND_ERROR: Fault(UpstreamTruncated, "The connection to {host} broke while the request was sent."),
    CurlECode.RECV_ERROR: Fault(UpstreamTruncated, "The connection to {host} broke before the answer was whole."),
    CurlECode.HTTP2: Fault(UpstreamTruncated, "{host} broke the HTTP/2 connection before the answer was whole."),
    CurlECode.HTTP2_STREAM: Fault(UpstreamTruncated, "{host} reset the HTTP/2 stream before the answer was whole."),
    CurlECode.SEND_FAIL_REWIND: Fault(
        UpstreamTruncated, "The connection to {host} broke before an answer; the request was not repeated by itself."
    ),
    CurlECode.UNSUPPORTED_PROTOCOL: Fault(UpstreamError, "{host} answered with something that is not HTTP."),
    CurlECode.WEIRD_SERVER_REPLY: Fault(UpstreamError, "{host} answered with malformed HTTP headers."),
    CurlECode.TOO_LARGE: Fault(UpstreamError, "{host} answered with more HTTP headers than are allowed."),
    CurlECode.BAD_CONTENT_ENCODING: Fault(UpstreamError, "The answer of {host} cannot be decompressed."),
    CurlECode.URL_MALFORMAT: Fault(UpstreamError, "The address of {host} is malformed."),
}

CERTIFICATE = "The certificate of {host} was not accepted: {reason}."
_CERTIFICATE_REASONS = {
    "subject name": "it is for another host name",
    "does not match target host": "it is for another host name",
    "expired": "it has expired (or the clock of this machine is wrong)",
    "not yet valid": "it is not valid yet (or the clock of this machine is wrong)",
}
_UNKNOWN_AUTHORITY = (
    "its authority is not known here. Where a company proxy signs with its own authority, "
    "name that authority's PEM file in SSL_CERT_FILE"
)

PROXY_ANSWERS = {
    407: "The proxy asks for a user and password, or refused those it got: set them in {variable} "
    "(scheme://user:password@host:port).",
    403: "The proxy in {variable} forbids connections to {host}.",
}
PROXY_REFUSED = "The proxy in {variable} answered {status} and made no connection to {host}."


def error_for(failure: Failure, route: Route) -> UpstreamError:
    """The error to raise. What broke before the request had left counts as unreachable: surely nothing was asked."""
    if failure.proxy_status >= 300:
        return proxy_refused(failure.proxy_status, route)
    if failure.code == CurlECode.PEER_FAILED_VERIFICATION:
        return UpstreamUnreachable(CERTIFICATE.format(host=route.host, reason=_reason(failure.text)))
    fault = FAULTS.get(failure.code)
    if fault is None:
        return UpstreamError(f"The exchange with {route.host} failed (curl error {int(failure.code)}).")
    if fault.error is UpstreamTruncated and not failure.sent:
        return UpstreamUnreachable(_say("The connection to {peer} broke before the request was sent.", route))
    return fault.error(_say(fault.sentence, route))


def proxy_refused(status: int, route: Route) -> UpstreamUnreachable:
    sentence = PROXY_ANSWERS.get(status, PROXY_REFUSED)
    return UpstreamUnreachable(_say(sentence, route, status=status))


def _say(sentence: str, route: Route, *, status: int = 0) -> str:
    variable = route.proxy.variable if route.proxy else "HTTPS_PROXY"
    peer = f"{route.host} through the proxy in {variable}" if route.proxy else route.host
    return sentence.format(host=route.host, peer=peer, variable=variable, status=status)


def _reason(text: str) -> str:
    return next((reason for phrase, reason in _CERTIFICATE_REASONS.items() if phrase in text), _UNKNOWN_AUTHORITY)
