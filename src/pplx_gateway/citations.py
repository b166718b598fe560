"""Citation marks in answer text: `[3]` and `[web:3]`, where the number is a source's id, never a position.

What is a mark: the bracketed number of a known source, in prose (markdown.py). Not a mark: `[1](...)` and what stands
right before `](` (links), `[1]:` at the start of a line (a definition), `[^1]`, `[[1]`, `\\[1]`, and what is in the
address of a link. A Markdown link whose address is a known source's URL is a citation too: some models write those
instead of marks. Offsets count code points of the text as sent.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Literal, NamedTuple

from pplx_gateway.answer import Annotation, Source
from pplx_gateway.markdown import CodeScanner, Segment

Marks = Literal["strip", "keep", "link"]

HIGHEST_CITATION = 200
"""The greatest id for which `citation_urls` makes room."""

_HIGHEST_GUESS = 99
_ADDRESS_LIMIT = 4096
_LABEL_LIMIT = 16
_LINE_HEAD = " \t>*+-"

_SPECIAL = re.compile(r"[\\\[\]]")  # every token begins with one, and a search for these is ten times as fast
_TOKEN = re.compile(
    r"(?P<mark>\[(?P<web>web:)?(?P<id>0|[1-9][0-9]{0,3})\])"
    r"|(?P<partial>(?:\\|\]|\[(?:w(?:eb?)?|web:[0-9]{0,4}|[0-9]{0,4}))\Z)"
    r"|(?P<escape>\\[\\\[\]]?)"
    r"|(?P<address>\]\()"
    r"|(?P<open>\[)"
    r"|(?P<close>\])"
)
_PLAIN = re.compile(r"[^\\\[\]`\n]+")
_ADDRESS_TOKEN = re.compile(r"[()\s]")
_UNSAFE = re.compile(
    r'[\x00-\x20\x7f-\xa0()<>\\"`|\u1680\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\udfff\ufeff]'
)
_LINKABLE = re.compile(r"https?://[^/\s]", re.IGNORECASE)
_TITLE_MARKUP = re.compile(r"[\\`\[\]<>]")


class _Found(NamedTuple):
    """A place in the text as sent, and what it cites: a source's id, or an address."""

    start: int
    end: int
    cites: int | str


class _Address(NamedTuple):
    """The address of a Markdown link that is being read."""

    label_start: int | None
    pieces: list[str]


