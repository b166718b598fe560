"""The owner's keys for the API: where they come from, which one is used, and how they fare."""

from pplx_gateway.upstreams.api.keys.keeping import KeyKeeper
from pplx_gateway.upstreams.api.keys.key import Key, only_key
from pplx_gateway.upstreams.api.keys.pool import KeyPool, Wanted

__all__ = ["Key", "KeyKeeper", "KeyPool", "Wanted", "only_key"]
