"""`config.json`: the owner's keys, and how the API is reached.

The form is the one that other gateways use too, so what is said there of other providers is passed over and told, while
within `providers.perplexity` nothing unknown passes.
"""

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from pplx_gateway.decode import decode
from pplx_gateway.errors import InvalidRequest
from pplx_gateway.settings import SettingsError
from pplx_gateway.upstreams.api.keys.form import BadKey, KeyForm, Lookup, made
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.api.keys.network import NetworkConfig
from pplx_gateway.upstreams.api.keys.network import check as check_network

MOST_BYTES = 1 << 20
OURS = "perplexity"
_READABLE_BY_OTHERS = stat.S_IRGRP | stat.S_IROTH


class ProviderForm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    keys: tuple[KeyForm, ...] = ()
    network_config: NetworkConfig = NetworkConfig()


class Providers(msgspec.Struct, frozen=True, kw_only=True):
    perplexity: ProviderForm = ProviderForm()


class ConfigForm(msgspec.Struct, frozen=True, kw_only=True):
    providers: Providers = Providers()


class Config(NamedTuple):
    """`notes` are lines for the owner."""

    keys: tuple[Key, ...] = ()
    network: NetworkConfig = NetworkConfig()
    notes: tuple[str, ...] = ()


def read_config(path: Path, lookup: Lookup) -> Config | None:
    """None if there is no such file. Raises SettingsError that names the file, the field and the way out."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}.") from None
    if len(data) > MOST_BYTES:
        raise SettingsError(f"{path} is larger than {MOST_BYTES} bytes.")
    try:
        form = decode(data, ConfigForm)
    except InvalidRequest as error:
        raise SettingsError(f"{path}: {error.message}") from None
    provider = form.providers.perplexity
    if os.name == "posix" and mode & _READABLE_BY_OTHERS and (secret := _first_literal(provider)):
        raise SettingsError(
            f"{path} holds a secret in {secret} and others can read the file: chmod 600 it, or write env.NAME there."
        )
    keys = _keys(path, provider.keys, lookup)
    check_network(path, provider.network_config)
    return Config(keys, provider.network_config, (*_passed_over(path, data), *_unresolved(path, keys)))


def _first_literal(provider: ProviderForm) -> str | None:
    """Where the first secret stands that is no reference."""
    for place, form in enumerate(provider.keys):
        if form.literal:
            return f"providers.{OURS}.keys[{place}].value"
    return f"providers.{OURS}.network_config" if provider.network_config.holds_secrets else None


def _keys(path: Path, forms: tuple[KeyForm, ...], lookup: Lookup) -> tuple[Key, ...]:
    keys: dict[str, Key] = {}
    for place, form in enumerate(forms):
        at = f"providers.{OURS}.keys[{place}]"
        try:
            key = made(form, lookup, "file")
        except BadKey as error:
            raise SettingsError(f"{path}: {at}.{error.field} {error}.") from None
        if key.name in keys:
            raise SettingsError(f"{path}: {at}.name is '{key.name}', as that of a key before it. Names must differ.")
        keys[key.name] = key
    return tuple(keys.values())


def _passed_over(path: Path, data: bytes) -> list[str]:
    """What is meant for others."""
    top = msgspec.json.decode(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, msgspec.Raw])
    raw = top.get("providers")
    providers: Mapping[str, msgspec.Raw] = msgspec.json.decode(raw, type=dict[str, msgspec.Raw]) if raw else {}
    names = [name for name in top if name not in ("providers", "$schema")]
    names += [f"providers.{name}" for name in providers if name != OURS]
    return [f"{path}: not used here: {', '.join(name[:80] for name in names)}."] if names else []


def _unresolved(path: Path, keys: tuple[Key, ...]) -> list[str]:
    return [f"{path}: the key '{key.name}' is disabled: {key.reason}." for key in keys if key.reason]
