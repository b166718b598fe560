"""One of the owner's keys for the API: what it may be used for, and how often it is chosen."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from pplx_gateway.settings import Secret

Origin = Literal["environment", "file", "admin"]

EVERYTHING = "*"
DEFAULT_NAME = "default"
VARIABLE = "PERPLEXITY_API_KEY"
_OUR_PREFIXES = ("api/", "perplexity/")


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """`secret` None = it cannot be used, and `reason` says why. `reference` is the `env.NAME` that it came from.
    `weight` 0 = only for those who ask for it by name."""

    name: str
    secret: Secret | None
    origin: Origin
    reference: str | None = None
    models: tuple[str, ...] = (EVERYTHING,)
    weight: float = 1.0
    enabled: bool = True
    reason: str | None = None

    @property
    def usable(self) -> bool:
        return self.enabled and self.secret is not None

    @property
    def label(self) -> str:
        """What to check when the API refuses it."""
        return self.reference.removeprefix("env.") if self.reference else f"the key '{self.name}'"

    def reveal(self) -> str:
        """Raises ValueError for a key without a secret, which nothing may choose."""
        if self.secret is None:
            raise ValueError(f"the key '{self.name}' has no value")
        return self.secret.reveal()

    def allows(self, names: Iterable[str]) -> bool:
        """True if the allow-list holds one of the model's names, with or without its prefix."""
        return EVERYTHING in self.models or any(_same(listed, name) for listed in self.models for name in names)

    def same_secret(self, other: "Key") -> bool:
        return self.secret is not None and other.secret is not None and self.reveal() == other.reveal()


def only_key(secret: Secret, name: str = DEFAULT_NAME) -> Key:
    """The key of whoever has just one."""
    return Key(name=name, secret=secret, origin="environment", reference=f"env.{VARIABLE}")


def _same(listed: str, name: str) -> bool:
    """`sonar` is `perplexity/sonar`, `gpt-6-luna` is `openai/gpt-6-luna`; `openai/x` is not `xai/x`."""
    listed, name = _bare(listed), _bare(name)
    if "/" in listed and "/" in name:
        return listed == name
    return listed.rpartition("/")[2] == name.rpartition("/")[2]


def _bare(name: str) -> str:
    for prefix in _OUR_PREFIXES:
        name = name.removeprefix(prefix)
    return name
