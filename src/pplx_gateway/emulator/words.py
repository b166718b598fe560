"""What the question itself asks of the emulator, for people and clients that cannot reach the control path.

`slow:` before a question makes its answer stream over several seconds, `fault:NAME` makes it fail as named. Both may
stand before one question, in any order. A question that names an offered function is answered by a call of it.
"""

import re
from collections.abc import Iterable

import msgspec

FAULTS: dict[str, str] = {
    "upstream_429": "throttled, with Retry-After",
    "upstream_401": "the credential is refused",
    "upstream_402": "the balance is gone",
    "upstream_500": "an internal error, as JSON",
    "upstream_html": "an error page where JSON belongs",
    "upstream_bad_json": "a success whose JSON is broken",
    "upstream_timeout": "silence",
    "midstream_drop": "some text, then the connection breaks",
    "midstream_error": "some text, then an error in the stream",
    "tool_bad_json": "a function call whose arguments are not JSON",
    "tool_bad_arguments": "a function call whose arguments do not fit the schema",
    "tool_unknown_name": "a call of a function that nobody offered",
    "substituted": "another model answers than the one asked for",
    "logged_out": "the login is gone",
    "quota_gone": "the quota is used up",
    "empty": "a success without a word in it",
}

# Names that the Agent API keeps for itself (docs/wire-agent.md 2.3). A client that offers one under another name is
# still named by the question's `web_search`.
RESERVED_NAMES = (
    "web_search",
    "search_web",
    "people_search",
    "search_people",
    "fetch_url",
    "finance_search",
    "sandbox",
)

_CONTROL = re.compile(r"\s*(?:(?P<slow>slow)\s*:|fault\s*:\s*(?P<fault>[A-Za-z0-9_-]+)[:,.]?)", re.IGNORECASE)


class Controls(msgspec.Struct, frozen=True, kw_only=True):
    """`question` is what remains without the control words. `unknown_fault` is a fault name that does not exist; the
    answer then says which ones do."""

    question: str
    slow: bool = False
    fault: str | None = None
    unknown_fault: str | None = None


def parse_controls(question: str) -> Controls:
    """Reads the control words that `question` begins with."""
    slow, faults, rest = False, [], question
    while match := _CONTROL.match(rest):
        slow = slow or match["slow"] is not None
        if match["fault"]:
            faults.append(match["fault"].lower().replace("-", "_"))
        rest = rest[match.end() :]
    return Controls(
        question=rest.strip(),
        slow=slow,
        fault=next((name for name in faults if name in FAULTS), None),
        unknown_fault=next((name for name in faults if name not in FAULTS), None),
    )


def named_functions(question: str, offered: Iterable[str]) -> tuple[str, ...]:
    """The offered functions whose names stand in `question` as words of their own, in the order of the question."""
    places = {name: _place(question, name) for name in dict.fromkeys(offered)}
    return tuple(sorted((name for name, place in places.items() if place >= 0), key=lambda name: places[name]))


def _place(question: str, name: str) -> int:
    """Where `name` stands in `question`; -1 if it does not. `get weather` counts for `get_weather`."""
    spoken = re.sub(r"[_-]+", " ", name).strip()
    reserved = [word for word in RESERVED_NAMES if word in name and word != name]
    for candidate in (name, *([spoken] if " " in spoken else []), *reserved):
        match = re.search(rf"(?<!\w){re.escape(candidate)}(?!\w)", question, re.IGNORECASE)
        if match:
            return match.start()
    return -1


_QUOTED = re.compile(
    r"\"([^\"\n]{1,200})\"|“([^”\n]{1,200})”|‘([^’\n]{1,200})’|`([^`\n]{1,200})`|(?<!\w)'([^'\n]{1,200})'(?!\w)"
)
_WORD = re.compile(r"[^\W_][\w’'.-]*[^\W_]|[^\W_]")
# Words that open a sentence with a capital and say nothing about what is asked.
_OPENING = """
a an and answer are ask call can check compute could create did didn do does doesn don execute explain fetch
find for get give had has have hello hi how i if in invoke is isn it let list look make may my no not of on open
or please put read run send set should show tell thanks that the then there these this those to translate try
use was we were what whats when where which who whom whose why will with would write yes you your
"""
_OPENERS = frozenset(_OPENING.split())


def quoted_words(question: str) -> tuple[str, ...]:
    return tuple(next(group for group in match.groups() if group) for match in _QUOTED.finditer(question))


def capitalised_words(question: str) -> tuple[str, ...]:
    """Names in `question`: runs of capitalised words, without openers such as "What" and "Please"."""
    names: list[str] = []
    end_of_last = -2
    for match in _WORD.finditer(question):
        word = match[0]
        if not word[0].isupper() or word.lower().split("'")[0].split("’")[0] in _OPENERS:
            continue
        if match.start() == end_of_last + 1 and question[end_of_last] == " ":
            names[-1] = f"{names[-1]} {word}"
        else:
            names.append(word)
        end_of_last = match.end()
    return tuple(names)


def telling_words(question: str) -> tuple[str, ...]:
    """What to fill a function's strings with: quoted words, then names."""
    return tuple(dict.fromkeys((*quoted_words(question), *capitalised_words(question))))


def numbers_in(question: str) -> tuple[float, ...]:
    return tuple(float(match[0]) for match in re.finditer(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w]|\.\d)", question))
