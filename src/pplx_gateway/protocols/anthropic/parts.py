"""Blocks to parts of a turn: text, images and documents, and what they ask of an upstream."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from pplx_gateway import media
from pplx_gateway.capabilities import Feature, Use, by_address
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.protocols.anthropic.content import (
    Base64Source,
    Block,
    CompactionBlock,
    ContainerUploadBlock,
    ContentSource,
    DocumentBlock,
    FileSource,
    ImageBlock,
    SearchResultBlock,
    TextBlock,
    TextSource,
    ToolReferenceBlock,
    UrlSource,
)
from pplx_gateway.protocols.openai import attachments
from pplx_gateway.protocols.openai.attachments import Attached
from pplx_gateway.question import FilePart, ImagePart, Part, TextPart

F = Feature
T = TypeVar("T")
CACHE_CONTROL = "cache_control"
_UNSAFE_IN_NAME = re.compile(r"[^\w .()-]+")
_LONGEST_TITLE = 80


class Parts:
    """`uses`: what the blocks so far ask of an upstream. `idle`: what they carry without an effect, each kind once."""

    def __init__(self, attached: Attached) -> None:
        self.uses: list[Use] = []
        self.idle: dict[str, None] = {}
        self._attached = attached

    def of(self, block: Block, at: str) -> list[Part]:
        """A block that says nothing upstream has no parts. Raises InvalidRequest and its kinds."""
        self.look(block)
        handler = _HANDLERS.get(type(block))
        if handler is None:
            self.idle[f"messages[].content[] ({kind_of(block)})"] = None
            return []
        return list(handler(self, block, at))

    def look(self, block: Block) -> None:
        """For what has no effect in a block of any kind."""
        if block.cache_control is not None:
            self.idle[CACHE_CONTROL] = None
        citations = getattr(block, "citations", None)
        if citations and getattr(citations, "enabled", True):
            self.idle[f"messages[].content[].citations ({kind_of(block)})"] = None

    def text(self, block: TextBlock, _: str) -> Iterator[Part]:
        if block.text:
            yield TextPart(block.text)

    def image(self, block: ImageBlock, at: str) -> Iterator[Part]:
        match block.source:
            case Base64Source(media_type, data):
                part = attachments.image(f"data:{media_type};base64,{data}", f"{at}.source.data")
            case UrlSource(url):
                part = attachments.image(url, f"{at}.source.url")
            case FileSource(file_id):
                part = self._uploaded_image(file_id, f"{at}.source.file_id")
        yield self._used(part, at)

    def document(self, block: DocumentBlock, at: str) -> Iterator[Part]:
        if block.context and block.context.strip():
            yield TextPart(f"{block.title or 'About the document'}: {block.context}")
        if isinstance(block.source, ContentSource):
            for place, inner in enumerate(blocks(block.source.content, f"{at}.source.content")):
                yield from self.of(inner, f"{at}.source.content[{place}]")
        else:
            yield self._used(self._document(block.source, block.title, f"{at}.source"), at)

    def search_result(self, block: SearchResultBlock, _: str) -> Iterator[Part]:
        text = "\n".join(inner.text for inner in block.content)
        yield TextPart(f"{block.title}\n{block.source}\n\n{text}")

    def tool_reference(self, block: ToolReferenceBlock, _: str) -> Iterator[Part]:
        yield TextPart(block.tool_name)

    def compaction(self, block: CompactionBlock, _: str) -> Iterator[Part]:
        if block.content:
            yield TextPart(block.content)

    def container(self, _: ContainerUploadBlock, at: str) -> Iterator[Part]:
        raise InvalidRequest(f"'{at}': there is no container here. Use a document block.", param=f"{at}.type")

    def _document(
        self, source: Base64Source | UrlSource | FileSource | TextSource, title: str | None, at: str
    ) -> ImagePart | FilePart:
        match source:
            case Base64Source(media_type, data):
                name = _filename(title, media.ending_of(media.plain_type(media_type)))
                return attachments.document_data(f"data:{media_type};base64,{data}", name, f"{at}.data")
            case UrlSource(url):
                return attachments.document_address(url, _filename(title, "pdf"), f"{at}.url")
            case FileSource(file_id):
                return self._uploaded(file_id, f"{at}.file_id")
            case TextSource(data=text):
                if not text.strip():
                    raise InvalidRequest(f"'{at}.data' is empty.", param=f"{at}.data")
                return attachments.stored(media.PLAIN_TEXT, _filename(title, "txt"), text.encode(), f"{at}.data")

    def _uploaded(self, file_id: str, at: str) -> ImagePart | FilePart:
        part = self._attached.get(file_id)
        if part is None:
            raise attachments.no_such_file(at)
        return part

    def _uploaded_image(self, file_id: str, at: str) -> ImagePart:
        part = self._uploaded(file_id, at)
        if not isinstance(part, ImagePart):
            raise InvalidRequest(f"The file of '{at}' is no image. Use a document block.", param=at)
        return part

    def _used(self, part: ImagePart | FilePart, at: str) -> Part:
        image = isinstance(part, ImagePart)
        if image or not by_address(part):
            self.uses.append(Use(at, F.IMAGES_IN if image else F.FILES_IN))
        if by_address(part):
            self.uses.append(Use(f"{at}.source.url", F.IMAGE_ADDRESSES if image else F.FILE_ADDRESSES))
        return part


def kind_of(block: Block) -> str:
    return str(block.__struct_config__.tag)


def blocks(content: str | Sequence[T], at: str) -> Sequence[T | TextBlock]:
    """Raises InvalidRequest for an empty list."""
    if isinstance(content, str):
        return [TextBlock(text=content)]
    if not content:
        raise InvalidRequest(f"'{at}' is an empty list.", param=at)
    return content


def _filename(title: str | None, ending: str) -> str:
    """A title as the name of a file, with the ending that tells its type."""
    words = " ".join(_UNSAFE_IN_NAME.sub(" ", title or "").split())
    name = words[:_LONGEST_TITLE].strip(" .") or "document"
    return name if name.lower().endswith(f".{ending}") else f"{name}.{ending}"


_HANDLERS: dict[type, Callable[[Parts, Any, str], Iterator[Part]]] = {
    TextBlock: Parts.text,
    ImageBlock: Parts.image,
    DocumentBlock: Parts.document,
    SearchResultBlock: Parts.search_result,
    ToolReferenceBlock: Parts.tool_reference,
    CompactionBlock: Parts.compaction,
    ContainerUploadBlock: Parts.container,
}
