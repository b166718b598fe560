"""What a request names by id and somebody must look up before it can be prepared: uploaded files, and kept items.

Nothing is checked here; whatever has another shape than it should is found when the items are read.
"""

from collections.abc import Iterable, Iterator

import msgspec

from pplx_gateway.protocols.openai.responses.conversation import CHAIN
from pplx_gateway.protocols.openai.responses.items import type_of
from pplx_gateway.protocols.openai.responses.request import ResponsesRequest


def named_files(
    request: ResponsesRequest, context: Iterable[bytes] = (), referred: Iterable[bytes] = ()
) -> Iterator[tuple[str, str]]:
    """Ids of files with their paths, first those in kept items: `context` of the responses before, `referred` what the
    request's item references name."""
    yield from ((file_id, CHAIN) for file_id in _kept_files(context))
    yield from ((file_id, "input") for file_id in _kept_files(referred))
    for index, fields in enumerate(request.input if isinstance(request.input, list) else ()):
        yield from ((file_id, f"input[{index}].{at}") for file_id, at in _files(fields))


def item_references(request: ResponsesRequest) -> Iterator[tuple[str, str]]:
    """Ids of items with their paths."""
    for index, fields in enumerate(request.input if isinstance(request.input, list) else ()):
        item_id = fields.get("id")
        if type_of(fields) == "item_reference" and isinstance(item_id, str):
            yield item_id, f"input[{index}].id"


def _kept_files(items: Iterable[bytes]) -> Iterator[str]:
    for kept in items:
        if b'"file_id"' in kept:
            yield from (file_id for file_id, _ in _files(msgspec.json.decode(kept)))


def _files(fields: object) -> Iterator[tuple[str, str]]:
    content = fields.get("content") if isinstance(fields, dict) else None
    for place, part in enumerate(content if isinstance(content, list) else ()):
        if isinstance(part, dict) and isinstance(file_id := part.get("file_id"), str):
            yield file_id, f"content[{place}].file_id"
