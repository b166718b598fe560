"""The goals: each a ratio or a bound within one round, by figures of bench/workloads.py.

Each has a goal, which a release must meet, and a stretch, which is worth working for.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Literal, NamedTuple

Figures = Mapping[str, float]
Round = Mapping[str, Figures]  # setup -> figure -> value
Results = Mapping[str, Mapping[str, Sequence[float]]]  # setup -> figure -> value by round

GATEWAY, TWO_WORKERS, LITELLM, USUAL = "gateway", "gateway, two workers", "LiteLLM", "usual proxy"


class Goal(NamedTuple):
    """`value` computes the figure of one round and raises KeyError where a part was not measured. `gap` is known of
    what keeps it from its stretch."""

    number: str
    what: str
    limit: float
    stretch: float | None
    unit: str
    better: Literal["lower", "higher"]
    value: Callable[[Round], float]
    gap: str = ""


class Verdict(NamedTuple):
    """`values` by round, none where it was not measured."""

    goal: Goal
    values: tuple[float, ...]

    @property
    def value(self) -> float | None:
        return median(self.values) if self.values else None

    @property
    def met(self) -> bool | None:
        return self._holds(self.goal.limit)

    @property
    def stretched(self) -> bool | None:
        return self._holds(self.goal.stretch)

    def missed_by(self, limit: float) -> float:
        """As a share of the limit; 0 where it is met. A limit of 0 is missed whole."""
        if self.value is None or self._holds(limit):
            return 0.0
        return abs(self.value - limit) / limit if limit else 1.0

    def _holds(self, limit: float | None) -> bool | None:
        if self.value is None or limit is None:
            return None
        return self.value <= limit if self.goal.better == "lower" else self.value >= limit


def _ratio(figure: str, *, of: str = GATEWAY, to: str = "nginx") -> Callable[[Round], float]:
    return lambda results: results[of][figure] / results[to][figure]


def _added(figure: str) -> Callable[[Round], float]:
    return lambda results: results[GATEWAY][figure] - results["direct"][figure]


def _own(figure: str) -> Callable[[Round], float]:
    return lambda results: results[GATEWAY][figure]


def _added_against_litellm(figure: str) -> Callable[[Round], float]:
    def share(results: Round) -> float:
        direct = results["direct"][figure]
        return (results[LITELLM][figure] - direct) / max(results[GATEWAY][figure] - direct, 0.001)

    return share


def _worst(end: str) -> Callable[[Round], float]:
    """The largest of the figures about callers that left. Raises KeyError where there is none."""

    def worst(results: Round) -> float:
        figures = [v for name, v in results[GATEWAY].items() if name.startswith("leave, ") and name.endswith(end)]
        if not figures:
            raise KeyError(end)
        return max(figures)

    return worst


_STREAMED_UPSTREAM = (
    "the API is always asked for a stream, so that a run can be stopped by its id: nginx passes on one body of 2 KB, "
    "the gateway reads 6 KB in 12 chunks and decodes 15 events"
)
_CURL = (
    "curl's handle, and its buffer for what goes up, which is kept until the answer is over, take 31 KB of it, or 44 "
    "KB with a browser's shape; streams of one HTTP/2 connection share more"
)
_WAKING = "each token wakes a task here, where nginx only copies; the rest of both is system calls"
_ALL_OF_IT = (
    "the gateway reads every form that an answer takes, keeps its sources, cleans and cites it, and remembers the "
    "thread; the usual proxy picks one field out of each event"
)

GOALS = (
    Goal(
        "1",
        "requests/s against LiteLLM, 32 callers, not streamed",
        40,
        70,
        "x",
        "higher",
        _ratio("requests c32: per second", to=LITELLM),
        _STREAMED_UPSTREAM,
    ),
    Goal(
        "2", "the same against nginx", 0.05, 0.12, "x", "higher", _ratio("requests c32: per second"), _STREAMED_UPSTREAM
    ),
    Goal(
        "3",
        "CPU per request against nginx",
        25,
        10,
        "x",
        "lower",
        _ratio("requests c32: CPU us/request"),
        _STREAMED_UPSTREAM,
    ),
    Goal(
        "4",
        "added latency, 1 caller, p50",
        1.0,
        0.5,
        "ms",
        "lower",
        _added("requests c1: latency p50 ms"),
        _STREAMED_UPSTREAM,
    ),
    Goal("4", "added latency, 1 caller, p99", 5.0, 2.5, "ms", "lower", _added("requests c1: latency p99 ms")),
    Goal(
        "4",
        "LiteLLM's added latency against ours, p50",
        25,
        None,
        "x",
        "higher",
        _added_against_litellm("requests c1: latency p50 ms"),
    ),
    Goal("5", "tokens/s flat out against LiteLLM", 60, 100, "x", "higher", _ratio("api blast: chunks/s", to=LITELLM)),
    Goal("5", "tokens/s flat out", 40_000, None, "/s", "higher", _own("api blast: chunks/s")),
    Goal(
        "6",
        "CPU per paced token against nginx, 200 streams",
        4,
        2.5,
        "x",
        "lower",
        _ratio("api paced c200: CPU us/chunk"),
        _WAKING,
    ),
    Goal("7", "delivered at rate, 200 streams", 85, 97, "%", "higher", _own("api paced c200: delivered %")),
    Goal("7", "transit of a token, 200 streams, p50", 10, None, "ms", "lower", _own("api paced c200: transit p50 ms")),
    Goal("7", "transit of a token, 200 streams, p99", 60, None, "ms", "lower", _own("api paced c200: transit p99 ms")),
    Goal(
        "8", "added time to the first token, 1 stream", 4, 2, "ms", "lower", _added("api paced c1: first chunk p50 ms")
    ),
    Goal(
        "8",
        "added time to the first token, 50 streams",
        40,
        20,
        "ms",
        "lower",
        _added("api paced c50: first chunk p50 ms"),
    ),
    Goal(
        "9",
        "session answers/s against the usual proxy",
        3.5,
        5.5,
        "x",
        "higher",
        _ratio("session blast: answers/s", to=USUAL),
        _ALL_OF_IT,
    ),
    Goal(
        "10",
        "session tokens/s against the usual proxy, 200 streams",
        1.7,
        2.7,
        "x",
        "higher",
        _ratio("session paced c200: chunks/s", to=USUAL),
        f"{_ALL_OF_IT}; and it is near the rate that is offered, so the ratio has little room",
    ),
    Goal("11", "idle RSS", 60, 45, "MB", "lower", _own("api memory: idle RSS MB"), "code: imports of every interface"),
    Goal(
        "11",
        "memory of an open stream, 1,000 of the api",
        60,
        40,
        "KB",
        "lower",
        _own("api memory: KB/stream at 1000"),
        _CURL,
    ),
    Goal(
        "11",
        "memory of an open stream, 1,000 of the session",
        60,
        40,
        "KB",
        "lower",
        _own("session memory: KB/stream at 1000"),
        _CURL,
    ),
    Goal(
        "12", "questions left open by 50 callers that vanished, worst case", 0, None, "", "lower", _worst(": left open")
    ),
    Goal("12", "until the last one is closed, worst case", 100, 30, "ms", "lower", _worst(": ms")),
    Goal("13", "start to the first 200", 700, 400, "ms", "lower", _own("start: first 200 ms")),
    Goal(
        "13",
        "LiteLLM's start against ours",
        20,
        None,
        "x",
        "higher",
        _ratio("start: first 200 ms", of=LITELLM, to=GATEWAY),
    ),
    Goal("14", "stdio MCP server, start to `initialize`", 150, 80, "ms", "lower", _own("start: stdio MCP ms")),
    Goal(
        "15",
        "CPU per request, two workers against one",
        1.1,
        None,
        "x",
        "lower",
        _ratio("requests c32: CPU us/request", of=TWO_WORKERS, to=GATEWAY),
    ),
)


def judge(results: Results) -> list[Verdict]:
    rounds = max((len(values) for figures in results.values() for values in figures.values()), default=0)
    shown = [_of_round(results, number) for number in range(rounds)]
    return [Verdict(goal, _values(goal, shown)) for goal in GOALS]


def _of_round(results: Results, number: int) -> Round:
    """What was measured once only stands for all rounds."""
    return {
        setup: {name: values[number] if number < len(values) else median(values) for name, values in figures.items()}
        for setup, figures in results.items()
    }


def _values(goal: Goal, rounds: Sequence[Round]) -> tuple[float, ...]:
    try:
        values = tuple(goal.value(results) for results in rounds)
    except KeyError:
        return ()
    return values[:1] if len(set(values)) == 1 else values
