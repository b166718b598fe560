"""Values to JSON bytes. Half a surrogate pair, which no UTF-8 can hold, becomes U+FFFD instead of an error."""

import msgspec

_encode = msgspec.json.Encoder().encode


def encode_text(text: str) -> bytes:
    try:
        return _encode(text)
    except UnicodeEncodeError:
        return _encode(_mended(text))


def encode(value: object) -> bytes:
    try:
        return _encode(value)
    except UnicodeEncodeError:
        return _encode(_mend(msgspec.to_builtins(value)))


def _mend(value: object) -> object:
    match value:
        case str():
            return _mended(value)
        case list():
            return [_mend(item) for item in value]
        case dict():
            return {key: _mend(item) for key, item in value.items()}
        case _:
            return value


def _mended(text: str) -> str:
    """Two halves side by side come together; a lone one is replaced."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
