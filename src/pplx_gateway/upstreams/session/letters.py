"""Letters beyond the BMP whose escaped halves came apart (`"\\ud83d"`, then `"\\udeb2"`).

Python can hold a half, but nothing can be sent that holds one: halves are joined, or replaced at the end.
"""

import re
from typing import Any

REPLACEMENT = "\ufffd"

_HALF = re.compile("[\ud800-\udfff]")
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")


def has_halves(text: str) -> bool:
    return not text.isascii() and _HALF.search(text) is not None


def paired(text: str) -> str:
    """Halves that stand side by side become one letter."""
    if not has_halves(text):
        return text
    return _PAIR.sub(lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), text)


def whole(text: str) -> str:
    """`paired`, and a half that stands alone becomes U+FFFD."""
    return _HALF.sub(REPLACEMENT, paired(text)) if has_halves(text) else text


def split_last_half(text: str) -> tuple[str, str]:
    """`text` without the first half of a letter at its end, and that half."""
    if text and "\ud800" <= text[-1] <= "\udbff":
        return text[:-1], text[-1]
    return text, ""


def whole_value(value: Any) -> Any:
    """`whole` for every string in a JSON value."""
    match value:
        case str():
            return whole(value)
        case list():
            return [whole_value(item) for item in value]
        case dict():
            return {whole(key): whole_value(item) for key, item in value.items()}
        case _:
            return value
