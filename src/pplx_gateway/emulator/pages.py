"""Pages and pictures that exist nowhere, on domains that are reserved for examples (RFC 2606)."""

import base64
import re
import struct
import zlib

import msgspec

from pplx_gateway.emulator.dice import Dice

_HOSTS = (
    ("almanac.example", "The Open Almanac"),
    ("notes.example", "Field Notes"),
    ("encyclopaedia.example", "Small Encyclopaedia"),
    ("statistics.example", "Office of Figures"),
    ("journal.example", "Journal of Plain Answers"),
    ("handbook.example", "The Handbook"),
    ("zeitung.example", "Die Beispielzeitung"),
    ("gazette.example", "Morning Gazette"),
    ("forum.example", "Askers' Forum"),
    ("archive.example", "Long Archive"),
)
_ANGLES = (
    "an overview",
    "what the figures say",
    "questions and answers",
    "a short history",
    "in practice",
    "common mistakes",
    "compared",
    "für Einsteiger",
    "the details",
    "what changed in 2026",
)


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """A search result. Dates are ISO; some pages carry none."""

    title: str
    url: str
    snippet: str
    date: str | None = None
    last_updated: str | None = None


class Picture(msgspec.Struct, frozen=True, kw_only=True):
    image_url: str
    origin_url: str
    title: str
    width: int
    height: int


def find(subject: str, count: int, *, domains: tuple[str, ...] = (), title: str | None = None) -> tuple[Page, ...]:
    """`count` pages about `subject`, on the allowed `domains` if there are any, never on those with a leading `-`."""
    dice = Dice(subject.lower())
    hosts = _hosts(dice, domains)
    return tuple(_page(title or subject, dice, place, hosts[place % len(hosts)]) for place in range(count))


def _hosts(dice: Dice, domains: tuple[str, ...]) -> list[tuple[str, str]]:
    allowed = [domain for domain in domains if not domain.startswith("-")]
    if allowed:
        return [(domain.rstrip("/"), domain.split("/")[0]) for domain in allowed]
    denied = {domain[1:].split("/")[0] for domain in domains}
    return [host for host in dice.order("hosts", _HOSTS) if host[0] not in denied] or [_HOSTS[0]]


def _page(subject: str, dice: Dice, place: int, host: tuple[str, str]) -> Page:
    address, name = host
    angle = _ANGLES[(dice.number("angle", 0, 9) + place) % len(_ANGLES)]
    dated = not dice.chance(f"undated {place}", 20)
    month, day = dice.number(f"month {place}", 1, 9), dice.number(f"day {place}", 1, 28)
    return Page(
        title=f"{subject[:1].upper()}{subject[1:]}: {angle} | {name}",
        url=f"https://{address}/{slug(subject)}/{slug(angle)}" + (f"-{place}" if place >= len(_ANGLES) else ""),
        snippet=f"{subject}, {angle}. {dice.pick(f'snippet {place}', _SNIPPETS)}",
        date=f"2026-{month:02}-{day:02}" if dated else None,
        last_updated=f"2026-{month + 1:02}-{day:02}" if dated and place % 2 == 0 else None,
    )


_SNIPPETS = (
    "The page lists what is known, where it is known from, and what is still argued about.",
    "Figures were taken in the spring and checked against two older series.",
    "Readers ask most often how the parts fit together; three worked examples show it.",
    "Kurz gefasst: die Zahlen stimmen überein, nur die Deutung geht auseinander.",
    "An earlier version of this page gave a higher figure; the note at the end explains why.",
)


def slug(text: str) -> str:
    """`text` as a part of an address: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:48] or "page"


def pictures(subject: str, sources: tuple[Page, ...], *, formats: tuple[str, ...] = ()) -> tuple[Picture, ...]:
    """Two pictures: one at an example address, one that carries its own bytes (only where PNG is allowed)."""
    form = formats[0] if formats else "png"
    origin = [page.url for page in sources] or [f"https://{_HOSTS[0][0]}/{slug(subject)}"]
    linked = Picture(
        image_url=f"https://images.example/{slug(subject)}.{form}",
        origin_url=origin[0],
        title=subject,
        width=1280,
        height=720,
    )
    if formats and "png" not in formats:
        return (linked,)
    drawn = "data:image/png;base64," + base64.b64encode(draw(subject)).decode()
    return linked, Picture(image_url=drawn, origin_url=origin[-1], title=f"{subject}, drawn", width=32, height=24)


def draw(subject: str, width: int = 32, height: int = 24) -> bytes:
    """A small PNG: a colour gradient that depends on `subject`."""
    dice = Dice(subject)
    red, blue = dice.number("red", 40, 200), dice.number("blue", 40, 200)
    rows = b"".join(
        b"\x00" + bytes(value for x in range(width) for value in (red, 40 + 200 * y // height, (blue + 4 * x) % 256))
        for y in range(height)
    )
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts
    )
