"""Settings from the environment: read once at start, converted, checked, and told in tables.

Sources, the first that has a value wins: the process environment, then `.env` in the working directory. A blank or
placeholder value counts as unset. Every secret may also come from a file: `NAME_FILE` holds its path.
"""

import ipaddress
import math
import os
import stat
import typing
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import msgspec
from dotenv import dotenv_values

from pplx_gateway.settings import LEAST_STORE_BYTES, Env, Secret, Settings, SettingsError, Upstreams, Words

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_PRIVATE_DOMAINS = (".internal", ".local", ".localhost", ".lan", ".home.arpa", ".test")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_PLACEHOLDERS = ("your_", "your-", "change_me", "changeme", "<", "xxx", "paste_", "paste-", "replace_", "replace-")


class Setting(NamedTuple):
    """One row of the table: a field of Settings and its variable."""

    field: str
    env: Env
    type: Any
    default: object

    @property
    def secret(self) -> bool:
        return bool(self.type == Secret | None)


@cache
def settings_table() -> tuple[Setting, ...]:
    hints = typing.get_type_hints(Settings, include_extras=True)
    rows = []
    for field in msgspec.structs.fields(Settings):
        type_, env = typing.get_args(hints[field.name])
        rows.append(Setting(field.name, env, type_, field.default))
    return tuple(rows)


class Loaded(NamedTuple):
    """Settings, and lines worth telling at start (no secrets in them)."""

    settings: Settings
    notes: tuple[str, ...]


def load(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")) -> Loaded:
    """Reads, converts and checks. Raises SettingsError."""
    given = variables(environ, dotenv)
    notes: list[str] = []
    values: dict[str, Any] = {}
    for row in settings_table():
        if (value := value_of(row, given, notes)) is not None:
            values[row.field] = value
    settings = Settings(**values)
    check(settings)
    return Loaded(settings, tuple(notes))


def variables(environ: Mapping[str, str] | None = None, dotenv: Path | None = Path(".env")) -> Mapping[str, str]:
    """Both sources together, without blank values."""
    return {**_dotenv(dotenv), **{k: v for k, v in (os.environ if environ is None else environ).items() if v.strip()}}


def exposed(dotenv: Path = Path(".env")) -> str | None:
    """What to tell the owner if `dotenv` holds secrets and others may read it; None if all is well. Windows tells such
    rights otherwise."""
    given = {name for name, value in _dotenv(dotenv).items() if not value.lower().startswith(_PLACEHOLDERS)}
    secrets = [row.env.name for row in settings_table() if row.secret and row.env.name in given]
    if not secrets or os.name == "nt" or not dotenv.stat().st_mode & _OTHERS:
        return None
    return f"{dotenv.resolve()} holds secrets ({', '.join(secrets)}), and others may read it: chmod 600 {dotenv}"


def folder_exposed(folder: Path) -> str | None:
    """What to tell the owner if others may look into the data folder; None if all is well, or there is none yet."""
    if os.name == "nt" or not folder.is_dir() or not (mode := folder.stat().st_mode & 0o777) & _OTHERS:
        return None
    return f"The data folder {folder} is open to others (mode {mode:04o}); it should be 0700: chmod 700 {folder}"


def key_in_addresses(settings: Settings) -> str | None:
    """What to tell the owner whose key also works in addresses; None if there is none."""
    if settings.api_key is None:
        return None
    return (
        "PPLX_PROXY_API_KEY also opens /KEY/mcp and /KEY/sse. Addresses end up in logs and histories: send it as a "
        "bearer token where the client can, or put a key made for addresses there (pplx-gateway keys add NAME --use "
        "mcp-path)."
    )


def warnings(settings: Settings) -> list[str]:
    """What lies more open than it should, one line each; said once at start."""
    found = (exposed(), folder_exposed(settings.folder), key_in_addresses(settings))
    return [told for told in found if told]


def check(settings: Settings) -> None:
    """The rules of single settings and between them. Raises SettingsError."""
    _check_numbers(settings)
    for name, url in (("PPLX_SESSION_URL", settings.session_url), ("PPLX_API_URL", settings.api_url)):
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOOPBACK):
            raise SettingsError(f"{name} must start with https:// or be an http:// address on loopback.")
    remote = [url for url in (settings.session_url, settings.api_url) if urlsplit(url).hostname not in LOOPBACK]
    if settings.clock_factor != 1.0 and remote:
        raise SettingsError("PPLX_CLOCK_FACTOR is for tests: it needs every upstream on loopback.")
    if settings.host not in LOOPBACK and not settings.api_key and not settings.allow_open:
        raise SettingsError(
            f"PPLX_PROXY_HOST={settings.host} lets others in, and PPLX_PROXY_API_KEY is not set. Set a key, listen on "
            "127.0.0.1, or set PPLX_ALLOW_OPEN=1 if you really want an open gateway."
        )
    if settings.flaresolverr_url and not _private(settings.flaresolverr_url):
        raise SettingsError(
            "FLARESOLVERR_URL must be an https:// address, or an http:// one on loopback or in a private network: the "
            "session cookie goes there."
        )
    _check_traces(settings.otlp_endpoint)
    if urlsplit(settings.ntfy_url).scheme not in ("https", "http"):
        raise SettingsError("NTFY_URL must start with https:// or http://.")
    if not settings.upstreams:
        raise SettingsError("PPLX_UPSTREAMS names no upstream. Use session, api, or both.")


