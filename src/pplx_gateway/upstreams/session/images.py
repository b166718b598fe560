"""Pictures that came with an answer, in both forms (docs/wire-session.md 2.3, 2.4), and the caller's filters."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import msgspec

from pplx_gateway.answer import Image
from pplx_gateway.upstreams.session.oddities import Oddities

_SAME_FORMAT = {"jpeg": "jpg"}


class ImageWish(msgspec.Struct, frozen=True):
    """Which images are wanted: formats by file ending, domains as allow list or (with `-`) deny list; () = any."""

    formats: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()

    def wants(self, image: Image) -> bool:
        return self._format_fits(image) and self._domain_fits(image)

    def _format_fits(self, image: Image) -> bool:
        if not self.formats:
            return True
        ending = PurePosixPath(urlsplit(image.image_url).path).suffix.lower().lstrip(".")
        wanted = {_format(name) for name in self.formats}
        return _format(ending) in wanted

    def _domain_fits(self, image: Image) -> bool:
        host = urlsplit(image.origin_url or image.image_url).hostname or ""
        denied = [name[1:] for name in self.domains if name.startswith("-")]
        allowed = [name for name in self.domains if not name.startswith("-")]
        if any(_within(host, name) for name in denied):
            return False
        return not allowed or any(_within(host, name) for name in allowed)


class ImageList:
    def __init__(self, wish: ImageWish, oddities: Oddities) -> None:
        self._wish = wish
        self._oddities = oddities
        self._told: set[str] = set()

    def take(self, items: Any) -> list[Image]:
        """The wanted images of a media list that were not told before."""
        return [image for image in self._images(items) if self._wish.wants(image)]

    def _images(self, items: Any) -> Iterator[Image]:
        for item in items if isinstance(items, list) else []:
            url = item.get("image") if isinstance(item, dict) else None
            if not isinstance(url, str) or not url:
                self._oddities.note("media_without_image")
            elif url not in self._told:
                self._told.add(url)
                yield Image(
                    image_url=url,
                    origin_url=_text(item.get("url")),
                    title=_text(item.get("name")),
                    width=_pixels(item.get("image_width")),
                    height=_pixels(item.get("image_height")),
                )


def related_questions(*values: Any) -> tuple[str, ...]:
    """From any of the forms: lists of strings or of `{text}`; first come, each once."""
    found: dict[str, None] = {}
    for value in values:
        for item in value if isinstance(value, list) else []:
            text = item.get("text") if isinstance(item, dict) else item
            if isinstance(text, str) and text.strip():
                found.setdefault(text)
    return tuple(found)


def _within(host: str, domain: str) -> bool:
    return host == domain or host.endswith(f".{domain}")


def _format(name: str) -> str:
    plain = name.lower().lstrip(".")
    return _SAME_FORMAT.get(plain, plain)


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _pixels(value: Any) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
