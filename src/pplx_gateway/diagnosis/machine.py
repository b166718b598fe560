"""What can be checked without the network: settings, data folder, port."""

import platform
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pplx_gateway import __version__, environment
from pplx_gateway.diagnosis.finding import Finding, bad, note, ok
from pplx_gateway.serving import bind
from pplx_gateway.settings import Settings, SettingsError
from pplx_gateway.transport import Network

LEAST_FREE_BYTES = 64 << 20


def program() -> Finding:
    return ok(
        "program",
        f"pplx-gateway {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}",
    )


def settings() -> tuple[Finding, Settings | None]:
    try:
        loaded = environment.load()
    except SettingsError as error:
        return bad(
            "settings", "settings", str(error), "Correct it in the environment or in .env; see: pplx-gateway config"
        ), None
    open_to_others = (environment.exposed(), environment.folder_exposed(loaded.settings.folder))
    notes = [*loaded.notes, *(told for told in open_to_others if told)]
    if notes:
        return note("settings", " ".join(notes), "See: pplx-gateway config --changed"), loaded.settings
    return ok("settings", "all can be used"), loaded.settings


def data_folder(settings: Settings) -> Finding:
    """Tries what the gateway will do: make the folder, and write in it."""
    folder = settings.folder
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.NamedTemporaryFile(dir=folder, prefix="doctor-") as file:
            file.write(b"\0" * 4096)
            file.flush()
    except OSError as error:
        return bad(
            "data folder",
            "data_folder",
            f"{folder} cannot be written: {error.strerror or type(error).__name__}.",
            "Give its owner's rights back (chown, chmod u+rwx), free some room, or name another one by PPLX_DATA_DIR.",
        )
    free = _free_bytes(folder)
    if free is not None and free < LEAST_FREE_BYTES:
        return note("data folder", f"{folder} can be written, but only {free >> 20} MiB are free.", "Free some room.")
    return ok("data folder", f"{folder} can be written")


def _free_bytes(folder: Path) -> int | None:
    import shutil  # noqa: PLC0415

    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def port(settings: Settings) -> Finding | None:
    """None: somebody is there; whether that is a gateway must be asked (running.py)."""
    where = f"{settings.host}:{settings.port}"
    if settings.port == 0:
        return ok("port", "a free one will be taken")
    try:
        bind(settings.host, settings.port).close()
    except PermissionError:
        return bad(
            "port", "port_taken", f"{where} may not be listened on.", "Choose a port above 1023: PPLX_PROXY_PORT."
        )
    except OSError as error:
        if "in use" in str(error):
            return None
        return bad(
            "port", "port_taken", str(error), "Choose another address or port: PPLX_PROXY_HOST, PPLX_PROXY_PORT."
        )
    return ok("port", f"{where} is free")


def network(environ: Mapping[str, str]) -> Finding | Network:
    """A finding, where the variables of proxies and authorities cannot be read."""
    try:
        return Network.from_environ(environ)
    except ValueError as error:
        about: tuple[str, str] = str(error), "Correct the variable, or unset it."
        if "SSL_CERT_FILE" in str(error):
            return bad("network", "certificate", *about)
        return bad("network", "proxy", *about)
