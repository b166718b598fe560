"""What a kept response says, as far as MCP tells it."""

import re
from functools import cached_property

import msgspec
from pplx_agent_mcp import Source

_MARK = re.compile(r"\[(?:web:)?([0-9]{1,6})\]")


class _Text(msgspec.Struct):
    type: str = ""
    text: str = ""


class _Item(msgspec.Struct):
    type: str
    content: list[_Text] = []


class _Page(msgspec.Struct):
    id: int
    url: str
    title: str = ""


class Failure(msgspec.Struct):
    """`type` is the gateway's code."""

    message: str
    type: str


class Notes(msgspec.Struct):
    """What is told beside an answer (chat_objects.Extension)."""

    upstream: str = ""
    substituted_by: str | None = None
    failover: str | None = None
    needs_input: bool = False
    warnings: tuple[str, ...] = ()


class Kept(msgspec.Struct, dict=True):
    """A response object of `/v1/responses`."""

    id: str
    status: str
    model: str
    error: Failure | None = None
    output: list[_Item] = []
    search_results: list[_Page] = []
    pplx: Notes = msgspec.field(default_factory=Notes)

    @cached_property
    def answer(self) -> str:
        texts = (part.text for item in self.output if item.type == "message" for part in item.content)
        return "".join(texts)

    @cached_property
    def sources(self) -> list[Source]:
        """Each address once with all its numbers; those that the answer cites come first."""
        titles: dict[str, str] = {}
        numbers: dict[str, list[int]] = {}
        for page in self.search_results:
            titles.setdefault(page.url, " ".join(page.title.split()) or page.url)
            numbers.setdefault(page.url, []).append(page.id)
        found = [Source(title, url, tuple(numbers[url])) for url, title in titles.items()]
        return sorted(found, key=lambda source: self._marks.isdisjoint(source.numbers))

    @property
    def cited(self) -> int:
        """How many of the sources, from the first on, the answer cites."""
        return sum(not self._marks.isdisjoint(source.numbers) for source in self.sources)

    @cached_property
    def _marks(self) -> set[int]:
        return {int(number) for number in _MARK.findall(self.answer)}


def read(data: bytes) -> Kept:
    return msgspec.json.decode(data, type=Kept)
