"""A gateway that runs: is it one, does it answer, is the key right, and what does it say of itself?"""

from pplx_gateway.commands.door import KEY, URL, Choice, fetch, open_door
from pplx_gateway.commands.exits import CommandFailed, Exit
from pplx_gateway.diagnosis.finding import Finding, bad, note, ok
from pplx_gateway.errors import GatewayError

_STATES = {
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


async def gateway(choice: Choice) -> list[Finding]:
    if choice.url is None:
        return []
    if not await is_a_gateway(choice.url):
        cure = f"Start it (pplx-gateway serve), or correct {URL}."
        return [bad("gateway", "no_gateway", f"No pplx-gateway answers at {choice.url}.", cure)]
    try:
        async with open_door(choice) as door:
            await fetch(door, "GET", "/v1/models")
            health = (await fetch(door, "GET", "/health")).json
    except (CommandFailed, GatewayError) as failure:
        if isinstance(failure, CommandFailed) and failure.code is Exit.CREDENTIAL and "upstream" not in failure.message:
            return [
                bad("gateway", "wrong_key", f"{choice.url}: {failure.message}", f"Set {KEY} to its PPLX_PROXY_API_KEY.")
            ]
        return [bad("gateway", "failure", f"{choice.url}: {failure.message}", "Its log tells more.")]
    found = [ok("gateway", f"{choice.url} answers, version {health.get('version')}")]
    session = health.get("session")
    if session and session["state"] in _STATES:
        cause, what, cure = _STATES[session["state"]]
        found.append(Finding("gateway's session", "bad", what, cause, cure))  # type: ignore[arg-type]
    elif session is None and "session" in health:
        found.append(note("gateway's session", "It has none.", "To use your plan: pplx-gateway login"))
    if health.get("remaining_pro") == 0:
        found.append(
            bad("gateway's plan", "plan_limit", "No Pro searches are left.", "Ask 'auto', or wait for the refill.")
        )
    return found
