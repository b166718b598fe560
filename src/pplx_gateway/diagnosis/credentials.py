"""Whether the cookie and the keys are good, asked in the way that costs nothing."""

import json
from collections.abc import Mapping, Sequence

import msgspec

from pplx_gateway.catalogue import Tier
from pplx_gateway.clock import Clock
from pplx_gateway.diagnosis.finding import Finding, bad, note, ok
from pplx_gateway.diagnosis.reach import TIMEOUTS, unreachable
from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    RateLimited,
    UpstreamAuth,
    UpstreamError,
)
from pplx_gateway.gateway import Gateway
from pplx_gateway.standing import QuotaReading, Standing
from pplx_gateway.transport import Network, Outgoing, Transport
from pplx_gateway.upstreams.api.keys.key import Key
from pplx_gateway.upstreams.faults import Faults
from pplx_gateway.upstreams.session.life import Life
from pplx_gateway.upstreams.session.quota import Quota

_LOGIN = "Sign in at perplexity.ai, copy the cookie, and give it: pplx-gateway login"

_NEEDED = {
    "session": ("no cookie", "sign in (pplx-gateway login)"),
    "api": ("no API key", "set PERPLEXITY_API_KEY"),
}


def missing(upstreams: Sequence[str]) -> Finding:
    """For a gateway that has a credential for none of the `upstreams` that it may ask."""
    lacks, cures = zip(*(_NEEDED[name] for name in upstreams or _NEEDED), strict=True)
    cure = f"{', or '.join(cures)}. To try it without an account: pplx-gateway demo"
    return bad(
        "credentials",
        "no_credential",
        f"There is {' and '.join(lacks)}, so nothing can be asked.",
        f"{cure[0].upper()}{cure[1:]}",
    )


async def session(gateway: Gateway) -> list[Finding]:
    """By the gateway's own check, which keeps a cookie that the site renews on the way."""
    life, quota = gateway.session, gateway.quota
    if not isinstance(life, Life) or not life.present:
        return [note("session", "There is no cookie, so nothing is asked of your plan.", _LOGIN)]
    now = gateway.clock.now()
    await life.check(now)
    standing = life.standing()
    found = [_standing(standing)]
    if standing.state == "valid" and isinstance(quota, Quota):
        await quota.read(now)
        found.append(_plan(quota.reading(), standing.tier))
    return found


def _standing(standing: Standing) -> Finding:
    match standing.state:
        case "valid":
            if not standing.kept:
                return bad(
                    "session", "data_folder", "The renewed cookie cannot be kept.", "Make the data folder writable."
                )
            old = f" The cookie is {standing.cookie_age_hours:.0f} hours old." if standing.cookie_old else ""
            return ok("session", f"signed in; plan: {standing.tier or 'not known'}.{old}")
        case "expired":
            return bad("session", "logged_out", "Nobody is signed in with the cookie any more.", _LOGIN)
        case "blocked":
            return bad(
                "session",
                "edge_block",
                "A challenge page stands before the site, so nobody can tell whether the cookie is good.",
                "Wait some minutes, try another PPLX_IMPERSONATE, or the network that you browse from.",
            )
        case _:
            return bad(
                "session",
                "schema_change",
                "The site did not say whether somebody is signed in: it is in trouble, or its form has changed.",
                "Try again; if it stays, look for a newer release of pplx-gateway.",
            )


def _plan(reading: QuotaReading, tier: Tier | None) -> Finding:
    if reading.remaining_pro is None:
        return bad(
            "plan",
            "schema_change",
            "The page that tells what is left of the plan cannot be understood.",
            "Questions may work all the same. Look for a newer release of pplx-gateway, and report this.",
        )
    if reading.remaining_pro == 0 and tier != "free":
        return bad(
            "plan",
            "plan_limit",
            "No Pro searches are left on this plan.",
            "Ask 'auto', which takes none; wait for the refill; or let the api answer (PPLX_ALLOW_SPENDING=1).",
        )
    research = "" if reading.remaining_research is None else f", {reading.remaining_research} researches"
    return ok("plan", f"{reading.remaining_pro} Pro searches{research} left")


async def api_keys(gateway: Gateway, transport: Transport, network: Network, *, unnamed: bool = False) -> list[Finding]:
    keys: Mapping[str, Key] = gateway.keys.keys if gateway.keys else {}
    if not keys:
        return [
            note(
                "api key",
                "There is none, so nothing is paid by use, and 'search' cannot be asked.",
                "If you have one: PERPLEXITY_API_KEY.",
            )
        ]
    shown = [_unnamed(key, number) if unnamed else key for number, key in enumerate(keys.values(), 1)]
    return [await _key(key, gateway, transport, network) for key in shown]


def _unnamed(key: Key, number: int) -> Key:
    reason = "its value cannot be found" if key.secret is None else key.reason
    return msgspec.structs.replace(key, name=f"key {number}", reference=None, reason=reason)


async def _key(key: Key, gateway: Gateway, transport: Transport, network: Network) -> Finding:
    """With a request that holds no question: a good key is told so, a bad one is told that; neither is billed."""
    if not key.usable:
        return note("api key", f"'{key.name}' is not in use: {key.reason or 'it is switched off'}.")
    url = f"{gateway.settings.api_url.rstrip('/')}/v1/agent"
    headers = {"authorization": f"Bearer {key.reveal()}", "content-type": "application/json"}
    outgoing = Outgoing(method="POST", url=url, headers=headers, body=json.dumps({}).encode(), timeouts=TIMEOUTS)
    try:
        incoming = await transport.request(outgoing)
    except UpstreamError as error:
        return unreachable("api key", url, error, network)
    faults = Faults("The Perplexity API", key.label, lambda: [key.reveal()], Clock())
    return _judged(key, faults.of_response(incoming.status, incoming.headers, incoming.body))


def _judged(key: Key, error: GatewayError) -> Finding:
    if isinstance(error, UpstreamAuth):
        return bad(
            "api key", "wrong_key", f"The API refuses '{key.name}'. {error.message}", f"Copy it again into {key.label}."
        )
    if isinstance(error, InsufficientQuota):
        return bad("api key", "no_balance", f"'{key.name}': {error.message}", "Add credits at Perplexity's console.")
    if isinstance(error, RateLimited):
        return note("api key", f"'{key.name}' is throttled just now.", "Wait a little.")
    if isinstance(error, InvalidRequest):
        return ok("api key", f"'{key.name}' is accepted")
    return bad("api key", "failure", f"'{key.name}': {error.message}", "Try again; check PPLX_API_URL.")
