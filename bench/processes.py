"""Programs under measurement: started on a core of their own, read through /proc, stopped by their own id."""

import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
START_SECONDS = 30.0


class NotStarted(RuntimeError):
    """A program ended, or did not become ready; the message holds the end of what it said."""


class Program:
    """A started process. `core` None = wherever the system puts it."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        core: int | None = None,
        log: Path,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self.log = log
        self.started_ns = time.monotonic_ns()
        pinned = ["taskset", "-c", str(core), *command] if core is not None else list(command)
        with log.open("wb") as output:
            # A session of its own, so that a signal for this terminal does not reach it.
            self._process = subprocess.Popen(
                pinned, stdin=subprocess.PIPE, stdout=output, stderr=output, env=env, cwd=cwd, start_new_session=True
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until(self, ready: Callable[[], bool], seconds: float = START_SECONDS) -> float:
        """The milliseconds from the start until `ready`. Raises NotStarted."""
        limit = time.monotonic() + seconds
        while not ready():
            if self._process.poll() is not None or time.monotonic() > limit:
                raise NotStarted(f"{self.log.stem} is not ready:\n{self.said()[-2000:]}")
            time.sleep(0.002)
        return (time.monotonic_ns() - self.started_ns) / 1e6

    def said(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    def cpu_seconds(self) -> float:
        """User and system time of the process and its descendants, those that have ended included."""
        return sum(_cpu_ticks(pid) for pid in _tree(self.pid)) / TICKS

    def pss_kb(self) -> int:
        """Proportional set size of the process and its descendants."""
        return sum(_pss_kb(pid) for pid in _tree(self.pid))

    def rss_kb(self) -> int:
        return sum(_status_kb(pid, "VmRSS") for pid in _tree(self.pid))

    def vanish(self) -> int:
        """Ends it as a crash would. Returns the time of that, in nanoseconds of CLOCK_MONOTONIC."""
        at = time.monotonic_ns()
        self._process.kill()
        self._process.wait()
        return at

    def stop(self) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()


def raise_file_limit() -> None:
    """A thousand streams are two thousand sockets."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _tree(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    except OSError:
        return
    for child in children.split():
        yield from _tree(int(child))


def _cpu_ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return 0
    # The name in brackets may hold blanks; utime, stime, cutime and cstime are fields 14 to 17 (proc(5)).
    return sum(int(field) for field in text.rpartition(")")[2].split()[11:15])


def _pss_kb(pid: int) -> int:
    return _field_kb(f"/proc/{pid}/smaps_rollup", "Pss")


def _status_kb(pid: int, name: str) -> int:
    return _field_kb(f"/proc/{pid}/status", name)


def _field_kb(path: str, name: str) -> int:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith(f"{name}:")), 0)
