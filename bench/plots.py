"""`python -m bench.plots FIGURES FOLDER`: draws what benchmarks.json holds, as PNG and SVG.

Needs matplotlib, and nothing of the project: it runs in the peers' environment (scripts/bench-peers).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")
from matplotlib import pyplot as plt

Results = Mapping[str, Mapping[str, Sequence[float]]]
COLOURS = {
    "direct": "#9e9e9e",
    "nginx": "#5f7d8c",
    "gateway": "#20808d",
    "gateway, two workers": "#7fb8bf",
    "LiteLLM": "#c0574b",
    "usual proxy": "#d99a3d",
}


class Panel(NamedTuple):
    """Bars of each setup, in groups of one figure each. Medians; the lines show the lowest and the highest round."""

    title: str
    unit: str
    figures: Mapping[str, str]  # the group's name -> the figure


PLOTS: dict[str, tuple[Panel, ...]] = {
    "requests": (
        Panel(
            "Not streamed: requests/s",
            "requests/s",
            {f"{n} callers": f"requests c{n}: per second" for n in (1, 32, 256)},
        ),
        Panel("CPU per request", "us", {f"{n} callers": f"requests c{n}: CPU us/request" for n in (1, 32, 256)}),
    ),
    "streams": (
        Panel("CPU per token, api", "us", {f"{n} streams": f"api paced c{n}: CPU us/chunk" for n in (50, 200, 1000)}),
        Panel(
            "CPU per token, session",
            "us",
            {f"{n} streams": f"session paced c{n}: CPU us/chunk" for n in (50, 200, 1000)},
        ),
        Panel("Flat out", "tokens/s", {side: f"{side} blast: chunks/s" for side in ("api", "session")}),
    ),
    "first-token": tuple(
        Panel(
            f"Time to the first token, {side}",
            "ms",
            {f"{n}, {q}": f"{side} paced c{n}: first chunk {q} ms" for n in (1, 50, 200) for q in ("p50", "p99")},
        )
        for side in ("api", "session")
    ),
    "memory": tuple(
        Panel(
            f"Memory, {side}",
            "MB",
            {
                "idle": f"{side} memory: idle PSS MB",
                "200 streams": f"{side} memory: PSS MB at 200",
                "1,000 streams": f"{side} memory: PSS MB at 1000",
            },
        )
        for side in ("api", "session")
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.plots", description=__doc__)
    parser.add_argument("figures", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    results = json.loads(options.figures.read_text(encoding="utf-8"))["figures"]
    options.folder.mkdir(parents=True, exist_ok=True)
    mpl.rcParams.update({"svg.hashsalt": "bench", "font.size": 9})  # the same figures give the same file
    for name, panels in PLOTS.items():
        draw(results, panels, options.folder / name)
    return 0


def draw(results: Results, panels: Sequence[Panel], path: Path) -> None:
    figure, axes = plt.subplots(1, len(panels), figsize=(4.6 * len(panels), 3.6), squeeze=False)
    for axis, panel in zip(axes[0], panels, strict=True):
        _bars(axis, panel, results)
    seen = {label: handle for axis in axes[0] for handle, label in zip(*_legend(axis), strict=True)}
    figure.legend(list(seen.values()), list(seen), loc="lower center", ncols=len(COLOURS), frameon=False)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path.with_suffix(".png"), dpi=110)
    figure.savefig(path.with_suffix(".svg"), metadata={"Date": None})
    plt.close(figure)


def _legend(axis: "plt.Axes") -> tuple[list[object], list[str]]:
    handles, labels = axis.get_legend_handles_labels()
    return list(handles), list(labels)


def _bars(axis: "plt.Axes", panel: Panel, results: Results) -> None:
    """On a logarithmic scale: the setups lie up to three powers of ten apart."""
    groups = list(panel.figures)
    shown = [setup for setup in COLOURS if any(figure in results.get(setup, {}) for figure in panel.figures.values())]
    width = 0.8 / max(len(shown), 1)
    for place, setup in enumerate(shown):
        known = [
            (at, values)
            for at, group in enumerate(groups)
            if (values := results[setup].get(panel.figures[group])) and median(values) > 0
        ]
        middle = [median(values) for _, values in known]
        errors = [
            [m - min(values) for m, (_, values) in zip(middle, known, strict=True)],
            [max(values) - m for m, (_, values) in zip(middle, known, strict=True)],
        ]
        at = [group - 0.4 + width * (place + 0.5) for group, _ in known]
        axis.bar(at, middle, width, yerr=errors, label=setup, color=COLOURS[setup], error_kw={"elinewidth": 0.8})
    axis.set_yscale("log")
    axis.set_xticks(range(len(groups)), groups)
    axis.set_title(panel.title)
    axis.set_ylabel(panel.unit)
    axis.grid(axis="y", alpha=0.3)
    axis.set_axisbelow(True)


if __name__ == "__main__":
    sys.exit(main())
