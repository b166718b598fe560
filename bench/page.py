"""The page docs/benchmarks.md, and its figures as JSON for the plots and for whoever compares."""

import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import NamedTuple

import msgspec

from bench.goals import Results, Verdict, judge

FIGURES = "benchmarks.json"
PLOTS = "benchmarks"
PAGE = "benchmarks.md"


class Column(NamedTuple):
    title: str
    figure: str


class Table(NamedTuple):
    title: str
    about: str
    columns: tuple[Column, ...]


def _requests(callers: int) -> tuple[Column, ...]:
    prefix = f"requests c{callers}"
    return (
        Column(f"{callers}: requests/s", f"{prefix}: per second"),
        Column("CPU us/request", f"{prefix}: CPU us/request"),
        Column("p50 ms", f"{prefix}: latency p50 ms"),
        Column("p99 ms", f"{prefix}: latency p99 ms"),
    )


def _streams(side: str) -> tuple[Column, ...]:
    columns = [
        Column("flat out: tokens/s", f"{side} blast: chunks/s"),
        Column("CPU us/token", f"{side} blast: CPU us/chunk"),
    ]
    for streams in (50, 200, 1000):
        columns += [
            Column(f"{streams} streams: delivered %", f"{side} paced c{streams}: delivered %"),
            Column("CPU us/token", f"{side} paced c{streams}: CPU us/chunk"),
        ]
    return tuple(columns)


def _first_token(side: str) -> tuple[Column, ...]:
    return tuple(
        Column(f"{streams}: {quantile} ms", f"{side} paced c{streams}: first chunk {quantile} ms")
        for streams in (1, 50, 200, 1000)
        for quantile in ("p50", "p99")
    )


def _memory(side: str) -> tuple[Column, ...]:
    return (
        Column("idle RSS MB", f"{side} memory: idle RSS MB"),
        Column("idle MB", f"{side} memory: idle PSS MB"),
        Column("200 streams MB", f"{side} memory: PSS MB at 200"),
        Column("1,000 streams MB", f"{side} memory: PSS MB at 1000"),
        Column("KB/stream at 200", f"{side} memory: KB/stream at 200"),
        Column("KB/stream at 1,000", f"{side} memory: KB/stream at 1000"),
    )


_PACE = "A token each 20 ms for 50 and 200 streams, each 200 ms for 1,000; all streams begin in the same instant."
TABLES = (
    Table("Requests that are not streamed", "Over the api, 1, 32 and 256 callers at once.", _requests(1)),
    Table("", "", _requests(32)),
    Table("", "", _requests(256)),
    Table("Streams of the api", f"200 tokens each. {_PACE}", _streams("api")),
    Table("Streams of the session", f"100 tokens each, in events of 3 to 6 KB. {_PACE}", _streams("session")),
    Table("Time to the first token, api", "From the question; the connection's set-up is in it.", _first_token("api")),
    Table("Time to the first token, session", "", _first_token("session")),
    Table("Memory, api", "Proportional set size, but for the first column. A token each 200 ms.", _memory("api")),
    Table("Memory, session", "", _memory("session")),
    Table(
        "Other interfaces",
        "32 callers: the Responses API, each response kept in the store; calls of the MCP tool `perplexity_ask`.",
        tuple(
            Column(f"{name}: {title}", f"{face} c32: {figure}")
            for name, face in (("Responses", "responses"), ("MCP", "mcp"))
            for title, figure in (
                ("requests/s", "per second"),
                ("CPU us", "CPU us/request"),
                ("p50 ms", "latency p50 ms"),
            )
        ),
    ),
    Table(
        "Start",
        "From the process's begin to the first 200, and to the first answer by a model; the one-file MCP server on "
        "stdio to its reply to `initialize`.",
        (
            Column("first 200 ms", "start: first 200 ms"),
            Column("first answer ms", "start: first answer ms"),
            Column("stdio MCP ms", "start: stdio MCP ms"),
        ),
    ),
)


def write(folder: Path, results: Results, machine: Mapping[str, str], *, quick: bool, plots: bool) -> None:
    """Everything but the plots, which bench/plots.py draws of FIGURES if there will be `plots`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / PAGE).write_text(markdown(results, machine, quick=quick, plots=plots), encoding="utf-8")
    (folder / FIGURES).write_bytes(json(results, machine))


def machine() -> dict[str, str]:
    return {
        "when": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "cores": str(len(os.sched_getaffinity(0))),
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Python": platform.python_version(),
    }


def json(results: Results, machine: Mapping[str, str]) -> bytes:
    goals = [
        {
            "number": verdict.goal.number,
            "what": verdict.goal.what,
            "goal": verdict.goal.limit,
            "stretch": verdict.goal.stretch,
            "unit": verdict.goal.unit,
            "better": verdict.goal.better,
            "values": verdict.values,
        }
        for verdict in judge(results)
    ]
    return msgspec.json.format(msgspec.json.encode({"machine": machine, "goals": goals, "figures": results}), indent=1)


def markdown(results: Results, machine: Mapping[str, str], *, quick: bool, plots: bool = False) -> str:
    facts = "; ".join(f"{name}: {value}" for name, value in machine.items())
    parts = [_HEAD, f"{facts}.\n", _QUICK if quick else "", "## Goals\n", _GOALS, _goals(judge(results))]
    parts += [_plots()] if plots else []
    parts += [_table(table, results) for table in TABLES]
    parts += ["## Callers that vanish\n", _LEAVING, _leaving(results)]
    return "\n".join(part for part in parts if part)


_HEAD = """# Benchmarks

