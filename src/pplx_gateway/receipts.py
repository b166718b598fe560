"""What paid calls leave behind: who took them, what they used, what they cost."""

from collections.abc import Callable, Mapping

import msgspec

from pplx_gateway.answer import Cost


class Receipt(msgspec.Struct, frozen=True, kw_only=True):
    """What one call leaves behind beside its result. `request_id` is the upstream's own. `cost` is None where nobody
    knows; `computed` = the upstream gave none, so it was worked out from its price list. `limits` are its rate headers.
    """

    key_name: str
    request_id: str | None = None
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    searches: int = 0
    cost: Cost | None = None
    computed: bool = False
    limits: Mapping[str, str] = {}


Note = Callable[[Receipt], None]
"""Told of every paid call as soon as it is paid, so that no cost is lost where a later one of several fails."""
