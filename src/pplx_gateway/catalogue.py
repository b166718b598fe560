"""Models as data: which ids callers may use, and what each means to its upstream.

The built-in list is `data/models.json`. Ids that are patterns (`provider/model`, `level@version`) are the api's alone.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.resources import files
from typing import Literal

import msgspec

from pplx_gateway.errors import ModelNotFound

Tier = Literal["free", "pro", "max"]
LEVELS = ("fast", "low", "medium", "high", "xhigh", "wide-research")


class SessionRoute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the web session is asked: `mode` and `model_preference` (docs/wire-session.md 1.4).

    `thinking_id` None = the model has no thinking variant; equal to `upstream_id` = it always thinks."""

    mode: Literal["concise", "copilot"]
    upstream_id: str
    thinking_id: str | None = None
    tier: Tier = "pro"


class AgentRoute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the Agent API is asked: a bare `model`, or a level (`effort`) that brings its own tools.

    `search`: "force" adds web_search and a tool_choice for it, "offer" adds the tool, "level" leaves it to the level,
    "never" forbids tools."""

    model: str | None = None
    effort: str | None = None
    search: Literal["force", "offer", "level", "never"] = "level"


class Model(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One id on one upstream. Exactly one of `session` and `agent` is set.

    `reasons`: shows its way even when not asked to. `research`: takes minutes, so time-outs are longer.
    """

    id: str
    name: str
    owner: str
    session: SessionRoute | None = None
    agent: AgentRoute | None = None
    context: int | None = None
    reasons: bool = False
    research: bool = False
    enabled: bool = True

    @property
    def upstream(self) -> Literal["session", "api"]:
        return "session" if self.session else "api"


class Retired(msgspec.Struct, frozen=True, kw_only=True):
    """Ids that were alive once: a pattern, and the id to use instead."""

    pattern: str
    use: str


class CatalogueFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    models: list[Model]
    retired: list[Retired]


def built_in_file() -> CatalogueFile:
    """The list that this release brings, with what is disabled in it."""
    return msgspec.json.decode(files("pplx_gateway").joinpath("data/models.json").read_bytes(), type=CatalogueFile)


class Catalogue:
    """Every id, by upstream. `find` is a dict look-up, then the api's patterns. The session's models change while the
    gateway runs (model_keeping.py), which `revision` counts; whoever looks sees either the old ones or the new."""

    def __init__(self, models: Iterable[Model], retired: Iterable[Retired] = ()) -> None:
        self.revision = 0
        self._models: dict[tuple[str, str], Model] = {(m.upstream, m.id): m for m in models if m.enabled}
        self._retired = [(re.compile(entry.pattern), entry.use) for entry in retired]

    @classmethod
    def built_in(cls) -> "Catalogue":
        data = built_in_file()
        return cls(data.models, data.retired)

    def renew(self, session: Iterable[Model]) -> None:
        """Puts these in the place of all models of the session."""
        ours = {(model.upstream, model.id): model for model in session if model.enabled}
        self._models = ours | {key: model for key, model in self._models.items() if key[0] != "session"}
        self.revision += 1

    def __iter__(self) -> Iterator[Model]:
        return iter(self._models.values())

    def find(self, upstream: str, model_id: str) -> Model | None:
        """The model that `upstream` knows as `model_id`; None if it knows none."""
        found = self._models.get((upstream, model_id))
        if found is None and upstream == "api":
            return _by_pattern(model_id)
        return found

    def fixed(self, upstream: str, model_id: str) -> bool:
        """True if the list itself has the id; patterns do not count."""
        return (upstream, model_id) in self._models

    def answered(self, served_by: Model, name: str | None) -> str:
        """The id of what answered as `name`: ours where one is known, else the upstream's word."""
        if name is None or name in _names(served_by):
            return served_by.id
        if found := self.find(served_by.upstream, name):
            return found.id
        ours = (model.id for model in self if model.upstream == served_by.upstream and name in _names(model))
        return next(ours, name)

    def retired(self, model_id: str) -> str | None:
        """The id to use instead, if `model_id` was alive once."""
        return next((use for pattern, use in self._retired if pattern.fullmatch(model_id)), None)

    def not_found(self, model_id: str) -> ModelNotFound:
        """The error for an id that nobody knows: says whether it is retired, and which ids are near."""
        if use := self.retired(model_id):
            return ModelNotFound(f"The model '{model_id}' is retired. Use '{use}' instead.", param="model")
        ids = sorted({known for _, known in self._models})
        near = difflib.get_close_matches(model_id, ids, n=3, cutoff=0.4) or ["auto", "sonar", "sonar-pro"]
        names = ", ".join(f"'{name}'" for name in near if name in ids) or "GET /v1/models for the list"
        return ModelNotFound(f"The model '{model_id}' does not exist. Nearest: {names}.", param="model")


def _names(model: Model) -> tuple[str | None, ...]:
    if model.session:
        return (model.session.upstream_id, model.session.thinking_id)
    return (model.agent.model, model.id) if model.agent else ()


_PROVIDER_MODEL = re.compile(r"(?!(?:session|api)/)[a-z0-9][a-z0-9-]{0,63}/[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
_PINNED_LEVEL = re.compile(r"(?:{})@[0-9A-Za-z.-]{{1,32}}".format("|".join(LEVELS)))


@lru_cache(maxsize=256)
def _by_pattern(model_id: str) -> Model | None:
    if _PINNED_LEVEL.fullmatch(model_id):
        route = AgentRoute(effort=model_id)
        research = model_id.split("@", maxsplit=1)[0] in ("medium", "high", "xhigh", "wide-research")
        return Model(id=model_id, name=model_id, owner="perplexity", agent=route, research=research, reasons=research)
    if _PROVIDER_MODEL.fullmatch(model_id):
        owner, _, _ = model_id.partition("/")
        return Model(id=model_id, name=model_id, owner=owner, agent=AgentRoute(model=model_id, search="offer"))
    return None
