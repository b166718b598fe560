"""Forms with one file in them (multipart/form-data), made."""

import secrets
from collections.abc import Mapping
from typing import NamedTuple

_ESCAPES = str.maketrans({'"': "%22", "\r": "%0D", "\n": "%0A"})  # as browsers write names


class Form(NamedTuple):
    """`content_type` goes into the header of the same name."""

    content_type: str
    body: bytes


def form(fields: Mapping[str, str], filename: str, content: bytes, kind: str) -> Form:
    """`fields` in their order, and then the part `file`, whose type is `kind`."""
    boundary = f"----form{secrets.token_hex(16)}"
    head = "".join(
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name.translate(_ESCAPES)}"\r\n\r\n{value}\r\n'
        for name, value in fields.items()
    )
    head += (
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{filename.translate(_ESCAPES)}"\r\n'
        f"Content-Type: {kind}\r\n\r\n"
    )
    body = b"".join((head.encode(), content, f"\r\n--{boundary}--\r\n".encode()))
    return Form(f"multipart/form-data; boundary={boundary}", body)
