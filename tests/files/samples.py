"""Small files, and how questions carry them."""

import base64
from typing import Any

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64))
JPEG = b"\xff\xd8\xff\xe0" + bytes(64)
PDF = b"%PDF-1.7\n1 0 obj\n"


def url(kind: str, content: bytes) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def image(content: bytes = PNG, kind: str = "image/png") -> dict[str, Any]:
    return {"type": "image_url", "image_url": {"url": url(kind, content)}}


def document(filename: str, content: bytes = PDF, kind: str = "application/pdf") -> dict[str, Any]:
    return {"type": "file", "file": {"filename": filename, "file_data": url(kind, content)}}


def by_id(file_id: str) -> dict[str, Any]:
    return {"type": "file", "file": {"file_id": file_id}}


def user(text: str, *parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}, *parts]}


def chat(*messages: dict[str, Any], model: str = "gpt", **fields: Any) -> dict[str, Any]:
    return {"model": model, "messages": list(messages), **fields}
