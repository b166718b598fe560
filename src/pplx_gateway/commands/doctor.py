"""`pplx-gateway doctor`: what is wrong, and the cure. The report holds no secret, so it can be shown to others."""

import argparse
import os
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack

from pplx_gateway.commands import running, running_gateway
from pplx_gateway.commands.door import Choice, Door, chosen, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit, failed
from pplx_gateway.commands.own_door import OwnDoor, own_door
from pplx_gateway.commands.own_standing import standing
from pplx_gateway.commands.screen import console, document, on_terminal, safe
from pplx_gateway.diagnosis import machine, upstreams
from pplx_gateway.diagnosis.credentials import missing
from pplx_gateway.diagnosis.finding import Finding, bad, ok, pasteable, plain, skipped
from pplx_gateway.errors import GatewayError
from pplx_gateway.opening import secrets_of
from pplx_gateway.settings import Settings

_CREDENTIALS = {"session": "a cookie", "api": "an API key"}
_MARKS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "bad": ("✗", "red"), "skipped": ("-", "dim")}


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
    folder = None
    if settings is not None:
        secrets += [secret.reveal() for secret in secrets_of(settings)]
        folder = machine.data_folder(settings)
        yield folder
    choice = chosen(options.url, options.in_process)
    if choice.url is not None and not options.offline:
        if await running_gateway.is_a_gateway(choice.url):
            async for finding in _running(choice, options):
                yield finding
            return
        yield running_gateway.nowhere(choice.url)
    if settings is not None and folder is not None:
        async for finding in _here(options, secrets, settings, folder):
            yield finding


async def _running(choice: Choice, options: argparse.Namespace) -> AsyncIterator[Finding]:
    """Whatever it asks, it asks from where it runs and by its own settings: those of this folder are of no account."""
    found = await running_gateway.findings(choice)
    for finding in found:
        yield finding
    if options.ask and found[0].state == "ok":
        async with open_door(choice) as door:
            yield await _asked(door)


async def _here(
    options: argparse.Namespace, secrets: list[str], settings: Settings, folder: Finding
) -> AsyncIterator[Finding]:
    """Of a gateway that would be opened on these settings."""
    stands = standing(settings)
    there = {"session": stands.session, "api": stands.api}
    used = [name for name in settings.upstreams if there[name]]
    if folder.state != "bad":
        yield _credentials(settings, used)
    yield machine.port(settings) or await _taken(settings)
    if options.offline:
        return
    async with upstreams.open_ways(settings) as ways:
        if isinstance(ways, Finding):
            yield ways
            return
        reached = await upstreams.reached(settings, ways, used)
        for finding in (finding for each in reached.values() for finding in each.findings):
            yield finding
        if folder.state == "bad":
            yield skipped("credentials", "not tried: they lie in the data folder")
            return
        async for finding in _opened(options, secrets, reached, ways):
            yield finding


async def _opened(
    options: argparse.Namespace, secrets: list[str], reached: upstreams.Reached, ways: upstreams.Ways
) -> AsyncIterator[Finding]:
    """What only a gateway of our own can tell."""
    async with AsyncExitStack() as opened:
        try:
            door = await opened.enter_async_context(own_door())
        except (ValueError, OSError, GatewayError) as error:
            yield bad("settings", "settings", str(error), "Correct it; see: pplx-gateway config")
            return
        secrets += _kept_secrets(door)
        async for finding in upstreams.accepted(door.gateway, reached, ways):
            yield finding
        if options.ask:
            yield await _asked(door)


def _kept_secrets(door: OwnDoor) -> Iterable[str]:
    """What lies in the store and in the file of keys."""
    keys = door.gateway.keys
    return [key.reveal() for key in keys.keys.values() if key.secret is not None] if keys else []


def _credentials(settings: Settings, used: Sequence[str]) -> Finding:
    """What there is; whether it is good takes the network."""
    found = [_CREDENTIALS[name] for name in used]
    return ok("credentials", f"there is {' and '.join(found)}") if found else missing(settings.upstreams)


async def _asked(door: Door) -> Finding:
    body = {"input": "Which two rivers meet in Ghent?", "store": False}
    try:
        answer = (await fetch(door, "POST", "/v1/responses", body)).json
    except (CommandFailed, GatewayError) as told:
        failure = failed(told) if isinstance(told, GatewayError) else told
        cause = "schema_change" if failure.code in (Exit.CUT, Exit.UPSTREAM) else "failure"
        cause = "plan_limit" if failure.code is Exit.LIMIT else cause
        cause = "logged_out" if failure.code is Exit.CREDENTIAL else cause
        return Finding("question", "bad", failure.message, cause, failure.cure or "Look for a newer release.")  # type: ignore[arg-type]
    return ok("question", f"{answer['model']} answered")


async def _taken(settings: Settings) -> Finding:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    shown = f"[{host}]" if ":" in host else host
    if await running_gateway.is_a_gateway(f"http://{shown}:{settings.port}"):
        return ok("port", f"a gateway runs on {settings.host}:{settings.port} already; --url looks at that one")
    return bad(
        "port",
        "port_taken",
        f"Another program listens on {settings.host}:{settings.port}.",
        "Stop it, or choose another port: --port or PPLX_PROXY_PORT.",
    )


def _show(finding: Finding) -> None:
    if not on_terminal():
        print("\n".join(plain(finding)), flush=True)
        return
    from rich.padding import Padding  # noqa: PLC0415 - only on a terminal
    from rich.text import Text  # noqa: PLC0415

    mark, style = _MARKS[finding.state]
    console().print(Text.assemble((f"{mark} ", style), (f"{finding.check}  ", "bold"), safe(finding.what)))
    if finding.cure:
        console().print(Padding(Text.assemble(("→ ", style), safe(finding.cure)), (0, 0, 0, 2)))
