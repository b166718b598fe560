"""api.perplexity.ai through the owner's API key."""

from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.upstream import ApiUpstream

__all__ = ["ApiOptions", "ApiUpstream"]
