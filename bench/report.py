"""The results as Markdown for people and as JSON for programs."""

import os
import platform
from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from bench.goals import Verdict, judge

Results = Mapping[str, Mapping[str, float]]


def machine() -> dict[str, str]:
    return {
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0))),
        "load": f"{os.getloadavg()[0]:.1f}",
        "python": platform.python_version(),
    }


def markdown(results: Results) -> str:
    facts = "; ".join(f"{name} {value}" for name, value in machine().items())
    return f"Measured: {facts}.\n\n{_goals(judge(results))}\n{_figures(results)}"


def json(results: Results) -> bytes:
    goals = [
        {
            "number": verdict.goal.number,
            "what": verdict.goal.what,
            "limit": verdict.goal.limit,
            "unit": verdict.goal.unit,
            "better": verdict.goal.better,
            "value": verdict.value,
            "met": verdict.met,
            "gap": verdict.gap,
        }
        for verdict in judge(results)
    ]
    return msgspec.json.format(
        msgspec.json.encode({"machine": machine(), "goals": goals, "figures": results}), indent=1
    )


def _goals(verdicts: list[Verdict]) -> str:
    lines = ["| # | goal | limit | measured | met |", "| --- | --- | --- | --- | --- |"]
    lines += [
        f"| {goal.number} | {goal.what} | {'<=' if goal.better == 'lower' else '>='} {goal.limit:g} {goal.unit} "
        f"| {'-' if verdict.value is None else f'{number(verdict.value)} {goal.unit}'} | {_met(verdict)} |"
        for verdict in verdicts
        for goal in (verdict.goal,)
    ]
    return "\n".join(lines) + "\n"


def _met(verdict: Verdict) -> str:
    if verdict.met is None:
        return "not measured"
    return "yes" if verdict.met else f"no, by {100 * (verdict.gap or 0):.0f} %"


def _figures(results: Results) -> str:
    setups = list(results)
    names = list(dict.fromkeys(name for figures in results.values() for name in figures))
    lines = [f"| figure | {' | '.join(setups)} |", "| --- |" + " ---: |" * len(setups)]
    lines += [f"| {name} | {' | '.join(number(results[setup].get(name)) for setup in setups)} |" for name in names]
    return "\n".join(lines) + "\n"


def number(value: float | None) -> str:
    """Three digits that count, no exponent."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
