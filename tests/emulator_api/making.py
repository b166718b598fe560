"""What is uploaded: batches, skills, images."""

import base64
import io
import json
import struct
import zipfile
import zlib
from typing import Any

Json = dict[str, Any]


def line(custom_id: str, question: str = "Which two rivers meet in Ghent?", **body: object) -> Json:
    """A request of a batch, for perplexity/sonar."""
    asked = {"model": "perplexity/sonar", "input": question, **body}
    return {"custom_id": custom_id, "method": "POST", "url": "/v1/responses", "body": asked}


def jsonl(*lines: Json) -> bytes:
    return b"".join(json.dumps(each).encode() + b"\n" for each in lines)


def skill(name: str = "tide-tables", description: str = "Reads tide tables", folder: str = "") -> bytes:
    return archive({f"{folder}SKILL.md": f"---\nname: {name}\ndescription: {description}\n---\nRead the table.\n"})


def archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as bundle:
        for path, text in files.items():
            bundle.writestr(zipfile.ZipInfo(path), text)  # its time stands still
    return packed.getvalue()


def form(content: bytes, filename: str = "upload.jsonl", **fields: str) -> tuple[bytes, dict[str, str]]:
    """A multipart body with `content` as its `file`, and the header that goes with it."""
    parts = [f'--edge\r\nContent-Disposition: form-data; name="{k}"\r\n\r\n{v}\r\n'.encode() for k, v in fields.items()]
    head = f'--edge\r\nContent-Disposition: form-data; name="file"; filename="{filename}"\r\n\r\n'.encode()
    body = b"".join(parts) + head + content + b"\r\n--edge--\r\n"
    return body, {"content-type": "multipart/form-data; boundary=edge"}


def png(width: int, height: int) -> str:
    """A data URL of a black picture."""
    rows = b"".join(b"\x00" + bytes(width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    packed = b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in chunks
    )
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + packed).decode()


def image(url: str) -> Json:
    return {"type": "image_url", "image_url": {"url": url}}