`scripts/bench` measures, draws and writes this page. One run compares the gateway at its defaults with what stands
beside it, on one fake upstream that costs next to nothing (`bench/upstream.c`):

- **direct**: the upstream itself, **nginx**: a reverse proxy that passes its bytes on. Neither translates anything.
- **gateway**: one worker. **gateway, two workers**: two on the same core.
- **LiteLLM**: its proxy, 1.108.7, one worker without a database, for the official API's work. It asks the upstream for
  chat completions of the same size.
- **usual proxy**: the session's work as it is usually written, FastAPI and curl_cffi (`bench/usual_proxy.py`).

The upstream and the load generator share one core, what is measured has another one. Setups take turns within a round.
Figures are medians of the rounds, with the lowest and the highest in brackets. CPU is user and system time of the
process and its children. A token is one event with text upstream; what comes in one read leaves as one chunk. Every
answer is checked: all tokens, one end, no error.

To repeat it, on a machine with two quiet cores: `scripts/bench` (a quarter of an hour), `scripts/bench --quick` for a
look.
"""
_QUICK = "**From a quick run of one short round, on a machine with other work: a look, no measurement.**\n"
_GOALS = """Each is a ratio or a bound within one round; compare ratios rather than absolute figures, which are the
machine's. *Goal* is what a release must meet, *stretch* what is worth working for.
"""
_LEAVING = "Fifty callers go away at once, without a word; milliseconds until the upstream's last question is closed.\n"


def _goals(verdicts: Sequence[Verdict]) -> str:
    lines = [
        "| # | what | goal | stretch | measured | goal met | stretch met |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for verdict in verdicts:
        goal = verdict.goal
        sign = "<=" if goal.better == "lower" else ">="
        stretch = "" if goal.stretch is None else f"{sign} {number(goal.stretch)} {goal.unit}"
        cells = (goal.number, goal.what, f"{sign} {number(goal.limit)} {goal.unit}", stretch, _measured(verdict))
        lines.append(f"| {' | '.join(cells)} | {_met(verdict, goal.limit)} | {_met(verdict, goal.stretch)} |")
    gaps = [f"- {v.goal.number}, {v.goal.what}: {v.goal.gap}." for v in verdicts if v.goal.gap and v.stretched is False]
    told = ["", "What keeps these from their stretch:", "", *gaps] if gaps else []
    return "\n".join([*lines, *told]) + "\n"


def _measured(verdict: Verdict) -> str:
    return f"{spread(verdict.values)} {verdict.goal.unit}".strip() if verdict.values else "-"


def _met(verdict: Verdict, limit: float | None) -> str:
    if limit is None:
        return ""
    if verdict.value is None:
        return "not measured"
    missed = verdict.missed_by(limit)
    return f"gap of {100 * missed:.0f} %" if missed else "met"


def _plots() -> str:
    names = (("requests", "Requests"), ("streams", "Streams"), ("first-token", "First token"), ("memory", "Memory"))
    return "\n".join(f"![{title}]({PLOTS}/{name}.png)" for name, title in names) + "\n"


def _table(table: Table, results: Results) -> str:
    shown = [column for column in table.columns if any(column.figure in figures for figures in results.values())]
    if not shown:
        return ""
    lines = [f"| | {' | '.join(column.title for column in shown)} |", "| --- |" + " ---: |" * len(shown)]
    for setup, figures in results.items():
        if any(column.figure in figures for column in shown):
            cells = (spread(figures[c.figure]) if c.figure in figures else "-" for c in shown)
            lines.append(f"| {setup} | {' | '.join(cells)} |")
    heading = [f"## {table.title}", ""] if table.title else []
    about = [table.about, ""] if table.about else []
    return "\n".join([*heading, *about, *lines]) + "\n"


def _leaving(results: Results) -> str:
    asked = [
        name for figures in results.values() for name in figures if name.startswith("leave, ") and name.endswith(": ms")
    ]
    columns = tuple(Column(name.removeprefix("leave, ").removesuffix(": ms"), name) for name in dict.fromkeys(asked))
    lines = ["| who asked | " + " | ".join(s for s in results if _left(s, results)) + " |"]
    lines += ["| --- |" + " ---: |" * (lines[0].count("|") - 2)]
    for column in columns:
        cells = [spread(results[s].get(column.figure, ())) for s in results if _left(s, results)]
        lines.append(f"| {column.title} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n" if columns else ""


def _left(setup: str, results: Results) -> bool:
    return any(name.startswith("leave, ") for name in results[setup])


def spread(values: Sequence[float]) -> str:
    """The median, and the ends where there are several."""
    if not values:
        return "-"
    middle = number(median(values))
    low, high = number(min(values)), number(max(values))
    return middle if low == high else f"{middle} ({low} to {high})"


def number(value: float) -> str:
    """Three digits that count, no exponent."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
