"""What answers to Anthropic's names of models, which its clients ask for by themselves.

A name that the gateway knows itself is what it always is. For others there is the built-in table `data/anthropic.json`,
and PPLX_ANTHROPIC_MODELS before it. A table's model of the api is asked where there is no session, or with leave to
spend; the owner's own entry is such leave if it says `api/`.
"""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import NamedTuple

import msgspec

from pplx_gateway.catalogue import Model
from pplx_gateway.errors import ModelNotAllowed, ModelNotFound
from pplx_gateway.gateway import Gateway
from pplx_gateway.permits import may_ask
from pplx_gateway.routing import MAX_ID_LENGTH, Route
from pplx_gateway.settings import SettingsError

VARIABLE = "PPLX_ANTHROPIC_MODELS"
_ENTRY = re.compile(r"(?P<pattern>[^=\s]+)=(?P<model>[A-Za-z0-9][\w./:@-]*)")
_HINT = f"Set {VARIABLE} to choose what answers to this name."


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`names` are patterns in small letters; `listed` is the one that lists of models show."""

    names: tuple[str, ...]
    listed: str
    session: str
    api: str


class Entry(NamedTuple):
    pattern: str
    model: str


class Listed(NamedTuple):
    """A name of Anthropic's, and the model that answers to it first."""

    name: str
    model: Model


def built_in() -> tuple[Row, ...]:
    data = files("pplx_gateway").joinpath("data/anthropic.json").read_bytes()
    return msgspec.json.decode(data, type=tuple[Row, ...])


def entries(texts: Iterable[str]) -> Iterator[Entry]:
    """The owner's entries. Raises SettingsError."""
    for text in texts:
        match = _ENTRY.fullmatch(text)
        if match is None:
            raise SettingsError(f"{VARIABLE}: '{text}' is not of the form NAME=MODEL, such as claude-opus-*=gpt.")
        yield Entry(match["pattern"].lower(), match["model"])


class AnthropicModels:
    def __init__(self, gateway: Gateway) -> None:
        """Raises SettingsError."""
        self._gateway = gateway
        self._rows = built_in()
        self._entries = tuple(entries(gateway.settings.anthropic_models))

    def resolve(self, model_id: str | None) -> Route:
        """Raises as Gateway.resolve does."""
        name = (model_id or "")[: MAX_ID_LENGTH + 1].lower()
        entry = next((entry for entry in self._entries if fnmatchcase(name, entry.pattern)), None)
        if model_id is None or (entry is None and self._known(model_id)):
            return self._gateway.resolve(model_id)
        if entry is not None:
            return self._gateway.resolve_as(model_id, entry.model)
        row = next((row for row in self._rows if any(fnmatchcase(name, each) for each in row.names)), None)
        return self._gateway.resolve(model_id) if row is None else self._by_row(model_id, row)

    def listed(self) -> list[Listed]:
        """The table's own names, as far as somebody answers to them now."""
        found = []
        for row in self._rows:
            try:
                found.append(Listed(row.listed, self.resolve(row.listed).targets[0]))
            except (ModelNotFound, ModelNotAllowed):
                continue
        return found

    def _known(self, model_id: str) -> bool:
        """A name with a slash names its upstream or provider, and is never reinterpreted."""
        catalogue = self._gateway.catalogue
        return "/" in model_id or any(catalogue.find(upstream, model_id) for upstream in self._gateway.order)

    def _by_row(self, model_id: str, row: Row) -> Route:
        order = self._gateway.order
        targets: list[Model] = []
        refusal: ModelNotFound | ModelNotAllowed | None = None
        spending = self._gateway.settings.allow_spending or "session" not in order
        asked = order if spending else ["session"]
        for upstream in asked:
            name = row.session if upstream == "session" else row.api
            try:
                targets.extend(self._gateway.resolve_as(model_id, f"{upstream}/{name}").targets)
            except (ModelNotFound, ModelNotAllowed) as error:
                refusal = refusal or error
        if targets:
            return Route(model_id, tuple(targets))
        if refusal is None:
            return self._gateway.resolve(model_id)
        if not any(may_ask(model_id, upstream) for upstream in asked):
            raise refusal  # by the caller's key, whatever a table says
        raise type(refusal)(f"{refusal.message} {_HINT}", param="model")
