"""The answer's text, put together once although the upstream sends it up to four times.

Deltas bring it; `output_text.done`, the finished item and the final response repeat it. What a repetition has beyond
the deltas is the missing tail; nothing is ever sent again.
"""

Segment = tuple[int | str | None, int]
"""Which part of which item: (output index or item id, content index)."""

_HIGH_HALVES = ("\ud800", "\udbff")


class Transcript:
    """All methods return the text to send on, which may be empty.

    `contradicted`: a repetition said something else than the deltas. They were sent already, so they stand.
    """

    def __init__(self) -> None:
        self.contradicted = False
        self._segments: dict[Segment, list[str]] = {}
        self._half = ""  # half of a character; its other half opens the next delta

    @property
    def blank(self) -> bool:
        """True if nothing but white space has come."""
        return not any(piece and not piece.isspace() for pieces in self._segments.values() for piece in pieces)

    def extend(self, segment: Segment, delta: str) -> str:
        if self._half:
            return self.extend_halves(segment, delta)
        pieces = self._segments.get(segment)
        if pieces is None:
            self._segments[segment] = [delta]
        else:
            pieces.append(delta)
        return delta

    def extend_halves(self, segment: Segment, delta: str) -> str:
        """The same for a delta in which lone surrogate halves may stand: the last one waits for its partner."""
        text, self._half = _whole_characters(self._half + delta)
        self._segments.setdefault(segment, []).append(text)
        return text

    def settle(self, segment: Segment, text: str) -> str:
        """`text` is the whole of `segment`."""
        return self._catch_up(segment, "".join(self._segments.get(segment, ())), text)

    def complete(self, text: str) -> str:
        """`text` is the whole answer."""
        sent = "".join(piece for pieces in self._segments.values() for piece in pieces)
        return self._catch_up(("rest", 0), sent, text)

    def _catch_up(self, segment: Segment, sent: str, whole: str) -> str:
        if not whole.startswith(sent):
            self.contradicted = True
            return ""
        missing = whole[len(sent) :]
        if missing:
            self._half = ""
            self._segments.setdefault(segment, []).append(missing)
        return missing

    def flush(self) -> str:
        """What is left of a half whose partner never came."""
        rest, self._half = "\ufffd" if self._half else "", ""
        return rest


def _whole_characters(text: str) -> tuple[str, str]:
    """Joins surrogate pairs and replaces lone halves, but for a high one at the end, which is returned apart."""
    first, last = _HIGH_HALVES
    half = text[-1] if text and first <= text[-1] <= last else ""
    body = text[: len(text) - len(half)]
    return body.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"), half
