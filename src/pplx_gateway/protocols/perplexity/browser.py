"""`/v1/browser/sessions` of the mirror: browsers in the cloud."""

import msgspec

from pplx_gateway.permits import permit
from pplx_gateway.protocols.kept.things import Things
from pplx_gateway.protocols.operation import Operation, Reply, told
from pplx_gateway.protocols.perplexity.strict import decode_strict

NAME = "browser"
"""What a caller's key is allowed it by."""


class SessionRequest(msgspec.Struct, frozen=True):
    """There is nothing to choose."""


async def create(asked: Operation) -> Reply:
    """Raises GatewayError."""
    decode_strict(await asked.body() or b"{}", SessionRequest)
    permit(NAME, "api")
    browser = asked.gateway.operations.browser
    native = await browser.open(asked.key_name)
    await Things(asked.gateway, asked.caller).made("browser_session", native, browser.end)
    return Reply(native.body, told(native.receipt))


async def delete(asked: Operation) -> Reply:
    """Raises GatewayError."""
    things = Things(asked.gateway, asked.caller)
    await things.looked_at("browser_session", asked.id, asked.gateway.operations.browser.end)
    await things.forget("browser_session", asked.id)
    return Reply(b"", status=204)
