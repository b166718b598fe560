"""Values to JSON bytes. Half a surrogate pair, which no UTF-8 can hold, becomes U+FFFD instead of an error."""

import msgspec

# Raises UnicodeEncodeError where a half would have to be mended, for those who must know.
encode_whole = msgspec.json.Encoder().encode


def encode_text(text: str) -> bytes:
    try:
        return encode_whole(text)
    except UnicodeEncodeError:
        return encode_whole(mended(text))


def encode(value: object) -> bytes:
    try:
        return encode_whole(value)
    except UnicodeEncodeError:
        return encode_whole(_mend(msgspec.to_builtins(value, enc_hook=_opened)))


def _opened(value: object) -> object:
    """JSON that stands in a value as it came. Raises TypeError for anything else that is no value."""
    if isinstance(value, msgspec.Raw):
        return msgspec.json.decode(value)
    raise TypeError(f"{type(value).__name__} is nothing for JSON")


def _mend(value: object) -> object:
    match value:
        case str():
            return mended(value)
        case list() | tuple():
            return [_mend(item) for item in value]
        case dict():
            return {_mend(key): _mend(item) for key, item in value.items()}
        case _:
            return value


def mended(text: str) -> str:
    """Two halves side by side come together; a lone one is replaced. Other text stays as it is."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
