"""Whether an address that the upstream names is storage's: it is another host's, and gets what must not go astray."""

from collections.abc import Iterable
from urllib.parse import urlsplit


def stands_at(url: str, hosts: Iterable[str]) -> bool:
    """https on its own port, without a user's name, at one of `hosts` or below it."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return False
    known = any(host == name or host.endswith(f".{name}") for name in hosts)
    return parts.scheme == "https" and port in (None, 443) and parts.username is None and known
