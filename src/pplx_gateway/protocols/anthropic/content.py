"""The blocks of a message, as callers write them. The `type` of a block chooses its struct.

What a block carries without an effect is declared only where callers are told of it; other keys of blocks are skipped.
"""

import msgspec

CacheControl = dict[str, object]


class Block(msgspec.Struct, frozen=True, kw_only=True):
    """`cache_control` has no effect: the upstreams cache by themselves."""

    cache_control: CacheControl | None = None


class CitationsSwitch(msgspec.Struct, frozen=True):
    enabled: bool | None = None


class TextBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="text"):
    """`citations` are those of an answer that is given back."""

    text: str
    citations: list[object] | None = None


class Base64Source(msgspec.Struct, frozen=True, tag_field="type", tag="base64"):
    """Bare base64, without a `data:` before it."""

    media_type: str
    data: str


class UrlSource(msgspec.Struct, frozen=True, tag_field="type", tag="url"):
    url: str


class FileSource(msgspec.Struct, frozen=True, tag_field="type", tag="file"):
    """A file that was uploaded to the gateway (`/v1/files`)."""

    file_id: str


class TextSource(msgspec.Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    data: str
    media_type: str = "text/plain"


class ImageBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="image"):
    source: Base64Source | UrlSource | FileSource


class ContentSource(msgspec.Struct, frozen=True, tag_field="type", tag="content"):
    """A document that is made of blocks."""

    content: str | list[TextBlock | ImageBlock]


class DocumentBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="document"):
    source: Base64Source | UrlSource | FileSource | TextSource | ContentSource
    title: str | None = None
    context: str | None = None
    citations: CitationsSwitch | None = None


class SearchResultBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="search_result"):
    source: str
    title: str
    content: list[TextBlock]
    citations: CitationsSwitch | None = None


class ToolReferenceBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="tool_reference"):
    tool_name: str


ResultContent = TextBlock | ImageBlock | DocumentBlock | SearchResultBlock | ToolReferenceBlock


class ToolResultBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="tool_result"):
    tool_use_id: str
    content: str | list[ResultContent] | None = None
    is_error: bool | None = None


class ToolUseBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="tool_use"):
    id: str
    name: str
    input: dict[str, object]


class ThinkingBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="thinking"):
    """Whoever signed it, it comes back without an effect: no upstream takes thoughts."""

    thinking: str
    signature: str | None = None


class RedactedThinkingBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="redacted_thinking"):
    data: str


class CompactionBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="compaction"):
    """What was said before, summarised."""

    content: str | None = None


class ContainerUploadBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="container_upload"):
    """Refused: there is no container."""


class ServerToolUseBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="server_tool_use"):
    """What the server did on the way comes back without an effect, here and in its kinds of results."""


class GivenWebSearch(Block, frozen=True, kw_only=True, tag_field="type", tag="web_search_tool_result"):
    pass


class GivenWebFetch(Block, frozen=True, kw_only=True, tag_field="type", tag="web_fetch_tool_result"):
    pass


class GivenCode(Block, frozen=True, kw_only=True, tag_field="type", tag="code_execution_tool_result"):
    pass


class GivenBash(Block, frozen=True, kw_only=True, tag_field="type", tag="bash_code_execution_tool_result"):
    pass


class GivenEditor(Block, frozen=True, kw_only=True, tag_field="type", tag="text_editor_code_execution_tool_result"):
    pass


class GivenToolSearch(Block, frozen=True, kw_only=True, tag_field="type", tag="tool_search_tool_result"):
    pass


class McpToolUseBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="mcp_tool_use"):
    pass


class McpToolResultBlock(Block, frozen=True, kw_only=True, tag_field="type", tag="mcp_tool_result"):
    pass


Past = (
    ThinkingBlock
    | RedactedThinkingBlock
    | ServerToolUseBlock
    | GivenWebSearch
    | GivenWebFetch
    | GivenCode
    | GivenBash
    | GivenEditor
    | GivenToolSearch
    | McpToolUseBlock
    | McpToolResultBlock
)
"""What an answer holds beside its words and calls."""
UserBlock = (
    TextBlock
    | ImageBlock
    | DocumentBlock
    | SearchResultBlock
    | ToolResultBlock
    | CompactionBlock
    | ContainerUploadBlock
)
AssistantBlock = TextBlock | ToolUseBlock | CompactionBlock | Past