def _check_traces(url: str) -> None:
    """Raises SettingsError."""
    try:
        parts = urlsplit(url)
        whole = parts.scheme in ("https", "http") and parts.hostname
    except ValueError:
        whole = False
    if url and not whole:
        raise SettingsError("PPLX_OTLP_ENDPOINT must be an https:// or http:// address, such as http://127.0.0.1:4318.")
    if url and "@" in parts.netloc:
        raise SettingsError("PPLX_OTLP_ENDPOINT must not hold a password: set OTEL_EXPORTER_OTLP_HEADERS.")


def _private(url: str) -> bool:
    """True for an address to which a secret may go: encrypted, or within the owner's own network."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
    except ValueError:
        return False
    if parts.scheme == "https" or not host:
        return parts.scheme == "https" and bool(host)
    try:
        near = ipaddress.ip_address(host).is_private
    except ValueError:
        near = "." not in host or host.endswith(_PRIVATE_DOMAINS)
    return parts.scheme == "http" and near


# For these 0 has a meaning of its own: off, free, none.
_MAY_BE_ZERO = frozenset(
    {
        "port",
        "total_timeout_seconds",
        "probe_interval_hours",
        "probes_per_day",
        "store_days",
        "ledger_days",
        "ntfy_cooldown_secs",
    }
)


def _check_numbers(settings: Settings) -> None:
    for row in settings_table():
        value = getattr(settings, row.field)
        if isinstance(value, bool) or not isinstance(value, int | float):
            continue
        zero_fits = row.field in _MAY_BE_ZERO
        if not math.isfinite(value) or value < 0 or (value == 0 and not zero_fits):
            raise SettingsError(f"{row.env.name} must be {'0 or more' if zero_fits else 'above 0'}.")
    if settings.store_bytes < LEAST_STORE_BYTES:
        raise SettingsError(f"PPLX_STORE_BYTES must be at least {LEAST_STORE_BYTES} (16 MiB).")
    if not settings.router_medium_from <= settings.router_complex_from <= 1:
        raise SettingsError("PPLX_ROUTER_MEDIUM_FROM must be at most PPLX_ROUTER_COMPLEX_FROM, and that at most 1.")
    if settings.port > 65535:
        raise SettingsError("PPLX_PROXY_PORT must be at most 65535.")


def _dotenv(path: Path | None) -> dict[str, str]:
    if path is None or not path.is_file():
        return {}
    # A cookie may hold `$`, so nothing is interpolated.
    return {key: value for key, value in dotenv_values(path, interpolate=False).items() if value}


def value_of(row: Setting, given: Mapping[str, str], notes: list[str]) -> object | None:
    """None where none is given; `notes` gets lines about it. Raises SettingsError."""
    name = row.env.name
    text = given.get(name, "").strip()
    if text and text.lower().startswith(_PLACEHOLDERS):
        notes.append(f"{name} holds a placeholder and counts as unset.")
        text = ""
    if not text and row.secret and (path := given.get(f"{name}_FILE", "").strip()):
        text = _from_file(f"{name}_FILE", path)
    if not text:
        return None
    if row.env.later:
        notes.append(f"{name} is read, but has no effect in this release.")
    return _convert(row, text)


def _from_file(name: str, path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{name}: the file cannot be read ({type(error).__name__}).") from None


def _convert(row: Setting, text: str) -> object:
    converter = _CONVERTERS.get(row.type)
    try:
        return converter(text) if converter else msgspec.convert(text, row.type, strict=False)
    except (msgspec.ValidationError, ValueError) as error:
        what = "the value" if row.secret else f"'{text}'"
        raise SettingsError(f"{row.env.name}: {what} cannot be used: {error}. Allowed: {kind_of(row)}.") from None


def _truth(text: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}
    if text.lower() not in words:
        raise ValueError("it is neither yes nor no")
    return words[text.lower()]


def _words(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


_CONVERTERS: dict[Any, Callable[[str], object]] = {
    bool: _truth,
    Words: _words,
    Upstreams: lambda text: msgspec.convert(_words(text), Upstreams),
    Secret | None: Secret,
    Path | None: Path,
}


def kind_of(row: Setting) -> str:
    """What a setting takes, in words for people."""
    names: dict[Any, str] = {
        bool: "yes or no",
        int: "a whole number",
        float: "a number",
        str: "text",
        Words: "words separated by commas",
        Upstreams: "session and api, separated by commas",
        Secret | None: "a secret",
        Path | None: "a folder",
    }
    return names.get(row.type) or ", ".join(_literals(row.type))


def _literals(type_: Any) -> Iterator[str]:
    for argument in typing.get_args(type_):
        if isinstance(argument, str):
            yield argument
        else:
            yield from _literals(argument)


def settings_table_markdown() -> str:
    """The table for the docs."""
    lines = ["| variable | default | takes | what for |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{row.env.name}` | {_default(row)} | {kind_of(row)} | {row.env.about}{_later(row)} |"
        for row in settings_table()
    ]
    return "\n".join(lines) + "\n"


def env_example() -> str:
    """`.env.example`: every setting with its default, commented out."""
    blocks = [
        f"# {row.env.about}{_later(row)} Takes: {kind_of(row)}.\n#{row.env.name}={plain(row.default)}\n"
        for row in settings_table()
    ]
    head = "# Copy to .env and fill in what you need. A blank value counts as unset.\n"
    return "\n".join([head, *blocks])


def _later(row: Setting) -> str:
    return " (Read, of no effect yet.)" if row.env.later else ""


def _default(row: Setting) -> str:
    text = plain(row.default)
    return f"`{text}`" if text else "unset"


def plain(value: object) -> str:
    """As it would be written into `.env`."""
    match value:
        case None:
            return ""
        case bool():
            return "1" if value else "0"
        case tuple():
            return ",".join(map(str, value))
        case float():
            return f"{value:g}"
        case _:
            return str(value)
