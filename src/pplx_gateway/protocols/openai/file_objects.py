"""A file as `/v1/files` tells of it."""

import msgspec


class FileInfo(msgspec.Struct, frozen=True, kw_only=True):
    """`bytes` is the size; times are seconds since the epoch."""

    id: str
    object: str = "file"
    bytes: int
    created_at: int
    expires_at: int | None = None
    filename: str
    purpose: str
    status: str = "processed"


class FileList(msgspec.Struct, frozen=True, kw_only=True):
    object: str
    data: list[FileInfo]
    first_id: str | None
    last_id: str | None
    has_more: bool


class FileDeleted(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    object: str
    deleted: bool


def file_list(files: list[FileInfo], *, has_more: bool) -> FileList:
    ends = (files[0].id, files[-1].id) if files else (None, None)
    return FileList(object="list", data=files, first_id=ends[0], last_id=ends[1], has_more=has_more)
