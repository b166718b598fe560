"""What a run finds and does besides its text: sources, images, steps, items of Perplexity's own.

The same things come as reasoning events, as finished items and in the final response; each is told once.
"""

from collections.abc import Iterable

import msgspec

from pplx_gateway.answer import Batch, Image, Images, NativeItem, SearchStep, Source, Sources
from pplx_gateway.upstreams.api.events import (
    ImageResult,
    NotJson,
    PageContent,
    SearchResult,
    Shape,
    T,
    value_of,
)

_RESULT = Shape(SearchResult)
_PAGE = Shape(PageContent)
_IMAGE = Shape(ImageResult)
_BLANK = Source(id=0, url="")


class Findings:
    """Each method returns the events for what is new, none if nothing is."""

    def __init__(self) -> None:
        self._sources: dict[int, Source] = {}
        self._addresses: set[str] = set()
        self._unnumbered = 0
        self._queries: set[str] = set()
        self._pages: set[str] = set()
        self._images: set[str] = set()
        self._natives: set[bytes] = set()
        self._items: set[int] = set()
        self._thought = ""

    def repeated(self, item: msgspec.Raw) -> bool:
        """True for an item that came before, byte by byte, as the final response repeats them."""
        digest = hash(bytes(item))  # 64 bits, keyed anew in each process: a run has few items
        known = digest in self._items
        self._items.add(digest)
        return known

    def thought(self, text: str | None) -> Batch:
        if not text or text == self._thought:
            return []
        self._thought = text
        return [SearchStep(kind="think", text=text)]

    def queries(self, queries: Iterable[str] | None) -> Batch:
        new = _new(queries, self._queries)
        return [SearchStep(kind="search", queries=new)] if new else []

    def pages(self, urls: Iterable[str] | None) -> Batch:
        new = _new(urls, self._pages)
        return [SearchStep(kind="read", urls=new)] if new else []

    def contents(self, contents: Iterable[msgspec.Raw] | None) -> Batch:
        return self.pages(page.url for page in entries(contents, _PAGE) if page.url)

    def sources(self, results: Iterable[msgspec.Raw] | None) -> Batch:
        found = [self._source(result) for result in entries(results, _RESULT)]
        changed = [source for source in found if source and self._sources.get(source.id) != source]
        self._sources.update((source.id, source) for source in changed)
        return [Sources(tuple(changed))] if changed else []

    def images(self, results: Iterable[msgspec.Raw] | None) -> Batch:
        found = {image.image_url: image for result in entries(results, _IMAGE) if (image := _image(result))}
        new = tuple(image for url, image in found.items() if url not in self._images)
        self._images.update(found)
        return [Images(new)] if new else []

    def native(self, raw: msgspec.Raw) -> Batch:
        """An item that only Perplexity's own dialect can show. Known again by its content, since few have an id."""
        data = msgspec.json.encode(value_of(raw))
        if data in self._natives:
            return []
        self._natives.add(data)
        return [NativeItem(data)]

    def _source(self, result: SearchResult) -> Source | None:
        if not result.url:
            return None
        number = _number(result.id)
        if number is None:
            if result.url in self._addresses:
                return None
            self._unnumbered += 1
            number = -self._unnumbered  # marks are not negative, so none can hit it
        self._addresses.add(result.url)
        return _merged(self._sources.get(number), number, result)


def entries(raws: Iterable[msgspec.Raw] | None, shape: Shape[T]) -> Iterable[T]:
    """Those of `raws` that are objects."""
    for raw in raws or ():
        try:
            value = shape.read(raw)
        except NotJson:
            continue
        if value is not None:
            yield value


def _new(found: Iterable[str] | None, known: set[str]) -> tuple[str, ...]:
    new = tuple(dict.fromkeys(entry for entry in found or () if entry and entry not in known))
    known.update(new)
    return new


def _number(identity: int | str | None) -> int | None:
    if isinstance(identity, str):
        identity = int(identity) if identity.isascii() and identity.isdigit() and len(identity) < 10 else None
    return identity if identity is not None and identity >= 0 else None


def _merged(known: Source | None, number: int, result: SearchResult) -> Source:
    """A repetition may be poorer than what came before: it adds and corrects, but does not blank."""
    old = known if known and known.url == result.url else _BLANK
    return Source(
        id=number,
        url=result.url or "",
        title=result.title or old.title,
        snippet=result.snippet or old.snippet,
        date=result.date or old.date,
        last_updated=result.last_updated or old.last_updated,
        kind=result.source or old.kind,
    )


def _image(result: ImageResult) -> Image | None:
    if not result.image_url:
        return None
    return Image(
        image_url=result.image_url,
        origin_url=result.origin_url,
        title=result.title,
        width=result.width,
        height=result.height,
    )