class CitationFilter:
    """Strips marks or turns them into links, and remembers where they stood.

    `sources` is read at each mark and at the end, and may grow in between. Where it holds any, only their ids are
    marks. While it is empty, "strip" takes out every `[1]` to `[99]` and `[web:n]` if `expect_sources`, and "link"
    changes nothing. A mark that stays in the text is still annotated if its source comes later.

    `feed` holds back what may become a mark or code, `close` returns it; feeding may go on after that. The joined text
    does not depend on how it was cut, as long as the sources come at the same places.
    """

    def __init__(self, marks: Marks, sources: Mapping[int, Source], *, expect_sources: bool = True) -> None:
        self._marks = marks
        self._sources = sources
        self._expect_sources = expect_sources
        self._scanner = CodeScanner()
        self._held = ""
        self._out: list[str] = []
        self._sent = 0
        self._last = ""  # the last character that was read
        self._bare_line = True  # the line so far is indent and markers, so `[1]:` would be a definition
        self._labels: list[int] = []
        self._address: _Address | None = None
        self._depth = 0
        self._address_room = 0
        self._found: list[_Found] = []

    def feed(self, text: str) -> str:
        if _PLAIN.fullmatch(text) and self._in_prose:  # as nearly all of it is
            self._sent += len(text)
            self._last = text[-1]
            return text
        return self._filtered(self._scanner.feed(text), final=False)

    def close(self) -> str:
        return self._filtered(self._scanner.close(), final=True)

    def annotations(self) -> tuple[Annotation, ...]:
        """Those whose source is known by now, in order of place."""
        by_url: dict[str, Source] = {}
        for known in sorted(self._sources.values(), key=lambda known: known.id, reverse=True):
            by_url[known.url] = by_url[escaped_url(known.url)] = known
        by_url.pop("", None)
        return tuple(
            Annotation(start=start, end=end, source=source)
            for start, end, cites in sorted(self._found, key=lambda found: found[:2])
            if (source := by_url.get(cites) if isinstance(cites, str) else self._sources.get(cites)) is not None
        )

    @property
    def _in_prose(self) -> bool:
        """Within a line of prose, and nothing is held back: what is plain changes nothing but the place."""
        return not (self._held or self._address or self._bare_line) and self._scanner.in_line

    def _filtered(self, segments: Iterable[Segment], *, final: bool) -> str:
        for segment in segments:
            if segment.code:
                self._prose("", final=True)
                self._pass(segment.text)
                self._address = None
            else:
                self._prose(segment.text, final=False)
        if final:
            self._prose("", final=True)
            self._address = None
        out = "".join(self._out)
        self._out.clear()
        return out

    def _prose(self, more: str, *, final: bool) -> None:
        """`final`: what follows is the end of the text, or code."""
        text, self._held = self._held + more, ""
        position = 0
        while position < len(text):
            if self._address is not None:
                position = self._read_address(self._address, text, position)
                continue
            special = _SPECIAL.search(text, position)
            token = _TOKEN.match(text, special.start()) if special else None
            if token is None:
                self._pass(text[position:])
                return
            if token.start() > position:
                self._pass(text[position : token.start()])
            end = self._read_token(token, text, final)
            if end is None:
                self._held = text[token.start() :]
                return
            position = end

    def _read_token(self, token: re.Match[str], text: str, final: bool) -> int | None:
        """Where to go on; None = more text is needed."""
        kind = token.lastgroup
        if kind == "mark":
            return self._read_mark(token, text, final)
        if kind == "partial":
            if not final:
                return None
            kind = {"[": "open", "]": "close"}.get(token[0][0], "escape")
        if kind == "open":
            self._open_label()
        elif kind == "close":
            self._close_label()
        elif kind == "address":
            self._address = _Address(self._close_label(), [])
            self._depth = 0
            self._address_room = _ADDRESS_LIMIT
        self._pass(token[0])
        return token.end()

    def _read_mark(self, token: re.Match[str], text: str, final: bool) -> int | None:
        ahead = text[token.end() : token.end() + 2]
        if ahead in ("", "]") and not final:
            return None
        if ahead.startswith("("):
            self._open_label()
            self._pass(token[0][:-1])
            return token.end() - 1
        if self._last == "[" or ahead == "](" or (ahead.startswith(":") and self._bare_line):
            self._pass(token[0])
        else:
            self._place(token[0], int(token["id"]), web=token["web"] is not None)
        return token.end()

    def _place(self, mark: str, source_id: int, *, web: bool) -> None:
        source = self._sources.get(source_id)
        start = self._sent
        if self._marks == "strip" and (source is not None or self._guessed(source_id, web=web)):
            self._last, self._bare_line = "]", False
        elif self._marks == "link" and source is not None and _LINKABLE.match(source.url) and self._last != "!":
            self._pass(f"{mark}({escaped_url(source.url)})")
        else:
            self._pass(mark)
        self._found.append(_Found(start, self._sent, source_id))

    def _guessed(self, source_id: int, *, web: bool) -> bool:
        return self._expect_sources and not self._sources and (web or 1 <= source_id <= _HIGHEST_GUESS)

    def _read_address(self, address: _Address, text: str, start: int) -> int:
        limit = start + self._address_room
        token = _ADDRESS_TOKEN.search(text, start, limit)
        end = token.end() if token else min(limit, len(text))
        self._address_room -= end - start
        self._pass(text[start:end])
        char = token[0] if token else ""
        self._depth += {"(": 1, ")": -1}.get(char, 0)
        if self._depth < 0:
            self._end_address(address, text[start : end - 1])
        elif char.isspace() or self._address_room <= 0:
            self._address = None
        else:
            address.pieces.append(text[start:end])
        return end

    def _end_address(self, address: _Address, last: str) -> None:
        self._address = None
        if address.label_start is not None:
            url = "".join((*address.pieces, last))
            self._found.append(_Found(address.label_start, self._sent, url.removeprefix("<").removesuffix(">")))

    def _open_label(self) -> None:
        self._labels.append(self._sent)
        del self._labels[:-_LABEL_LIMIT]

    def _close_label(self) -> int | None:
        return self._labels.pop() if self._labels else None

    def _pass(self, text: str) -> None:
        self._out.append(text)
        self._sent += len(text)
        self._last = text[-1]
        newline = text.rfind("\n")
        if newline >= 0:
            self._labels.clear()
            self._bare_line = True
        if self._bare_line:
            self._bare_line = not text[newline + 1 :].strip(_LINE_HEAD)


def annotations(text: str, sources: Mapping[int, Source]) -> tuple[Annotation, ...]:
    """The citations in a whole text that stays as it is: `text[start:end]` is the mark, or the link."""
    if not sources or "[" not in text:
        return ()
    finder = CitationFilter("keep", sources)
    finder.feed(text)
    finder.close()
    return finder.annotations()


def citation_urls(sources: Iterable[Source]) -> list[str]:
    """The list in which Sonar's clients look `[n]` up: position n-1 holds the URL of id n, "" where there is none.

    Ids below 1 or above HIGHEST_CITATION are left out, so that no URL ever stands at another id's place.
    """
    urls = {source.id: source.url for source in sources if 1 <= source.id <= HIGHEST_CITATION}
    return [urls.get(number, "") for number in range(1, max(urls, default=0) + 1)]


def source_list(sources: Iterable[Source]) -> str:
    """Markdown to append to an answer: each page once, in order of its first id, with every id that names it. It begins
    with a blank line; "" if there are no sources."""
    pages: dict[str, list[Source]] = {}
    for source in sorted(sources, key=lambda source: source.id):
        pages.setdefault(source.url or source.title, []).append(source)
    lines = ["- " + "".join(f"[{source.id}]" for source in page) + f" {_entry(page)}" for page in pages.values()]
    return "\n\nSources:\n\n" + "\n".join(lines) if lines else ""


def escaped_url(url: str) -> str:
    """`url` with every character percent-encoded that could end a Markdown link's address or break a table."""
    return _UNSAFE.sub(_percent_encoded, url)


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "surrogatepass"))


def _entry(page: list[Source]) -> str:
    url = page[0].url
    title = next((" ".join(source.title.split()) for source in page if source.title.strip()), "")
    title = _TITLE_MARKUP.sub(r"\\\g<0>", title)
    if not _LINKABLE.match(url):
        return " ".join(filter(None, (title, url if url != page[0].title else "")))
    return f"[{title}]({escaped_url(url)})" if title else f"<{escaped_url(url)}>"
