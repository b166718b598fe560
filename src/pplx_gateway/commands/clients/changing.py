"""Changes a client's file in one step, keeps a copy of it as it was, and undoes the change to the last byte."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, TypeVar

from pplx_gateway.commands.clients.table import Entry, Format
from pplx_gateway.commands.exits import CommandFailed

Result = TypeVar("Result")
State = Literal["no file", "not there", "there", "another one"]
COPY = ".before-pplx-gateway"


class ClientFile:
    """Raises CommandFailed wherever the file cannot be read, understood or written; then nothing has changed."""

    def __init__(self, path: Path, form: Format, name: str) -> None:
        self.path = Path(os.path.realpath(path))  # so that a link stays one
        self.copy = self.path.with_name(self.path.name + COPY)
        self._form = form
        self._name = name

    def state(self, entry: Entry) -> State:
        text = self._read(self.path)
        if text is None:
            return "no file"
        found = self._understood(lambda: self._form.entry(text, self._name))
        return "not there" if found is None else "there" if found == entry else "another one"

    def put(self, entry: Entry) -> bool:
        """True if something changed. The copy is of the file without an entry of ours."""
        before = self._read(self.path)
        text = before or ""
        found = self._understood(lambda: self._form.entry(text, self._name))
        changed = self._understood(lambda: self._form.with_entry(text, self._name, entry))
        if changed == before:
            return False
        if before is not None and (found is None or not self.copy.exists()):
            self._write(self.copy, before)
        elif before is None:
            with suppress(FileNotFoundError):
                self.copy.unlink()
        self._write(self.path, changed)
        return True

    def take_out(self) -> bool:
        """True if something changed. Where nothing else was changed since, the file is as it was before."""
        text = self._read(self.path)
        if text is None:
            return False
        entry = self._understood(lambda: self._form.entry(text, self._name))
        if entry is None:
            return False
        copy = self._read(self.copy)
        if isinstance(entry, dict) and self._would_be(copy, entry) == text:
            if copy is None:
                self.path.unlink()
            else:
                self._write(self.path, copy)
                self.copy.unlink()
            return True
        self._write(self.copy, text)
        self._write(self.path, self._understood(lambda: self._form.without_entry(text, self._name)))
        return True

    def _would_be(self, copy: str | None, entry: Entry) -> str | None:
        with suppress(ValueError):
            return self._form.with_entry(copy or "", self._name, entry)
        return None

    def _understood(self, act: Callable[[], Result]) -> Result:
        try:
            return act()
        except ValueError as error:
            raise CommandFailed(
                f"{self.path} cannot be understood, so it was left alone: {error}.",
                cure="Mend it, or put the entry in by hand: pplx-gateway setup CLIENT shows it.",
            ) from None

    def _read(self, path: Path) -> str | None:
        """With its line ends as they are; None = there is no file."""
        try:
            return path.read_bytes().decode("utf-8")
        except FileNotFoundError:
            return None
        except UnicodeDecodeError:
            raise CommandFailed(f"{path} is not UTF-8, so it was left alone.") from None
        except OSError as error:
            raise CommandFailed(f"{path} cannot be read: {error.strerror}.") from None

    def _write(self, path: Path, text: str) -> None:
        """In one step, with the rights of the client's file; a new one is the owner's alone."""
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            rights = self.path.stat().st_mode & 0o777 if self.path.exists() else 0o600
            number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
            with os.fdopen(number, "wb") as file:
                file.write(text.encode())
            os.chmod(name, rights)
            os.replace(name, path)
        except OSError as error:
            raise CommandFailed(f"{path} cannot be written: {error.strerror}.") from None
