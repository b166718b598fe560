"""Lists as this API writes them."""

import msgspec

from pplx_gateway.protocols.kept.things import Part, Shown
from pplx_gateway.protocols.openai.paging import limit_of, order_of
from pplx_gateway.protocols.operation import Operation, Reply, json, warned

USUAL = 20
MOST = 100


class NativeList(msgspec.Struct, frozen=True, kw_only=True):
    """Entries as the upstream tells of them."""

    object: str
    data: list[msgspec.Raw]
    first_id: str | None
    last_id: str | None
    has_more: bool


def part(asked: Operation, cursor: str = "after", purpose: str = "") -> Part:
    """Raises InvalidRequest."""
    query = asked.query
    return Part(
        limit=limit_of(query.get("limit"), usual=USUAL, most=MOST),
        after=query.get(cursor) or None,
        order=order_of(query.get("order")),
        purpose=purpose,
    )


def native_list(shown: Shown) -> Reply:
    listed = NativeList(
        object="list",
        data=[entry.body for entry in shown.entries],
        first_id=shown.first_id,
        last_id=shown.last_id,
        has_more=shown.has_more,
    )
    return json(listed, warned(shown.warnings))
