"""The one way out to the network: see transport.py for what it promises."""

from pplx_gateway.transport.errors import Limit, TransferTimeout
from pplx_gateway.transport.exchange import Headers, Incoming, Method, Outgoing, Streaming, Timeouts
from pplx_gateway.transport.network import Network, Proxy, is_loopback
from pplx_gateway.transport.transport import Stream, Transport

__all__ = [
    "Headers",
    "Incoming",
    "Limit",
    "Method",
    "Network",
    "Outgoing",
    "Proxy",
    "Stream",
    "Streaming",
    "Timeouts",
    "TransferTimeout",
    "Transport",
    "is_loopback",
]
