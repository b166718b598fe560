"""The goals: each a ratio or a bound within one run, by figures of bench/workloads.py."""

from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

Figures = Mapping[str, float]
Results = Mapping[str, Figures]  # setup -> figure -> value


class Goal(NamedTuple):
    """`value` computes the figure from the results and raises KeyError where a part was not measured."""

    number: str
    what: str
    limit: float
    unit: str
    better: Literal["lower", "higher"]
    value: Callable[[Results], float]


class Verdict(NamedTuple):
    goal: Goal
    value: float | None

    @property
    def met(self) -> bool | None:
        if self.value is None:
            return None
        return self.value <= self.goal.limit if self.goal.better == "lower" else self.value >= self.goal.limit

    @property
    def gap(self) -> float | None:
        """By how much the limit is missed (0 where it is met), as a share of the limit."""
        if self.value is None or self.met:
            return 0.0 if self.met else None
        return abs(self.value - self.goal.limit) / self.goal.limit


def _ratio(figure: str) -> Callable[[Results], float]:
    return lambda results: results["gateway"][figure] / results["nginx"][figure]


def _added(figure: str) -> Callable[[Results], float]:
    return lambda results: results["gateway"][figure] - results["direct"][figure]


def _own(figure: str) -> Callable[[Results], float]:
    return lambda results: results["gateway"][figure]


def _worst(end: str) -> Callable[[Results], float]:
    """The largest of the figures about callers that left. Raises KeyError where there is none."""

    def worst(results: Results) -> float:
        figures = [v for name, v in results["gateway"].items() if name.startswith("leave, ") and name.endswith(end)]
        if not figures:
            raise KeyError(end)
        return max(figures)

    return worst


GOALS = (
    Goal("2", "req/s against nginx, 32 callers, not streamed", 0.05, "x", "higher", _ratio("requests c32: per second")),
    Goal("3", "CPU per request against nginx", 25, "x", "lower", _ratio("requests c32: CPU us/request")),
    Goal("4", "added latency, 1 caller, p50", 1.0, "ms", "lower", _added("requests c1: latency p50 ms")),
    Goal("4", "added latency, 1 caller, p99", 5.0, "ms", "lower", _added("requests c1: latency p99 ms")),
    Goal(
        "6", "CPU per paced chunk against nginx, 200 streams", 4, "x", "lower", _ratio("api paced c200: CPU us/chunk")
    ),
    Goal("7", "delivered at rate, 200 streams", 85, "%", "higher", _own("api paced c200: delivered %")),
    Goal("7", "transit of a chunk, 200 streams, p50", 10, "ms", "lower", _own("api paced c200: transit p50 ms")),
    Goal("7", "transit of a chunk, 200 streams, p99", 60, "ms", "lower", _own("api paced c200: transit p99 ms")),
    Goal("8", "added time to the first chunk, 1 stream", 4, "ms", "lower", _added("api paced c1: first chunk p50 ms")),
    Goal(
        "8", "added time to the first chunk, 50 streams", 40, "ms", "lower", _added("api paced c50: first chunk p50 ms")
    ),
    Goal("11", "idle RSS", 60, "MB", "lower", _own("api memory: idle RSS MB")),
    Goal("11", "memory of an open stream, 1000 of the api", 60, "KB", "lower", _own("api memory: KB/stream at 1000")),
    Goal(
        "11",
        "memory of an open stream, 1000 of the session",
        60,
        "KB",
        "lower",
        _own("session memory: KB/stream at 1000"),
    ),
    Goal("12", "questions left open by 50 callers that vanished, worst case", 0, "", "lower", _worst(": left open")),
    Goal("12", "until the last one is closed, worst case", 100, "ms", "lower", _worst(": ms")),
    Goal("13", "start to the first 200", 700, "ms", "lower", _own("start: first 200 ms")),
)


def judge(results: Results) -> list[Verdict]:
    return [Verdict(goal, _value(goal, results)) for goal in GOALS]


def _value(goal: Goal, results: Results) -> float | None:
    try:
        return goal.value(results)
    except KeyError:
        return None
