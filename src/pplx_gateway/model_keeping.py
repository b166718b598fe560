"""The session's models while the gateway runs: kept in the store, the same in every worker within a second."""

import json
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from pplx_gateway.catalogue import Catalogue, Model, SessionRoute, built_in_file
from pplx_gateway.clock import Clock
from pplx_gateway.errors import InvalidRequest, StoreUnavailable
from pplx_gateway.families import family_of
from pplx_gateway.overlay import Entry, Picked, Saved, SavedModel, checked, overlaid
from pplx_gateway.store import Fact, Facts

logger = logging.getLogger("pplx_gateway.models")

FACT = "models"
OLD_FILE = ".models.json"
_ROUNDS = 20


class ModelKeeper:
    """Keeps `catalogue` in line with what is saved. Methods that change raise StoreUnavailable, and then nothing is
    changed."""

    def __init__(self, catalogue: Catalogue, facts: Facts, clock: Clock) -> None:
        self._catalogue = catalogue
        self._facts = facts
        self._clock = clock
        self._built_in = built_in_file().models
        self._saved = Saved()
        self._version = 0
        self._entries = overlaid(self._built_in, self._saved)

    @property
    def entries(self) -> Mapping[str, Entry]:
        """Every model of the session by id, disabled ones included."""
        return self._entries

    @property
    def saved(self) -> Saved:
        return self._saved

    async def sync(self) -> None:
        """What other workers have changed since."""
        try:
            self._take(await self._facts.get(FACT))
        except StoreUnavailable:
            return  # what is known still holds

    async def update(self, models: Mapping[str, object], *, merge: bool) -> None:
        """The owner's changes, all or none: id to [mode, upstream id], None removes; without `merge` they take the
        place of the whole list. Raises InvalidRequest."""
        at = self._clock.now()

        def change(saved: Saved) -> Saved:
            wanted = checked(models, overlaid(self._built_in, saved))
            given = {
                name: None
                if value is None
                else SavedModel(mode=value[0], upstream_id=value[1], source="admin", at=at, pinned=True)
                for name, value in wanted.items()
            }
            if merge:
                return msgspec.structs.replace(saved, models=saved.models | given)
            left = {name: model for name, model in given.items() if model is not None}
            if not left:
                raise InvalidRequest("The list would be empty. Give at least one model.", param="models")
            return msgspec.structs.replace(saved, models=dict(left), replaced=True)

        await self._change(change)
        logger.info("models were updated", extra={"models": sorted(models), "merge": merge})

    async def learn(self, picker: Mapping[str, Picked]) -> None:
        """What the site's picker says."""
        at = self._clock.now()
        await self._change(lambda saved: msgspec.structs.replace(saved, picker=dict(picker), picker_at=at))

    async def upgrade(self, model_id: str, old: str, new: str) -> bool:
        """Puts `new` in the place of `old`; False if the entry is another one by now, or pinned."""
        at = self._clock.now()

        def change(saved: Saved) -> Saved:
            entry = overlaid(self._built_in, saved).get(model_id)
            route = entry.model.session if entry else None
            if entry is None or route is None or entry.pinned or route.upstream_id != old:
                return saved
            under = self._route_below(model_id)
            found = SavedModel(
                mode=route.mode,
                upstream_id=new,
                source="discovery",
                at=at,
                instead_of=under.upstream_id if under and not saved.replaced else None,
            )
            return msgspec.structs.replace(saved, models={**saved.models, model_id: found})

        return await self._change(change)

    async def add(self, model_id: str, upstream_id: str) -> bool:
        """A model that discovery found; False if there is one of that id by now, or the owner has removed it."""
        at = self._clock.now()

        def change(saved: Saved) -> Saved:
            if model_id in saved.models or model_id in overlaid(self._built_in, saved):
                return saved
            found = SavedModel(mode="copilot", upstream_id=upstream_id, source="discovery", at=at)
            return msgspec.structs.replace(saved, models={**saved.models, model_id: found})

        return await self._change(change)

    async def take_over(self, folder: Path) -> None:
        """The list of an older installation, `.models.json` ({id: [mode, upstream id]}), once."""
        found = _old_file(folder / OLD_FILE)
        if found is None:
            return
        at = self._clock.now()

        def change(saved: Saved) -> Saved:
            if saved.took_file:
                return saved
            taken = self._worth_taking(found, at)
            return msgspec.structs.replace(saved, models={**taken, **saved.models}, took_file=True)

        if await self._change(change):
            logger.info("the models of the old list were taken over", extra={"file": OLD_FILE})

    def _worth_taking(self, old: Mapping[str, object], at: float) -> dict[str, SavedModel | None]:
        """Without what this release knows better: what is disabled in it, or as new or newer in it."""
        taken: dict[str, SavedModel | None] = {}
        for name, value in old.items():
            try:
                wanted = checked({name: value}, ())[name]
            except InvalidRequest as error:
                logger.warning("an entry of the old list cannot be used", extra={"why": error.message})
                continue
            under = next((model for model in self._built_in if model.session and model.id == name), None)
            if wanted is not None and not (under and _knows_better(under, wanted[1])):
                taken[name] = SavedModel(mode=wanted[0], upstream_id=wanted[1], source="file", at=at)
        return taken

    def _route_below(self, model_id: str) -> SessionRoute | None:
        return next((model.session for model in self._built_in if model.session and model.id == model_id), None)

    async def _change(self, change: Callable[[Saved], Saved]) -> bool:
        """In one step, whatever other workers do. False if there was nothing to change."""
        for _ in range(_ROUNDS):
            fact = await self._facts.get(FACT)
            before = _decoded(fact)
            after = change(before)
            if after == before:
                self._take(fact)
                return False
            written = await self._facts.swap(FACT, msgspec.json.encode(after), fact.version if fact else 0)
            if written is not None:
                self._take(written)
                return True
        raise StoreUnavailable("The models are being changed by others all the time. Try again.")

    def _take(self, fact: Fact | None) -> None:
        if fact is None or fact.version <= self._version:
            return
        self._version = fact.version
        self._saved = _decoded(fact)
        self._entries = overlaid(self._built_in, self._saved)
        self._catalogue.renew(entry.model for entry in self._entries.values())


def _knows_better(under: Model, upstream_id: str) -> bool:
    ours = under.session.upstream_id if under.session else ""
    if not under.enabled or ours == upstream_id:
        return True
    family = family_of(ours)
    return family is not None and family.knows_later(ours, upstream_id)


def _old_file(path: Path) -> Mapping[str, object] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        logger.warning("the old list of models cannot be read", extra={"file": OLD_FILE, "why": type(error).__name__})
        return None
    if not isinstance(document, dict):
        logger.warning("the old list of models holds none", extra={"file": OLD_FILE})
        return None
    return document


def _decoded(fact: Fact | None) -> Saved:
    try:
        return Saved() if fact is None else msgspec.json.decode(fact.value, type=Saved)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise StoreUnavailable("The kept models cannot be read: the store was written by another program.") from None
