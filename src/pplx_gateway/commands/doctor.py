"""`pplx-gateway doctor`: what is wrong, and the cure. The report holds no secret, so it can be shown to others."""

import argparse
import os
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import AsyncExitStack

from pplx_gateway.clock import Clock
from pplx_gateway.commands import running
from pplx_gateway.commands.diagnosis import credentials, machine, reach
from pplx_gateway.commands.diagnosis import running as runs
from pplx_gateway.commands.diagnosis.finding import Finding, bad, ok, pasteable, skipped
from pplx_gateway.commands.door import Choice, Door, chosen, fetch
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.commands.own_door import OwnDoor, own_door
from pplx_gateway.commands.screen import console, document, on_terminal, safe
from pplx_gateway.errors import GatewayError
from pplx_gateway.opening import secrets_of
from pplx_gateway.opening.session import session_options
from pplx_gateway.settings import Settings
from pplx_gateway.transport import Network, Transport

_MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red"), "skipped": ("-", "dim")}
_WORDS = {"ok": "ok", "note": "note", "bad": "BAD", "skipped": "skipped"}


def run(options: argparse.Namespace) -> Exit:
    """FAILED if something is bad."""
    return running.run(_doctor(options))


async def _doctor(options: argparse.Namespace) -> Exit:
    secrets: list[str] = [value for name in ("PPLX_GATEWAY_KEY",) if (value := os.environ.get(name))]
    found: list[Finding] = []
    async for finding in _findings(options, secrets):
        clean = pasteable(finding, secrets)
        found.append(clean)
        if not options.json:
            _show(clean)
    wrong = [finding for finding in found if finding.state == "bad"]
    if options.json:
        document({"healthy": not wrong, "findings": [finding._asdict() for finding in found]})
    elif wrong:
        print(f"\n{len(wrong)} of {len(found)} checks found something wrong.")
    return Exit.FAILED if wrong else Exit.OK


async def _findings(options: argparse.Namespace, secrets: list[str]) -> AsyncIterator[Finding]:
    yield machine.program()
    finding, settings = machine.settings()
    yield finding
    if settings is None:
        return
    secrets += [secret.reveal() for secret in secrets_of(settings)]
    folder = machine.data_folder(settings)
    yield folder
    yield machine.port(settings) or await _taken(settings)
    if options.offline:
        return
    for finding in await runs.gateway(_choice(options)):
        yield finding
    trouble, network = machine.network(dict(os.environ))
    if trouble is not None or network is None:
        yield trouble or skipped("network", "not tried")
        return
    async with AsyncExitStack() as opened:
        sites = Transport(Clock(), impersonate=_browser(settings), max_connections=4, network=network)
        opened.push_async_callback(sites.close)
        plain = Transport(Clock(), max_connections=4, network=network)
        opened.push_async_callback(plain.close)
        reached = await _reached(settings, sites, plain, network)
        for finding in (finding for each in reached.values() for finding in each.findings):
            yield finding
        if folder.state == "bad":
            yield skipped("credentials", "not tried: they lie in the data folder")
            return
        try:
            door = await opened.enter_async_context(own_door())
        except (ValueError, OSError, GatewayError) as error:
            yield bad("settings", "settings", str(error), "Correct it; see: pplx-gateway config")
            return
        secrets += _kept_secrets(door)
        async for finding in _credentials(door, reached, plain, network):
            yield finding
        if options.ask:
            yield await _asked(door)


async def _reached(
    settings: Settings, sites: Transport, plain: Transport, network: Network
) -> dict[str, reach.Reached]:
    found: dict[str, reach.Reached] = {}
    clock = Clock()
    if "session" in settings.upstreams:
        found["session"] = await reach.session_site(sites, session_options(settings, clock), network, clock)
    if "api" in settings.upstreams:
        found["api"] = await reach.api(plain, settings.api_url, network, clock)
    return found


async def _credentials(
    door: OwnDoor, reached: Mapping[str, reach.Reached], plain: Transport, network: Network
) -> AsyncIterator[Finding]:
    """Of those upstreams that can be reached."""
    if (site := reached.get("session")) and site.incoming is not None:
        for finding in await credentials.session(door.gateway):
            yield finding
    if (site := reached.get("api")) and site.incoming is not None:
        for finding in await credentials.api_keys(door.gateway, plain, network):
            yield finding


def _kept_secrets(door: OwnDoor) -> Iterable[str]:
    """What lies in the store and in the file of keys."""
    keys = door.gateway.keys
    return [key.reveal() for key in keys.keys.values() if key.secret is not None] if keys else []


async def _asked(door: Door) -> Finding:
    body = {"input": "Which two rivers meet in Ghent?", "store": False}
    try:
        answer = (await fetch(door, "POST", "/v1/responses", body)).json
    except CommandFailed as failure:
        cause = "schema_change" if failure.code in (Exit.CUT, Exit.UPSTREAM) else "failure"
        cause = "plan_limit" if failure.code is Exit.LIMIT else cause
        cause = "logged_out" if failure.code is Exit.CREDENTIAL else cause
        return Finding("question", "bad", failure.message, cause, failure.cure or "Look for a newer release.")  # type: ignore[arg-type]
    return ok("question", f"{answer['model']} answered")


async def _taken(settings: Settings) -> Finding:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    if await runs.is_a_gateway(f"http://{shown}:{settings.port}"):
        return ok("port", f"a gateway runs on {settings.host}:{settings.port} already")
    return bad(
        "port",
        "port_taken",
        f"Another program listens on {settings.host}:{settings.port}.",
        "Stop it, or choose another port: --port or PPLX_PROXY_PORT.",
    )


def _choice(options: argparse.Namespace) -> Choice:
    return chosen(options.url, options.in_process)


def _browser(settings: Settings) -> str | None:
    return settings.impersonate


def _show(finding: Finding) -> None:
    if not on_terminal():
        print(f"{_WORDS[finding.state]:<8}{finding.check}: {finding.what}", flush=True)
        if finding.cure:
            print(f"{'':<8}cure: {finding.cure}", flush=True)
        return
    from rich.padding import Padding  # noqa: PLC0415 - only on a terminal
    from rich.text import Text  # noqa: PLC0415

    mark, style = _MARKS[finding.state]
    console().print(Text.assemble((f"{mark} ", style), (f"{finding.check}  ", "bold"), safe(finding.what)))
    if finding.cure:
        console().print(Padding(Text.assemble(("→ ", style), safe(finding.cure)), (0, 0, 0, 2)))
