"""What of a caller's system text reaches the site.

The site searches the web for the whole query, so "You are a helpful assistant" finds pages about assistants. By default
only lines that shape the answer without adding to the search pass: its language, its format, how formulas are written.
"""

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

Mode = Literal["full", "drop", "whitelist"]

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
DEFAULT_WHITELIST = tuple(re.compile(text, re.IGNORECASE) for text in (_LANGUAGE, _FORMAT, _FORMULAS, _CJK))


class Prompt(NamedTuple):
    """`instructions` are sent; `warning` says what was left out, without its text."""

    instructions: tuple[str, ...]
    warning: str | None = None


def prompt(texts: Sequence[str], mode: Mode, whitelist: Sequence[re.Pattern[str]] = DEFAULT_WHITELIST) -> Prompt:
    if mode == "full" or not texts:
        return Prompt(tuple(texts))
    if mode == "drop":
        return Prompt((), "The system text was left out (PPLX_SYSTEM_PROMPTS=drop).")
    lines = [line for text in texts for line in text.splitlines() if line.strip()]
    kept = [line for line in lines if any(pattern.search(line) for pattern in whitelist)]
    if len(kept) == len(lines):
        return Prompt(tuple(texts))
    warning = (
        f"{len(lines) - len(kept)} of {len(lines)} lines of the system text were left out, because Perplexity searches "
        "the web for them (PPLX_SYSTEM_PROMPTS=whitelist; full sends everything)."
    )
    return Prompt(("\n".join(kept),) if kept else (), warning)
