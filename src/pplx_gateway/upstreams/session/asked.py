"""What an answer is measured by."""

import msgspec

from pplx_gateway.catalogue import SessionRoute
from pplx_gateway.upstreams.session.images import ImageWish


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """`preference` is the model id that was sent; `attachments` are the addresses that went along; `images` None = none
    are wanted; `hold` keeps the text back until it is final, for callers who do not stream."""

    model: str
    route: SessionRoute
    preference: str
    query_characters: int = 0
    attachments: tuple[str, ...] = ()
    research: bool = False
    images: ImageWish | None = None
    related: bool = False
    hold: bool = False
