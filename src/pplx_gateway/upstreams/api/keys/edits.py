"""What the owner changed through the admin API: kept in the store, shared by all workers, and above the file."""

from collections.abc import Callable, Iterable, Mapping

import msgspec

from pplx_gateway.errors import StoreUnavailable
from pplx_gateway.store.facts import Fact, Facts
from pplx_gateway.upstreams.api.keys.form import BadKey, KeyForm, Lookup, made
from pplx_gateway.upstreams.api.keys.key import Key

FACT = "api.keys"
_MOST_ROUNDS = 8


class KeyEdit(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """None = as it was."""

    value: str | None = None
    models: tuple[str, ...] | None = None
    weight: float | None = None
    enabled: bool | None = None

    def __repr__(self) -> str:
        return "KeyEdit(...)"


Edits = dict[str, KeyEdit | None]
"""By key's name; None = removed."""
Change = Callable[[Edits], None]

_EDITS = msgspec.json.Decoder(Edits)


class KeptEdits:
    """`current` is what was last read."""

    def __init__(self, facts: Facts) -> None:
        self.current: Edits = {}
        self._facts = facts
        self._version = 0

    async def sync(self) -> bool:
        """True if there is news. Raises StoreUnavailable."""
        fact = await self._facts.get(FACT)
        version = fact.version if fact else 0
        news, self._version = version != self._version, version
        if news:
            self.current = _read(fact)
        return news

    async def change(self, change: Change) -> None:
        """`change` is made on what is newest, as often as another worker is faster. Raises what it raises, and
        StoreUnavailable."""
        for _ in range(_MOST_ROUNDS):
            await self.sync()
            edits = dict(self.current)
            change(edits)
            fact = await self._facts.swap(FACT, msgspec.json.encode(edits), self._version)
            if fact is not None:
                self.current, self._version = edits, fact.version
                return
        raise StoreUnavailable("The keys are being changed by others. Try again.")


def merged(base: Iterable[Key], edits: Mapping[str, KeyEdit | None], lookup: Lookup) -> tuple[Key, ...]:
    """The keys of file and environment, as the owner edited them; then those that the owner added."""
    keys = {key.name: key for key in base}
    for name, edit in edits.items():
        if edit is None:
            keys.pop(name, None)
        elif name in keys:
            keys[name] = _edited(keys[name], edit, lookup)
        elif edit.value is not None:
            keys[name] = _added(name, edit.value, edit, lookup)
    return tuple(keys.values())


def _edited(key: Key, edit: KeyEdit, lookup: Lookup) -> Key:
    if edit.value is not None:
        valued = _added(key.name, edit.value, KeyEdit(), lookup)
        key = msgspec.structs.replace(
            key, secret=valued.secret, reference=valued.reference, reason=valued.reason, origin="admin"
        )
    return msgspec.structs.replace(
        key,
        models=key.models if edit.models is None else edit.models,
        weight=key.weight if edit.weight is None else edit.weight,
        enabled=key.enabled if edit.enabled is None else edit.enabled,
    )


def _added(name: str, value: str, edit: KeyEdit, lookup: Lookup) -> Key:
    """What was good when it was given can be bad now: a variable may hold another value."""
    form = form_of(name, value, edit)
    try:
        return made(form, lookup, "admin")
    except BadKey as error:
        unusable = msgspec.structs.replace(form, value="env.UNUSABLE")
        key = made(unusable, lambda _: None, "admin")
        return msgspec.structs.replace(key, reference=None if form.literal else form.value, reason=str(error))


def form_of(name: str, value: str, edit: KeyEdit) -> KeyForm:
    given = {field: found for field in ("models", "weight", "enabled") if (found := getattr(edit, field)) is not None}
    return KeyForm(name=name, value=value, **given)


def _read(fact: Fact | None) -> Edits:
    if fact is None:
        return {}
    try:
        return _EDITS.decode(fact.value)
    except msgspec.DecodeError:
        raise StoreUnavailable("The keys in the store cannot be read: another release wrote them.") from None
