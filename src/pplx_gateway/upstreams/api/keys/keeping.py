"""Where the pool's keys come from: `config.json` or PERPLEXITY_API_KEY, and the owner's own changes above both.

The file is read again when it changes. One that has become wrong changes nothing but the log.
"""

import asyncio
import logging
from collections.abc import Mapping
from pathlib import Path

import msgspec

from pplx_gateway.errors import InvalidRequest, NotFound
from pplx_gateway.settings import SettingsError
from pplx_gateway.upstreams.api.keys.config import Config, read_config
from pplx_gateway.upstreams.api.keys.edits import Change, Edits, KeptEdits, KeyEdit, form_of, merged
from pplx_gateway.upstreams.api.keys.form import BadKey, KeyForm, Lookup, check, made
from pplx_gateway.upstreams.api.keys.health import Health
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.api.keys.pool import KeyPool
from pplx_gateway.upstreams.api.keys.sharing import SharedHealth

logger = logging.getLogger("pplx_gateway.keys")

LOOK_SECONDS = 2.0
_Stamp = tuple[int, int, int, int] | None


class KeyKeeper:
    """`default` is the key of the environment; it counts where the file names none. `required` = the file must be
    there. `shared`: what other workers have learnt of the keys."""

    def __init__(
        self,
        pool: KeyPool,
        edits: KeptEdits,
        lookup: Lookup,
        path: Path,
        default: Key | None,
        *,
        required: bool = False,
        shared: SharedHealth | None = None,
    ) -> None:
        self._pool = pool
        self._edits = edits
        self._lookup = lookup
        self._path = path
        self._default = default
        self._required = required
        self._shared = shared
        self._config = Config()
        self._stamp: _Stamp = None
        self._refreshing = asyncio.Lock()

    @property
    def present(self) -> bool:
        """True if a question could go out with any key."""
        return self._pool.present

    @property
    def keys(self) -> Mapping[str, Key]:
        return {key.name: key for key in self._pool.keys}

    @property
    def config(self) -> Config:
        return self._config

    def health(self, name: str) -> Health:
        return self._pool.health(name)

    async def open(self) -> None:
        """The first reading. Raises SettingsError, StoreUnavailable."""
        self._stamp = _stamp(self._path)
        self._config = await self._read()
        for note in self._config.notes:
            logger.warning(note)
        await self._edits.sync()
        self._apply()

    async def refresh(self) -> None:
        """Takes up what the file or another worker has changed. Raises StoreUnavailable."""
        async with self._refreshing:  # who comes meanwhile must not go on with what is old
            news = await self._edits.sync()
            if (stamp := _stamp(self._path)) != self._stamp:
                self._stamp = stamp
                news = await self._reread() or news
            if news:
                self._apply()
            if self._shared is not None:
                await self._shared.take_up()

    async def add(self, form: KeyForm) -> Key:
        """Raises InvalidRequest that names the field, StoreUnavailable."""
        await self.refresh()
        self._check(form)

        def change(edits: Edits) -> None:
            if form.name in self._merged(edits):
                raise InvalidRequest(f"There is a key named '{form.name}' already. Change that one.", param="name")
            edits[form.name] = KeyEdit(value=form.value, models=form.models, weight=form.weight, enabled=form.enabled)

        return await self._change(form.name, change)

    async def edit(self, name: str, edit: KeyEdit) -> Key:
        """What is known of the key's health is forgotten. Raises NotFound, InvalidRequest, StoreUnavailable."""
        await self.refresh()
        self._check(form_of(name, "env.ANY" if edit.value is None else edit.value, edit))

        def change(edits: Edits) -> None:
            self._must_be(name, edits)
            before = edits.get(name) or KeyEdit()
            given = {field: found for field in edit.__struct_fields__ if (found := getattr(edit, field)) is not None}
            edits[name] = msgspec.structs.replace(before, **given)

        return await self._change(name, change)

    async def remove(self, name: str) -> None:
        """Also one that the file names, as long as nobody adds it again. Raises NotFound, StoreUnavailable."""
        await self.refresh()

        def change(edits: Edits) -> None:
            self._must_be(name, edits)
            if any(key.name == name for key in self._base):
                edits[name] = None
            else:
                del edits[name]

        await self._edits.change(change)
        self._apply()

    async def _change(self, name: str, change: Change) -> Key:
        await self._edits.change(change)
        self._apply()
        self._pool.forget(name)
        return self.keys[name]

    def _must_be(self, name: str, edits: Edits) -> None:
        if name not in self._merged(edits):
            raise NotFound(f"There is no key named '{name[:80]}'.")

    def _check(self, form: KeyForm) -> None:
        try:
            check(form)
            made(form, self._lookup, "admin")
        except BadKey as error:
            raise InvalidRequest(f"'{error.field}' {error}.", param=error.field) from None

    @property
    def _base(self) -> tuple[Key, ...]:
        return self._config.keys or ((self._default,) if self._default else ())

    def _merged(self, edits: Edits) -> dict[str, Key]:
        return {key.name: key for key in merged(self._base, edits, self._lookup)}

    def _apply(self) -> None:
        self._pool.replace(self._merged(self._edits.current).values())

    async def _read(self) -> Config:
        config = await asyncio.to_thread(read_config, self._path, self._lookup)
        if config is None and self._required:
            raise SettingsError(f"PPLX_CONFIG names {self._path}, which is not there.")
        return config or Config()

    async def _reread(self) -> bool:
        try:
            config = await self._read()
        except SettingsError as error:
            logger.warning("the keys stay as they are: %s", error)
            return False
        for note in config.notes:
            logger.warning(note)
        if config.network != self._config.network:
            logger.warning("%s: network_config has changed, which counts from the next start", self._path)
        self._config = config
        logger.info("keys read again", extra={"keys": [key.name for key in config.keys]})
        return True


def _stamp(path: Path) -> _Stamp:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size, found.st_mode
