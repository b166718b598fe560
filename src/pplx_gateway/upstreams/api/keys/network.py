"""`network_config` of config.json: time-outs, retries, back-off, a proxy and headers for the API."""

import os
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pplx_gateway.settings import SettingsError
from pplx_gateway.transport import Network
from pplx_gateway.upstreams.api.patience import ApiOptions

MOST_RETRIES = 10
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_PRINTABLE = re.compile(r"[\t\x20-\x7e]*")
_OURS = frozenset(
    ("accept", "authorization", "connection", "content-length", "content-type", "cookie", "host", "transfer-encoding")
)
_AT = "providers.perplexity.network_config"


class NetworkConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """None = the gateway's own settings rule. `default_request_timeout_in_seconds` is the wait for an answer to begin,
    `stream_idle_timeout_in_seconds` the longest silence in it; both are for models that answer in seconds, research has
    its own. Back-off is in milliseconds. `proxy_url` is an address, or env.NAME."""

    default_request_timeout_in_seconds: float | None = None
    stream_idle_timeout_in_seconds: float | None = None
    max_retries: int | None = None
    retry_backoff_initial: float | None = None
    retry_backoff_max: float | None = None
    proxy_url: str | None = None
    extra_headers: dict[str, str] = {}

    def __repr__(self) -> str:
        return "NetworkConfig(...)"

    @property
    def holds_secrets(self) -> bool:
        """A proxy's password, or a header, which mostly says who one is."""
        return "@" in (self.proxy_url or "") or bool(self.extra_headers)

    def applied(self, options: ApiOptions, standard: ApiOptions) -> ApiOptions:
        """`options` come from the settings: what differs there from `standard` was chosen in the environment, and
        wins."""
        wanted = {
            "first_byte_seconds": self.default_request_timeout_in_seconds,
            "idle_seconds": self.stream_idle_timeout_in_seconds,
            "attempts": None if self.max_retries is None else self.max_retries + 1,
            "backoff_seconds": None if self.retry_backoff_initial is None else self.retry_backoff_initial / 1000,
            "longest_backoff_seconds": None if self.retry_backoff_max is None else self.retry_backoff_max / 1000,
        }
        free = {
            name: value
            for name, value in wanted.items()
            if value is not None and getattr(options, name) == getattr(standard, name)
        }
        return msgspec.structs.replace(options, **free)

    def network(self, network: Network, environ: Mapping[str, str] | None = None) -> Network:
        """`network` with the proxy. Raises SettingsError."""
        if self.proxy_url is None:
            return network
        given, url = os.environ if environ is None else environ, self.proxy_url
        if url.startswith("env."):
            url = given.get(url.removeprefix("env."), "").strip()
            if not url:
                raise SettingsError(f"{_AT}.proxy_url names {self.proxy_url}, which is not set.")
        try:
            through = Network.from_environ({"ALL_PROXY": url})
        except ValueError:
            raise SettingsError(f"{_AT}.proxy_url is not a proxy's address: give scheme://host:port.") from None
        return msgspec.structs.replace(network, https_proxy=through.https_proxy, http_proxy=through.http_proxy)


def check(path: Path, config: NetworkConfig) -> None:
    """Raises SettingsError."""
    for name in ("default_request_timeout_in_seconds", "stream_idle_timeout_in_seconds", "retry_backoff_initial"):
        value = getattr(config, name)
        if value is not None and not 0 < value < 1e9:
            raise SettingsError(f"{path}: {_AT}.{name} must be above 0.")
    if (
        config.retry_backoff_max is not None
        and not (config.retry_backoff_initial or 0) <= config.retry_backoff_max < 1e9
    ):
        raise SettingsError(f"{path}: {_AT}.retry_backoff_max must be at least retry_backoff_initial.")
    if config.max_retries is not None and not 0 <= config.max_retries <= MOST_RETRIES:
        raise SettingsError(f"{path}: {_AT}.max_retries must be from 0 to {MOST_RETRIES}.")
    for name, value in config.extra_headers.items():
        if not _TOKEN.fullmatch(name) or name.lower() in _OURS or not _PRINTABLE.fullmatch(value):
            raise SettingsError(f"{path}: {_AT}.extra_headers may not hold '{name[:80]}', or not with that value.")
