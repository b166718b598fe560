"""What of a caller's system text reaches the site.

The site searches the web for the whole query, so "You are a helpful assistant" finds pages about assistants. By default
only lines that shape the answer without adding to the search pass: its language, its format, how formulas are written.
The owner's own whitelist takes the place of that default, and CUSTOM_PROMPTS that of LobeHub's prompts (lobehub.py).
"""

import logging
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from pplx_gateway.errors import InvalidRequest
from pplx_gateway.question import TURNS

logger = logging.getLogger("pplx_gateway.session")

Mode = Literal["full", "drop", "whitelist"]
Patterns = tuple[re.Pattern[str], ...]
T = TypeVar("T")

WHITELIST_FILE = ".prompt_whitelist.txt"
CUSTOM_FILE = "CUSTOM_PROMPTS"
MOST_LINES = 100_000

_NAMES = (
    "language|english|chinese|mandarin|cantonese|japanese|korean|german|french|spanish|italian|portuguese|dutch|russian|"
    "ukrainian|polish|turkish|arabic|hindi|swedish|norwegian|danish|finnish|czech|greek|hebrew|thai|vietnamese|indonesian"
)
_ANSWERING = r"\b(?:respond|answer|reply|write|speak|output|translate)\b.{0,80}\b(?:in|into|using)\s+"
_LANGUAGE = rf"(?:{_ANSWERING}|\b(?:use|speak)\s+)(?:[\w']+\s+){{0,3}}(?:{_NAMES})\b"
_FORMAT = (
    r"\b(?:markdown|json|yaml|csv|xml|html|plain text|bullet(?:ed)?|numbered list|tables?|headings?|code ?blocks?)\b"
)
_FORMULAS = r"\b(?:latex|katex|mathjax)\b|\$\$"
_CJK = r"語言|语言|繁體中文|繁体中文|简体中文|簡體中文|格式|日本語で|한국어로"
DEFAULT_WHITELIST: Patterns = tuple(re.compile(text, re.IGNORECASE) for text in (_LANGUAGE, _FORMAT, _FORMULAS, _CJK))


class Prompt(NamedTuple):
    """`instructions` are sent; `warning` says what was left out, without its text."""

    instructions: tuple[str, ...]
    warning: str | None = None


def prompt(texts: Sequence[str], mode: Mode, whitelist: Patterns = DEFAULT_WHITELIST) -> Prompt:
    """Raises InvalidRequest for more lines than anybody writes: each is searched for every pattern."""
    if mode == "full" or not texts:
        return Prompt(tuple(texts))
    if mode == "drop":
        return Prompt((), "The system text was left out (PPLX_SYSTEM_PROMPTS=drop).")
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_LINES:
        raise InvalidRequest(f"The system text has {len(lines)} lines; at most {MOST_LINES} are read.", param=TURNS)
    kept = [line for line in lines if any(pattern.search(line) for pattern in whitelist)]
    if len(kept) == len(lines):
        return Prompt(tuple(texts))
    warning = (
        f"{len(lines) - len(kept)} of {len(lines)} lines of the system text were left out, because Perplexity searches "
        "the web for them (PPLX_SYSTEM_PROMPTS=whitelist; full sends everything)."
    )
    return Prompt(("\n".join(kept),) if kept else (), warning)


class PromptFiles:
    """The owner's two files in `folder`, read again whenever they change. Without a folder there are none."""

    def __init__(self, folder: Path | None = None) -> None:
        self._whitelist = _Watched(folder and folder / WHITELIST_FILE, _patterns, DEFAULT_WHITELIST)
        self._custom = _Watched(folder and folder / CUSTOM_FILE, str.strip, "")

    def whitelist(self) -> Patterns:
        """A regular expression a line, matched in any case; blank lines and `#` comments count for nothing. A line that
        is no expression is told in the log, and the others hold."""
        return self._whitelist.value()

    def custom(self) -> str:
        """The text of CUSTOM_PROMPTS; "" if there is none."""
        return self._custom.value()


class _Watched(Generic[T]):
    """What `read` makes of a file; `missing` where there is none, or none that can be read."""

    def __init__(self, path: Path | None, read: Callable[[str], T], missing: T) -> None:
        self._path = path
        self._read = read
        self._missing = missing
        self._seen: tuple[int, int] | None = None
        self._value = missing

    def value(self) -> T:
        if self._path is not None and (stamp := self._stamp(self._path)) != self._seen:
            self._seen = stamp
            self._value = self._missing if stamp is None else self._load(self._path)
        return self._value

    def _stamp(self, path: Path) -> tuple[int, int] | None:
        try:
            found = path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size

    def _load(self, path: Path) -> T:
        try:
            return self._read(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            logger.warning("a prompt file cannot be read", extra={"file": path.name, "why": type(error).__name__})
            return self._missing


def _patterns(text: str) -> Patterns:
    patterns = []
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        try:
            patterns.append(re.compile(line.strip(), re.IGNORECASE))
        except re.error as error:
            logger.warning("a whitelist line is no regular expression", extra={"line": number, "why": error.msg})
    return tuple(patterns)


def take_over(working: Path, folder: Path) -> list[str]:
    """Copies prompt files of an older installation from the working directory, once. Gives the names taken."""
    taken = []
    for name in (WHITELIST_FILE, CUSTOM_FILE):
        old, new = working / name, folder / name
        if old.is_file() and not new.exists():
            new.touch(mode=0o600)
            new.write_bytes(old.read_bytes())
            taken.append(name)
    return taken
