"""A few things that the emulator really knows. Marks are neutral: `cite(0)` is the first source."""

import re

import msgspec

from pplx_gateway.emulator import words


def cite(*indexes: int) -> str:
    """Neutral marks, one for each index."""
    return "".join(f"\ue000{index}\ue001" for index in indexes)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """`keys`: words that must all stand in the question, in small letters; `a|b` = one of them."""

    keys: tuple[str, ...]
    title: str
    paragraphs: tuple[str, ...]
    related: tuple[str, ...] = ()


def find(question: str) -> Entry | None:
    """The entry whose keys all stand in `question`."""
    asked = frozenset(re.findall(r"\w+", question.lower()))
    return next((entry for entry in _ENTRIES if all(_holds(key, asked) for key in entry.keys)), None)


def _holds(key: str, asked: frozenset[str]) -> bool:
    return any(word in asked for word in key.split("|"))


_FAULT_ROWS = "\n".join(f"| `fault:{name}` | {meaning} |" for name, meaning in words.FAULTS.items())

_ENTRIES = (
    Entry(
        keys=("ghent|gent|gand", "river|rivers"),
        title="Rivers of Ghent",
        paragraphs=(
            f"Two rivers meet in Ghent: the **Leie** (*Lys* in French){cite(0)} and the **Scheldt**{cite(1)}.",
            f"The town grew where they join; its name is often traced to a Celtic word for a confluence{cite(1)}.",
        ),
        related=("How long is the Leie?", "Where does the Scheldt reach the sea?", "Can I take a boat through Ghent?"),
    ),
    Entry(
        keys=("zugspitze",),
        title="Zugspitze",
        paragraphs=(
            f"The Zugspitze is **2,962 m** high{cite(0)} and the highest mountain of Germany{cite(0, 1)}.",
            "| way up | from | takes about |\n|---|---|---|\n| cable car | Eibsee | 10 min |\n"
            f"| cogwheel train | Garmisch | 75 min |\n| on foot | Reintal | 8 to 10 h |\n\n"
            f"The border with Austria runs over the summit{cite(2)}.",
        ),
        related=("How old is the cable car?", "Is there still a glacier?", "Which peak is second highest?"),
    ),
    Entry(
        keys=("iceland|ísland", "capital|population|people"),
        title="Iceland",
        paragraphs=(
            f"The capital of Iceland is **Reykjavík**{cite(0)}. The country has a little under 400,000 "
            f"inhabitants{cite(1)}, and nearly two thirds of them live in the capital's region{cite(0, 1)}. 🇮🇸",
        ),
        related=("What does Reykjavík mean?", "How many people live in Akureyri?"),
    ),
    Entry(
        keys=("capital", "france"),
        title="Paris",
        paragraphs=(f"The capital of France is **Paris**{cite(0)}, with about two million inhabitants{cite(1)}.",),
        related=("How large is the Paris region?", "Was Paris always the capital?"),
    ),
    Entry(
        keys=("speed", "light"),
        title="Speed of light",
        paragraphs=(
            f"In a vacuum light travels at exactly **299,792,458 m/s**{cite(0)}: "
            f"since 1983 the metre is defined by it{cite(1)}.",
            "```python\nC = 299_792_458  # m/s\nprint(f'{150e9 / C / 60:.1f} minutes from the sun')  # 8.3\n```",
        ),
        related=("How is it measured?", "What is slower than light in glass?"),
    ),
    Entry(
        keys=("yamanote|東京|tokyo", "line|train|trains|yamanote"),
        title="山手線 (Yamanote Line)",
        paragraphs=(
            f"The **Yamanote Line** (山手線) circles the middle of Tokyo: 34.5 km, 30 stations, an hour{cite(0)}.",
            f"- 新宿 *Shinjuku*: the busiest of them{cite(1)}\n- 渋谷 *Shibuya*: the crossing\n"
            f"- 東京 *Tokyo*: the long-distance trains{cite(2)}",
        ),
        related=("Which station opened last?", "Does it run at night?"),
    ),
    Entry(
        keys=("emulator|fault|faults", "help|what|which|how|list"),
        title="The emulator",
        paragraphs=(
            "You are talking to the **built-in emulator** of pplx-gateway. It plays Perplexity's two upstreams; "
            "nothing leaves this machine, and every source below is made up.",
            "Begin a question with `slow:` to see it stream over several seconds, or with one of these to see it "
            f"fail:\n\n| write | and this happens |\n|---|---|\n{_FAULT_ROWS}",
            "Name a function that you offer, and you get a call of it.",
        ),
        related=("slow: Which two rivers meet in Ghent?", "fault:midstream_drop How tall is the Zugspitze?"),
    ),
)
