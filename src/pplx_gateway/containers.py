"""What a container changes: there 127.0.0.1 is the container itself, and not the machine that runs it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from pplx_gateway.settings import Settings
from pplx_gateway.transport import Network, is_loopback

# Docker and Podman, in this order, put these into every container.
MARKS = (Path("/.dockerenv"), Path("/run/.containerenv"))


def container_hints(settings: Settings, environ: Mapping[str, str], marks: tuple[Path, ...] = MARKS) -> list[str]:
    """Lines for the start, if this is a container: one for each proxy and FlareSolverr that is said to be on loopback.

    Raises ValueError where a variable of the network cannot be used."""
    if not any(mark.exists() for mark in marks):
        return []
    return [
        f"{variable} names {host}, which inside a container is the container itself. If that runs on the host, write "
        "host.docker.internal (Podman: host.containers.internal) instead; if it is another container, its name."
        for variable, host in _hosts(settings, Network.from_environ(environ))
        if is_loopback(host)
    ]


def _hosts(settings: Settings, network: Network) -> Iterator[tuple[str, str]]:
    proxies = {proxy.variable: proxy.url for proxy in (network.https_proxy, network.http_proxy) if proxy}
    for variable, url in {**proxies, "FLARESOLVERR_URL": settings.flaresolverr_url}.items():
        yield variable, (urlsplit(url).hostname or "").lower()
