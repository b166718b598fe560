"""A search that is narrowed twice: by the request's own search fields, and by a search tool that it offers."""

from collections.abc import Mapping

import msgspec

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import Search


def narrowed(search: Search, tool: Search, places: Mapping[str, str]) -> Search:
    """`search` with what `tool` says of the fields named in `places`, each with its path in the request. Raises
    InvalidRequest where the two contradict each other."""
    for option, where in places.items():
        wanted, before = getattr(tool, option), getattr(search, option)
        if wanted and before and wanted != before:
            raise InvalidRequest(f"'{where}' contradicts the search fields of the request.", param=where)
        if wanted:
            search = msgspec.structs.replace(search, **{option: wanted})
    return search
