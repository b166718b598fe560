"""Sentences about unknown fields that look like a slip of the pen."""

import difflib
from collections.abc import Iterator, Mapping, Sequence

import msgspec

_LONGEST_NAME = 64
_MOST_HINTS = 8


def hints(
    unknown: Sequence[str], request: msgspec.Struct, misnamed: Mapping[str, str], *, within: str = ""
) -> Iterator[str]:
    """One for each of the first unknown fields whose meaning can be guessed. `misnamed`: names of elsewhere, with
    what they are called in such a request. `within`: the path at which the request's own fields stand."""
    for name in unknown[:_MOST_HINTS]:
        if near := meant(name, request, misnamed):
            yield f"The field '{name}' does not exist and was ignored; did you mean '{within}{near}'?"


def meant(name: str, request: msgspec.Struct, misnamed: Mapping[str, str]) -> str | None:
    """The field of `request` that an unknown one can be taken for."""
    if len(name) > _LONGEST_NAME:
        return None
    return _meant(name, request.__struct_fields__, {**_MISNAMED, **misnamed})


def _meant(name: str, known: Sequence[str], misnamed: Mapping[str, str]) -> str | None:
    if name in misnamed:
        return misnamed[name]
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.85)
    return near[0] if near else None


_MISNAMED = {
    "search_after_date": "search_after_date_filter",
    "search_before_date": "search_before_date_filter",
    "date_after": "search_after_date_filter",
    "date_before": "search_before_date_filter",
    "after_date_filter": "search_after_date_filter",
    "before_date_filter": "search_before_date_filter",
    "published_after": "search_after_date_filter",
    "published_before": "search_before_date_filter",
    "last_updated_after": "last_updated_after_filter",
    "last_updated_before": "last_updated_before_filter",
    "recency": "search_recency_filter",
    "search_recency": "search_recency_filter",
    "domains": "search_domain_filter",
    "search_domain": "search_domain_filter",
    "search_context_size": "web_search_options.search_context_size",
    "user_location": "web_search_options.user_location",
    "max_results": "num_search_results",
}
