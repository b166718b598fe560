"""Uploaded files that a request names by id: found and read before the question is put together."""

from collections.abc import Iterable, Iterator

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai.attachments import Attached, no_such_file, stored
from pplx_gateway.protocols.openai.chat_request import ChatRequest, UserMessage
from pplx_gateway.protocols.openai.content import FileContent
from pplx_gateway.question import FilePart, ImagePart

MAX_FILES = 30


async def attached(request: ChatRequest, gateway: Gateway, caller: str) -> Attached:
    """What the files hold that a chat request names. Raises as `read_files` does."""
    return await read_files(_named_files(request), gateway, caller)


async def read_files(named: Iterable[tuple[str, str]], gateway: Gateway, caller: str) -> Attached:
    """What the caller's files hold, each read once; `named` are ids with their paths in the request.

    Raises FileNotFound (for other callers' files too), InvalidRequest, TooLarge, StoreUnavailable.
    """
    found: dict[str, ImagePart | FilePart] = {}
    for file_id, at in named:
        if file_id in found:
            continue
        if len(found) == MAX_FILES:
            where = at.partition("[")[0]
            raise InvalidRequest(f"'{where}' names more than {MAX_FILES} files.", param=where)
        file = await gateway.files.find(caller, file_id)
        content = None if file is None else await gateway.files.read(file)
        if file is None or content is None:
            raise no_such_file(at)
        found[file_id] = stored(file.kind, file.filename, content, at)
    return found


def _named_files(request: ChatRequest) -> Iterator[tuple[str, str]]:
    for index, message in enumerate(request.messages):
        if not isinstance(message, UserMessage) or not isinstance(message.content, list):
            continue
        for place, part in enumerate(message.content):
            if isinstance(part, FileContent) and part.file.file_id is not None:
                yield part.file.file_id, f"messages[{index}].content[{place}].file.file_id"
