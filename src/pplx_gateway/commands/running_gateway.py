"""A gateway that runs: is it one, does it answer, is the key right, and what does it say of itself?"""

from collections.abc import Iterator, Mapping

from pplx_gateway.commands.door import KEY, URL, Choice, Door, Json, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.diagnosis.finding import Cause, Finding, bad, ok, skipped
from pplx_gateway.errors import GatewayError

_STATES: Mapping[str, tuple[Cause, str, str]] = {
    "expired": ("logged_out", "Its session is not signed in any more.", "Give it a new cookie: pplx-gateway login"),
    "blocked": (
        "edge_block",
        "A challenge page stands before its session.",
        "Wait, or try another PPLX_IMPERSONATE there.",
    ),
}


async def is_a_gateway(url: str) -> bool:
    try:
        async with open_door(Choice(url, None)) as door:
            return (await fetch(door, "GET", "/health")).json.get("service") == "pplx-gateway"
    except (CommandFailed, GatewayError):
        return False


def nowhere(url: str) -> Finding:
    cure = f"Start it (pplx-gateway serve), or correct {URL}."
    return bad("gateway", "no_gateway", f"No pplx-gateway answers at {url}.", cure)


async def findings(choice: Choice) -> list[Finding]:
    """What it finds wrong with itself, where the key is its owner's; else what it tells everybody."""
    try:
        async with open_door(choice) as door:
            models = (await fetch(door, "GET", "/v1/models")).json["data"]
            health = (await fetch(door, "GET", "/health")).json
            checks = await _checks(door)
    except (CommandFailed, GatewayError) as failure:
        return [_closed(str(choice.url), failure)]
    answers = ok("gateway", f"{choice.url} answers, version {health.get('version')}")
    if checks is not None:
        return [answers, *(Finding(**{**check, "check": f"gateway's {check['check']}"}) for check in checks)]
    return [answers, *_public(health, bool(models)), skipped("gateway's checks", f"they take its owner's key in {KEY}")]


def _closed(url: str, failure: CommandFailed | GatewayError) -> Finding:
    if isinstance(failure, CommandFailed) and failure.code is Exit.CREDENTIAL and "upstream" not in failure.message:
        return bad("gateway", "wrong_key", f"{url}: {failure.message}", f"Set {KEY} to its PPLX_PROXY_API_KEY.")
    return bad("gateway", "failure", f"{url}: {failure.message}", "Its log tells more.")


async def _checks(door: Door) -> list[Json] | None:
    """Made by the gateway itself, on its own settings; None for whoever may not have it make them. Raises
    CommandFailed."""
    try:
        found: list[Json] | None = (await fetch(door, "GET", "/admin/report?checks=1")).json.get("checks")
    except CommandFailed as failure:
        if failure.code is not Exit.CREDENTIAL:
            raise
        return None
    return found


def _public(health: Json, serves: bool) -> Iterator[Finding]:
    """`serves`: it lists models."""
    session = health.get("session")
    if session and session["state"] in _STATES:
        cause, what, cure = _STATES[session["state"]]
        yield Finding("gateway's session", "bad", what, cause, cure)
    if health.get("remaining_pro") == 0:
        yield bad("gateway's plan", "plan_limit", "No Pro searches are left.", "Ask 'auto', or wait for the refill.")
    if not serves:
        yield bad(
            "gateway's models",
            "no_credential",
            "It lists none: it has neither a cookie nor an API key, or your key may ask none.",
            "Its owner gives it one: pplx-gateway login, or PERPLEXITY_API_KEY there.",
        )
