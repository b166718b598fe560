"""One upload on its way from the form to the store."""

from contextlib import AsyncExitStack
from types import TracebackType
from typing import Self

from pplx_gateway import media
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.store import Arriving, Details, Files, StoredFile
from pplx_gateway.web.forms import Field, FileBegin, FileBytes, FormEvent, FormReader
from pplx_gateway.web.limits import file_too_large

PURPOSES = ("assistants", "fine-tune", "vision", "user_data", "evals")
BATCH = "batch"

ANCHOR, SECONDS = "expires_after[anchor]", "expires_after[seconds]"
SHORTEST_LIFE_SECONDS, LONGEST_LIFE_SECONDS = 3600, 30 * 24 * 3600
_KNOWN = ("purpose", ANCHOR, SECONDS)


class EmptyFile(InvalidRequest):
    code = "empty_file"


class WrongFileType(InvalidRequest):
    code = "file_type_mismatch"


class Upload:
    """Feed `take` the form's events, then `keep`. A context manager: what was not kept is undone.

    `length` is the whole body's, None if the caller did not tell: room for the file is then reserved for as long as one
    may be. Everything raises InvalidRequest with the form's field as `param`, TooLarge, StorageFull, StoreUnavailable.
    """

    def __init__(self, files: Files, caller: str, form: FormReader, *, length: int | None, most_bytes: int) -> None:
        self.unknown: list[str] = []
        self._files = files
        self._caller = caller
        self._form = form
        self._length = length
        self._most_bytes = most_bytes
        self._fields: dict[str, str] = {}
        self._file: FileBegin | None = None
        self._filename = ""
        self._head = b""
        self._arriving: Arriving | None = None
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def take(self, event: FormEvent) -> None:
        match event:
            case Field(name, value):
                self._field(name, value)
            case FileBegin():
                self._begin(event)
            case FileBytes(data, offset):
                await self._write(data, offset)

    async def keep(self) -> StoredFile:
        purpose = self._fields.get("purpose")
        if self._file is None:
            raise InvalidRequest(
                "Missing required parameter: 'file', a part of the form with a filename.", param="file"
            )
        if purpose is None:
            raise InvalidRequest("Missing required parameter: 'purpose'.", param="purpose")
        if self._arriving is None:
            raise EmptyFile("'file' is empty.", param="file")
        if purpose == BATCH:
            self.unknown += [name for name in (ANCHOR, SECONDS) if name in self._fields]
        kind = kind_of(self._file.content_type, self._filename, self._head)
        details = Details(filename=self._filename, kind=kind, purpose=purpose, keep_seconds=self._life())
        return await self._arriving.keep(details)

    def _field(self, name: str, value: str) -> None:
        if name == "file":
            raise InvalidRequest("'file' must be a file: a part of the form with a filename.", param="file")
        if name == "purpose":
            check_purpose(value)
        if name in _KNOWN:
            self._fields[name] = value
        else:
            self.unknown.append(name)

    def _begin(self, file: FileBegin) -> None:
        if file.name != "file" or self._file is not None:
            raise InvalidRequest("The form must hold one file, and its name must be 'file'.", param="file")
        try:
            self._filename = media.base_name(file.filename)
        except ValueError as error:
            raise InvalidRequest(f"The filename {error}.", param="file") from None
        self._file = file

    async def _write(self, data: bytes, offset: int) -> None:
        if self._arriving is None:
            self._arriving = await self._reserve(offset)
        if self._arriving.size + len(data) > self._most_bytes:
            raise file_too_large(self._most_bytes)
        if len(self._head) < media.HEAD_BYTES:
            self._head += data[: media.HEAD_BYTES - len(self._head)]
        await self._arriving.write(data)

    async def _reserve(self, offset: int) -> Arriving:
        """As much as can still come, which is the file's very size where it is the last part of the form."""
        if self._length is None:
            room = self._files.receive(self._caller, least=1, most=self._most_bytes)
        else:
            size = min(self._most_bytes, max(1, self._length - offset - self._form.tail_bytes))
            room = self._files.receive(self._caller, least=size, most=size)
        return await self._stack.enter_async_context(room)

    def _life(self) -> int | None:
        anchor, seconds = self._fields.get(ANCHOR), self._fields.get(SECONDS)
        if anchor is None and seconds is None:
            return None
        if anchor != "created_at":
            raise InvalidRequest(f"'{ANCHOR}' must be 'created_at'.", param=ANCHOR)
        allowed = range(SHORTEST_LIFE_SECONDS, LONGEST_LIFE_SECONDS + 1)
        if seconds is None or not seconds.isascii() or not seconds.isdigit() or int(seconds) not in allowed:
            limits = f"{SHORTEST_LIFE_SECONDS} to {LONGEST_LIFE_SECONDS}"
            raise InvalidRequest(f"'{SECONDS}' must be a whole number from {limits}.", param=SECONDS)
        return int(seconds)


def check_purpose(purpose: str) -> None:
    """Raises InvalidRequest."""
    if purpose not in (*PURPOSES, BATCH):
        raise InvalidRequest(f"'purpose' must be one of: {', '.join((*PURPOSES, BATCH))}.", param="purpose")


def kind_of(content_type: str, filename: str, head: bytes) -> str:
    """The file's media type: as it came, else by its name, else by its first bytes. Raises WrongFileType if the bytes
    are something else."""
    told = media.plain_type(content_type)
    if told in media.VAGUE_TYPES:
        told = media.by_name(filename) or ""
    if told and media.contradicts(told, head):
        raise WrongFileType(f"The file is said to be {told}, but its bytes are something else.", param="file")
    return told or media.by_head(head) or (media.PLAIN_TEXT if media.reads_as_text(head) else media.ANY_BYTES)
