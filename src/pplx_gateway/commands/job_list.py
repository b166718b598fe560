"""Which responses were begun in the background from this command line, and at which gateway: ids and times alone, in
`jobs.json` of the data folder, so that one is told of, too, that its gateway does not keep any more."""

import json
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from pplx_gateway.commands.door import data_folder

MOST = 200


class Job(NamedTuple):
    """`place`: the gateway's address, "" = one of this data folder; `began`: seconds since the epoch."""

    id: str
    place: str
    began: float


class JobList:
    def __init__(self, folder: str | None = None) -> None:
        self._path = Path(folder or data_folder()) / "jobs.json"

    def at(self, place: str) -> list[Job]:
        """Newest first."""
        return [job for job in reversed(self._read()) if job.place == place]

    def add(self, response_id: str, place: str) -> None:
        """Raises OSError."""
        self._write([*self._read(), Job(response_id, place, time.time())][-MOST:])

    def forget(self, response_id: str) -> None:
        """Raises OSError."""
        self._write(job for job in self._read() if job.id != response_id)

    def _read(self) -> list[Job]:
        """A file that cannot be understood counts as empty: the gateway still has what matters."""
        with suppress(OSError, ValueError, TypeError, KeyError):
            found = json.loads(self._path.read_text(encoding="utf-8"))["jobs"]
            return [Job(str(job["id"]), str(job["place"]), float(job["began"])) for job in found]
        return []

    def _write(self, jobs: Iterable[Job]) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        number, name = tempfile.mkstemp(dir=self._path.parent, prefix="jobs-")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            json.dump({"jobs": [job._asdict() for job in jobs]}, file)
        os.replace(name, self._path)
