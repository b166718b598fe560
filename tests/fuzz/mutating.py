"""Inputs that are nearly right: what stands in the corpus, with a few bytes lost, doubled, changed or put elsewhere.

`PPLX_FUZZ_EXAMPLES` says how many of each are tried; a long run is `PPLX_FUZZ_EXAMPLES=100000`.
"""

import json
import os
from collections.abc import Callable, Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

CORPUS = Path(__file__).parent / "corpus"
EXAMPLES = int(os.environ.get("PPLX_FUZZ_EXAMPLES", "150"))

_TOKENS = [
    b"\n\n",
    b"\r\n",
    b"\r",
    b"data: ",
    b"event: error\n",
    b": ping\n\n",
    b"data: [DONE]\n\n",
    b"null",
    b"{}",
    b"[]",
    b'""',
    b"-1",
    b"1e999",
    b"18446744073709551616",
    b"true",
    b'"\\ud800"',
    b"\\u0000",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"[" * 200,
    b'{"a":' * 200,
    b"</think>",
    b"[1]",
]
"""What readers stumble over."""


def corpus(folder: str) -> list[bytes]:
    """Every file of a folder of the corpus."""
    found = [file.read_bytes() for file in sorted((CORPUS / folder).iterdir())]
    assert found
    return found


@st.composite
def mutated(draw: Callable[[st.SearchStrategy[Any]], Any], folder: str) -> bytes:
    """One file of the corpus after up to six changes."""
    data = bytearray(draw(st.sampled_from(corpus(folder))))
    for _ in range(draw(st.integers(0, 6))):
        start, end = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        piece = bytes(data[start : min(end, start + 400)])
        match draw(st.sampled_from(["lose", "double", "put", "swap", "flip", "cut"])):
            case "lose":
                del data[start : start + len(piece)]
            case "double":
                data[start:start] = piece
            case "put":
                data[start:start] = draw(st.sampled_from(_TOKENS))
            case "swap":
                data[start : start + len(piece)] = draw(st.sampled_from(_TOKENS))
            case "flip" if start < len(data):
                data[start] ^= 1 << draw(st.integers(0, 7))
            case _:
                del data[end:]
    return bytes(data)


TEST_SECONDS = 0 if "PPLX_FUZZ_EXAMPLES" in os.environ else 120
"""After which a test has failed; 0 = never."""
fuzzed = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="PPLX_FUZZ_EXAMPLES" not in os.environ,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
"""The same examples in every run of the suite; new ones where their number is given."""

VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        False,
        0,
        -1,
        1.5,
        10**20,
        "",
        " ",
        "x",
        "auto",
        "user",
        "\0",
        "a" * 5000,
        [],
        {},
        [[]],
        [None],
        {"type": "text"},
    ]
) | st.text(max_size=8)


@st.composite
def mangled(draw: Callable[[st.SearchStrategy[Any]], Any], folder: str) -> bytes:
    """One JSON document of the corpus, with up to four of its values lost, doubled, moved or turned into others."""
    document = json.loads(draw(st.sampled_from(corpus(folder))))
    for _ in range(draw(st.integers(0, 4))):
        places = list(_places(document))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["lose", "change", "move", "double", "rename"])):
            case "lose":
                del holder[key]
            case "move":
                other, there = draw(st.sampled_from(places))
                holder[key] = json.loads(json.dumps(other[there])) if _has(other, there) else None
            case "double" if isinstance(holder, list):
                holder.insert(key, deepcopy(holder[key]))
            case "rename" if isinstance(holder, dict):
                holder[draw(st.sampled_from(["type", "content", "role", "name", "x", "id"]))] = holder.pop(key)
            case _:
                holder[key] = deepcopy(draw(VALUES))  # else the next change would be made to all of them
    return json.dumps(document).encode()


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every value in `value`, by what holds it and its key or index there."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        yield value, key
        yield from _places(child)


def _has(holder: Any, key: Any) -> bool:
    return key in holder if isinstance(holder, dict) else key < len(holder)
