"""The files of deploy/, read the way that Docker, Compose and systemd read them, as far as the tests need it."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"


class Instruction(NamedTuple):
    name: str
    rest: str

    @property
    def command(self) -> list[str]:
        """The words of the exec form. Raises ValueError for the shell form."""
        return msgspec.json.decode(self.rest, type=list[str])


class Dockerfile(NamedTuple):
    """The last stage is what becomes the image."""

    stages: tuple[tuple[Instruction, ...], ...]

    def find(self, name: str) -> list[Instruction]:
        return [instruction for instruction in self.stages[-1] if instruction.name == name]

    def one(self, name: str) -> Instruction:
        (found,) = self.find(name)
        return found

    @property
    def environment(self) -> dict[str, str]:
        pairs = re.findall(r"(\w+)=(\"[^\"]*\"|\S+)", " ".join(env.rest for env in self.find("ENV")))
        return {name: value.strip('"') for name, value in pairs}


def dockerfile() -> Dockerfile:
    text = (DEPLOY / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", "", "\n".join(lines))
    stages: list[list[Instruction]] = []
    for line in whole.splitlines():
        instruction = Instruction(*line.split(maxsplit=1))
        if instruction.name == "FROM":
            stages.append([])
        stages[-1].append(instruction)
    return Dockerfile(tuple(map(tuple, stages)))


def compose(name: str = "compose.yaml") -> dict[str, Any]:
    return msgspec.yaml.decode((DEPLOY / name).read_bytes(), type=dict[str, Any])


class Unit(NamedTuple):
    """A systemd unit: section, name, value, in order; a name may come several times."""

    rows: tuple[tuple[str, str, str], ...]

    def values(self, section: str, name: str) -> list[str]:
        return [value for where, key, value in self.rows if (where, key) == (section, name)]

    def one(self, name: str, section: str = "Service") -> str:
        (value,) = self.values(section, name)
        return value


def unit() -> Unit:
    section, rows = "", []
    for line in (DEPLOY / "pplx-gateway.service").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            name, _, value = line.partition("=")
            rows.append((section, name, value))
    return Unit(tuple(rows))
