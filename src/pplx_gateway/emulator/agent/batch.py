"""One batch: its state, and the lines that it is made of (docs/wire-agent.md 7)."""

import uuid
from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from pplx_gateway.emulator.agent.errors import ApiError
from pplx_gateway.emulator.agent.request import Strict
from pplx_gateway.emulator.agent.strictness import read_as, read_object

ENDPOINT = "/v1/responses"
WINDOW_SECONDS = 86_400
MOST_LINES = 50_000

Status = Literal["validating", "in_progress", "finalizing", "completed", "expired", "cancelling", "cancelled", "failed"]
FINAL: tuple[Status, ...] = ("completed", "expired", "cancelled", "failed")


class BatchBody(Strict):
    input_file_id: str
    endpoint: Literal["/v1/responses"]
    completion_window: Literal["24h"] | None = None
    metadata: dict[str, str] | None = None


class Line(Strict):
    custom_id: str
    method: Literal["POST"]
    url: Literal["/v1/responses"]
    body: dict[str, Any]


class LineError(msgspec.Struct, frozen=True):
    """`line` counts from 1; None = the file as a whole."""

    code: str
    message: str
    line: int | None = None


class Batch:
    """`times` are seconds since the epoch, by the name of their field. `wrong` and `right` are JSON lines."""

    def __init__(self, body: BatchBody, key: str, now: float) -> None:
        self.id = f"batch_{uuid.uuid4().hex}"
        self.key = key
        self.body = body
        self.status: Status = "validating"
        self.created = now
        self.times: dict[str, int] = {"created_at": int(now), "expires_at": int(now) + WINDOW_SECONDS}
        self.lines: list[Line] = []
        self.right: list[bytes] = []
        self.wrong: list[bytes] = []
        self.failed = 0
        self.errors: list[LineError] = []
        self.usage = dict.fromkeys(("input_tokens", "output_tokens", "cached_tokens", "reasoning_tokens"), 0)
        self.output_file_id: str | None = None
        self.error_file_id: str | None = None

    @property
    def unanswered(self) -> list[Line]:
        return self.lines[len(self.right) + self.failed :]

    @property
    def ended(self) -> bool:
        return self.status in FINAL

    def become(self, status: Status, now: float) -> None:
        self.status = status
        self.times[f"{status}_at"] = int(now)

    def count(self, usage: dict[str, Any] | None) -> None:
        """Adds what one run used."""
        if usage is None:
            return
        self.usage["input_tokens"] += usage["input_tokens"]
        self.usage["output_tokens"] += usage["output_tokens"]
        self.usage["cached_tokens"] += usage["input_tokens_details"]["cached_tokens"]
        self.usage["reasoning_tokens"] += usage["output_tokens_details"]["reasoning_tokens"]

    def view(self) -> dict[str, Any]:
        named = ("in_progress", "finalizing", "completed", "failed", "expired", "cancelling", "cancelled")
        data = [msgspec.structs.asdict(error) for error in self.errors]
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.body.endpoint,
            "input_file_id": self.body.input_file_id,
            "completion_window": self.body.completion_window or "24h",
            "status": self.status,
            "created_at": self.times["created_at"],
            "expires_at": self.times["expires_at"],
            **{f"{name}_at": self.times.get(f"{name}_at") for name in named},
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "errors": {"object": "list", "data": data} if data else None,
            "request_counts": {"total": len(self.lines), "completed": len(self.right), "failed": self.failed},
            "usage": self._usage(),
            "metadata": self.body.metadata,
        }

    def _usage(self) -> dict[str, Any]:
        used = self.usage
        return {
            "input_tokens": used["input_tokens"],
            "input_tokens_details": {"cached_tokens": used["cached_tokens"]},
            "output_tokens": used["output_tokens"],
            "output_tokens_details": {"reasoning_tokens": used["reasoning_tokens"]},
            "total_tokens": used["input_tokens"] + used["output_tokens"],
        }


def read_lines(content: bytes) -> tuple[list[Line], list[LineError]]:
    """The lines of an input file, and what is wrong with them. Blank lines do not count."""
    lines, errors = [], []
    numbered = [(number, line) for number, line in enumerate(content.splitlines(), 1) if line.strip()]
    if not numbered:
        return [], [LineError("empty_file", "the input file holds no request")]
    if len(numbered) > MOST_LINES:
        return [], [LineError("too_many_requests", f"the input file holds more than {MOST_LINES} requests")]
    seen: set[str] = set()
    for number, text in numbered:
        try:
            line = read_as(read_object(text), Line)
        except ApiError as error:
            errors.append(LineError("invalid_request", error.message, number))
            continue
        if line.custom_id in seen:
            errors.append(LineError("duplicate_custom_id", f'custom_id "{line.custom_id}" is used twice', number))
        seen.add(line.custom_id)
        lines.append(line)
    return lines, errors


def result(line: Line, *, response: dict[str, Any] | None = None, error: dict[str, str] | None = None) -> bytes:
    """A line of an output file or of an error file."""
    name = f"batch_req_{uuid.uuid4().hex}"
    return msgspec.json.encode({"id": name, "custom_id": line.custom_id, "response": response, "error": error}) + b"\n"


def unfinished(lines: list[Line], code: str, message: str) -> Iterator[bytes]:
    return (result(line, error={"code": code, "message": message}) for line in lines)
