"""Keeps a call from coming out as text where none may come out.

After calls of functions a model may go on proposing them, although it was told that none can be made. Ordinary text
passes at once; only what begins as a proposal is held back until it is whole.
"""

import re

from pplx_gateway.errors import ToolProtocolError
from pplx_gateway.upstreams.session.functions.proposal import looks_like_calls
from pplx_gateway.upstreams.session.outlet import TextCleaner

_BEGUN = re.compile(r"\s*(?:`{3,}[a-z]*\s*)?\{\s*\"tool_calls\"", re.IGNORECASE)
_MAY_BEGIN = re.compile(r"\s*(?:`{0,3}|`{3,}[a-z]*\s*|(?:`{3,}[a-z]*\s*)?\{\s*(?:\"\w{0,10})?)", re.IGNORECASE)
_LONGEST_BEGINNING = 256


class CallGuard:
    """A stage of the text, after `inner`. `close` raises ToolProtocolError for a proposal of calls."""

    def __init__(self, inner: TextCleaner) -> None:
        self._inner = inner
        self._held: list[str] = []
        self._passing = False
        self._begun = False

    def feed(self, text: str) -> str:
        return self._guarded(self._inner.feed(text))

    def close(self) -> str:
        rest = self._guarded(self._inner.close())
        held = "".join(self._held)
        if looks_like_calls(held):
            raise ToolProtocolError("Perplexity proposed a function call although none was allowed.")
        return rest + held

    def _guarded(self, text: str) -> str:
        if self._passing:
            return text
        self._held.append(text)
        if self._begun or self._may_begin():
            return ""
        held, self._held, self._passing = "".join(self._held), [], True
        return held

    def _may_begin(self) -> bool:
        beginning = "".join(self._held)
        self._begun = _BEGUN.match(beginning) is not None
        return self._begun or (len(beginning) < _LONGEST_BEGINNING and _MAY_BEGIN.fullmatch(beginning) is not None)
