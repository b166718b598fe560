"""Every metric that `/metrics` shows: its name, its kind, its labels, and what it tells. docs/metrics.md has the table.

All names begin with PREFIX. A counter's ends with `_total` on the page, a histogram has `_bucket`, `_sum`, `_count`.
"""

from typing import Literal, NamedTuple

PREFIX = "pplx_gateway_"
OTHER = "other"
"""The label of a model whose id is in no list of ours: anybody can make ids up, and each would be a series."""

Kind = Literal["counter", "histogram", "gauge"]
_SECONDS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
_FIRST_TEXT_SECONDS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metric(NamedTuple):
    """`bounds` are the upper ends of a histogram's buckets, in seconds. `unit` divides what was counted."""

    name: str
    kind: Kind
    labels: tuple[str, ...]
    about: str
    bounds: tuple[float, ...] = ()
    unit: float = 1.0


REQUESTS = Metric(
    "requests",
    "counter",
    ("protocol", "operation", "status", "upstream", "model"),
    "Requests that have ended. `protocol` is `gateway` for pages, what the owner does, and whoever was not let in.",
)
SECONDS = Metric(
    "request_seconds", "histogram", ("protocol", "operation", "upstream"), "How long requests took.", _SECONDS
)
FIRST_TEXT = Metric(
    "first_text_seconds",
    "histogram",
    ("upstream", "model"),
    "From the request's begin to the answer's first text or function call.",
    _FIRST_TEXT_SECONDS,
)
REQUEST_ERRORS = Metric(
    "request_errors", "counter", ("protocol", "operation", "code"), "Requests that ended with an error, by its code."
)
UPSTREAM_ERRORS = Metric(
    "upstream_errors", "counter", ("upstream", "code"), "Answers that an upstream failed to give, by the error's code."
)
UPSTREAM_CALLS = Metric(
    "upstream_calls",
    "counter",
    ("upstream", "outcome"),
    "HTTP requests to an upstream, by the status of the answer, or by the error's code where there was none.",
)
FAILOVERS = Metric(
    "failovers", "counter", ("source", "target", "code"), "Questions that a second upstream answered, and why."
)
TOKENS = Metric(
    "tokens",
    "counter",
    ("upstream", "model", "kind"),
    "Tokens used; those of the session are estimated. `cached` is part of `input`, `reasoning` of `output`.",
)
COST = Metric(
    "cost_dollars",
    "counter",
    ("upstream", "model", "source"),
    "US dollars that the api took: as it told them (`given`), by our list of prices (`computed`), or only a part of "
    "them (`unknown`).",
    unit=1e12,
)
UNKNOWN_COSTS = Metric(
    "unknown_costs", "counter", ("upstream", "model"), "Requests that reached the api and whose cost nobody knows."
)
SEARCHES = Metric(
    "searches", "counter", ("kind",), "Searches: `billed` by the api, `pro` of those that the session's plan counts."
)
KEY_REQUESTS = Metric("api_key_requests", "counter", ("key",), "Questions that went out with a key of the api.")
KEY_FAILURES = Metric("api_key_failures", "counter", ("key",), "Those of them that the api refused for the key's sake.")
SURPRISES = Metric(
    "wire_surprises",
    "counter",
    ("wire", "kind", "name"),
    "Answers that held what this release does not know; see the page /admin.",
)

OPEN_REQUESTS = Metric("open_requests", "gauge", (), "Requests under way, those in the background among them.")
OPEN_STREAMS = Metric("open_streams", "gauge", ("upstream",), "Answers that are being streamed from an upstream.")
UPSTREAM_WAITING = Metric(
    "upstream_waiting", "gauge", ("upstream",), "Requests that wait for one of PPLX_MAX_CONNECTIONS places."
)
KEY_WORKERS = Metric("api_key_workers", "gauge", ("key", "state"), "Workers to which a key of the api is in a state.")
WORKERS = Metric("workers", "gauge", (), "Processes that serve.")
SESSION_STATE = Metric(
    "session_state", "gauge", ("state",), "1 for the state that the session is in. Absent without a cookie."
)
COOKIE_AGE = Metric("session_cookie_age_seconds", "gauge", (), "Since the cookie was given or renewed.")
QUOTA = Metric("quota_remaining", "gauge", ("kind",), "Searches left of the plan. Absent where not known.")
QUOTA_AGE = Metric("quota_age_seconds", "gauge", (), "Since the quota was last read.")
STORE_BYTES = Metric("store_bytes", "gauge", ("part",), "Size of the data folder: database, its log, uploaded files.")
STORE_UP = Metric("store_up", "gauge", (), "0 if the store failed to be read or written for this page.")
BUILD = Metric("build_info", "gauge", ("version",), "Always 1.")

METRICS: tuple[Metric, ...] = (
    REQUESTS,
    REQUEST_ERRORS,
    SECONDS,
    FIRST_TEXT,
    OPEN_REQUESTS,
    OPEN_STREAMS,
    UPSTREAM_CALLS,
    UPSTREAM_ERRORS,
    UPSTREAM_WAITING,
    FAILOVERS,
    TOKENS,
    COST,
    UNKNOWN_COSTS,
    SEARCHES,
    SESSION_STATE,
    COOKIE_AGE,
    QUOTA,
    QUOTA_AGE,
    KEY_WORKERS,
    KEY_REQUESTS,
    KEY_FAILURES,
    SURPRISES,
    STORE_BYTES,
    STORE_UP,
    WORKERS,
    BUILD,
)


def metrics_markdown() -> str:
    """The table for the docs."""
    lines = ["| metric | kind | labels | what it tells |", "| --- | --- | --- | --- |"]
    for metric in METRICS:
        ending = "_total" if metric.kind == "counter" else ""
        labels = ", ".join(f"`{label}`" for label in metric.labels)
        lines.append(f"| `{PREFIX}{metric.name}{ending}` | {metric.kind} | {labels} | {metric.about} |")
    return "\n".join(lines) + "\n"
