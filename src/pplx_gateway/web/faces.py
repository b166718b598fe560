"""What a path is about, for the ledger: whose dialect, and which operation. No id stands in either."""

from functools import lru_cache
from typing import NamedTuple

MIRROR = "/perplexity"
_PERPLEXITY = frozenset(
    {"sonar", "agent", "search", "contextualizedembeddings", "async/sonar", "async/chat/completions"}
)
_OTHERS = {"messages": "anthropic", "mcp": "mcp", "sse": "mcp"}
_OPERATIONS = (
    "async/chat/completions",
    "async/sonar",
    "chat/completions",
    "browser/sessions",
    "agent",
    "batches",
    "contextualizedembeddings",
    "decisions",
    "embeddings",
    "files",
    "mcp",
    "messages",
    "models",
    "responses",
    "search",
    "skills",
    "sonar",
    "sse",
    "usage",
)
WITHOUT_MODEL = {"search": "search", "batches": "batches", "skills": "skills", "browser/sessions": "browser"}
"""Those of the api alone that name no model, or several within a file; and what they go by in a key's `models`."""
COUNTED_WITHIN = frozenset({"mcp", "sse"})
"""Of their POSTs only some ask anything; which ones, their protocol knows (protocols/mcp/face.py)."""
OTHER = "other"


class Face(NamedTuple):
    protocol: str
    operation: str


@lru_cache(maxsize=256)
def face_of(path: str) -> Face:
    """`path` as paths.py leaves it."""
    mirrored = path == MIRROR or path.startswith(f"{MIRROR}/")
    bare = path.removeprefix(MIRROR) if mirrored else path
    native = not bare.startswith("/v1/")
    operation = _operation(bare.removeprefix("/v1").lstrip("/"))
    if mirrored or operation in _PERPLEXITY or (native and operation == "chat/completions"):
        return Face("perplexity", operation)
    return Face(_OTHERS.get(operation, "openai"), operation)


def _operation(rest: str) -> str:
    return next((name for name in _OPERATIONS if rest == name or rest.startswith(f"{name}/")), OTHER)
