"""Lists in pages, in the two ways of this API: by the last id that was seen, and by a token for the next page."""

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from starlette.datastructures import QueryParams

from pplx_gateway.emulator.agent.errors import ApiError

T = TypeVar("T")

USUAL_LIMIT = 20
HIGHEST_LIMIT = 100


def by_id(
    items: Sequence[T], query: QueryParams, id_of: Callable[[T], str], view: Callable[[T], Any]
) -> dict[str, Any]:
    """`after` and `limit` over `items`, which are in the order of the list. Raises ApiError 400."""
    start, after = 0, query.get("after")
    if after is not None:
        places = {id_of(item): place for place, item in enumerate(items)}
        if after not in places:
            raise ApiError(400, f'no entry with the id "{after[:80]}"', param="after")
        start = places[after] + 1
    shown, more = _cut(items, start, query)
    ids = [id_of(item) for item in shown]
    return {
        "object": "list",
        "data": [view(item) for item in shown],
        "first_id": ids[0] if ids else None,
        "last_id": ids[-1] if ids else None,
        "has_more": more,
    }


def by_token(items: Sequence[T], query: QueryParams, name: str, view: Callable[[T], Any]) -> dict[str, Any]:
    """`page_token` and `limit` over `items`; the last page has no `next_page_token`. Raises ApiError 400."""
    start = _place(query.get("page_token"))
    shown, more = _cut(items, start, query)
    page: dict[str, Any] = {name: [view(item) for item in shown]}
    if more:
        page["next_page_token"] = base64.urlsafe_b64encode(b"at:%d" % (start + len(shown))).decode()
    return page


def one_of(query: QueryParams, name: str, allowed: Sequence[str]) -> str | None:
    """The value of `name`, None if there is none. Raises ApiError 400."""
    value = query.get(name)
    if value is not None and value not in allowed:
        raise ApiError(400, f"{name} must be one of {', '.join(allowed)}", param=name)
    return value


def _cut(items: Sequence[T], start: int, query: QueryParams) -> tuple[Sequence[T], bool]:
    limit = _limit(query.get("limit"))
    return items[start : start + limit], start + limit < len(items)


def _limit(given: str | None) -> int:
    if given is None:
        return USUAL_LIMIT
    if not given.isascii() or not given.isdigit() or not 1 <= int(given) <= HIGHEST_LIMIT:
        raise ApiError(400, f"limit must be between 1 and {HIGHEST_LIMIT}", param="limit")
    return int(given)


def _place(token: str | None) -> int:
    if token is None:
        return 0
    try:
        mark, _, number = base64.urlsafe_b64decode(token).decode().partition(":")
        if mark == "at":
            return int(number)
    except (binascii.Error, ValueError):
        pass
    raise ApiError(400, "page_token is not valid", param="page_token")
