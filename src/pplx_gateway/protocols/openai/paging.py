"""Parameters of a query, which are strings: `order` and `limit` of lists, flags, numbers of events."""

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.store.records import Order

_TRUE, _FALSE = ("true", "1"), ("false", "0", "")
_LARGEST_NUMBER = 1 << 53
_ORDERS: tuple[Order, ...] = ("asc", "desc")


def order_of(text: str | None) -> Order:
    """Newest first unless the caller says otherwise. Raises InvalidRequest."""
    for order in _ORDERS:
        if order == (text or "desc"):
            return order
    raise InvalidRequest(f"'order' must be one of: {', '.join(_ORDERS)}.", param="order")


def limit_of(text: str | None, *, usual: int, most: int) -> int:
    """Raises InvalidRequest."""
    if not text:
        return usual
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most:
        return int(text)
    raise InvalidRequest(f"'limit' must be a whole number from 1 to {most}.", param="limit")


def flag_of(text: str | None, name: str) -> bool:
    """Raises InvalidRequest."""
    found = (text or "").lower()
    if found not in (*_TRUE, *_FALSE):
        raise InvalidRequest(f"'{name}' must be true or false.", param=name)
    return found in _TRUE


def event_number_of(text: str | None) -> int:
    """-1 for none. Raises InvalidRequest."""
    if text is None:
        return -1
    if text.isascii() and text.isdigit() and len(text) <= 16 and int(text) < _LARGEST_NUMBER:
        return int(text)
    raise InvalidRequest("'starting_after' must be the number of an event.", param="starting_after")
