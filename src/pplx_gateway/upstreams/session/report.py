"""Where a deep-research report can be (docs/wire-session.md 2.4): inside an asset, or behind a download.

The text blocks of such an answer hold only an introduction.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

_TEXT_TYPES = ("text/markdown", "text/x-markdown", "text/plain")
_TEXT_NAMES = (".md", ".markdown", ".txt")


class Download(NamedTuple):
    """A file that the answer refers to. The address is the upstream's word, so it is checked before it is fetched."""

    url: str
    filename: str


def report_bodies(assets: Any) -> list[str]:
    """The reports that came with the assets themselves."""
    reports = (asset.get("research_report") for asset in _assets(assets))
    bodies = (report.get("source_content") for report in reports if isinstance(report, dict))
    return [body for body in bodies if isinstance(body, str) and body.strip()]


def report_download(assets: Any) -> Download | None:
    """The first text file among the assets' downloads."""
    for asset in _assets(assets):
        info = asset.get("download_info")
        for entry in info if isinstance(info, list) else [info]:
            if isinstance(entry, dict) and (found := _download(entry)):
                return found
    return None


def _assets(assets: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(assets, list):
        yield from (asset for asset in assets if isinstance(asset, dict))


def _download(entry: Mapping[str, Any]) -> Download | None:
    url, name, kind = entry.get("url"), entry.get("filename"), entry.get("media_type")
    if not isinstance(url, str) or not url:
        return None
    filename = name if isinstance(name, str) else ""
    by_kind = isinstance(kind, str) and kind.partition(";")[0].strip().lower() in _TEXT_TYPES
    path = url.partition("?")[0].lower()
    by_name = (filename.lower() or path).endswith(_TEXT_NAMES)
    return Download(url, filename) if by_kind or by_name else None
