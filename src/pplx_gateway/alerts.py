"""Push alerts through ntfy (docs/operation.md): one at most of each kind within the cooldown, whatever happens.

An alert is told to the owner's phone over a topic that may be public, so it never holds a secret; and it is sent beside
everything else, so a server that is down or slow never touches a request.
"""

import logging
import re
from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from pplx_gateway.clock import Clock
from pplx_gateway.errors import StoreUnavailable, UpstreamError, UpstreamTimeout
from pplx_gateway.settings import Secret
from pplx_gateway.store import Facts
from pplx_gateway.supervisor import Supervisor
from pplx_gateway.transport.exchange import Incoming, Outgoing, Timeouts

logger = logging.getLogger("pplx_gateway.alerts")

TOPIC = re.compile(r"[-_A-Za-z0-9]{1,64}")
# Above 4096 bytes the server makes an attachment of the message.
MOST_CHARACTERS = 1000
_WAITS_SECONDS = (0.0, 30.0, 300.0)


class WayOut(Protocol):
    async def request(self, outgoing: Outgoing) -> Incoming: ...

    async def close(self) -> None: ...


class Channel(msgspec.Struct, frozen=True, kw_only=True):
    """Where alerts go."""

    url: str
    topic: Secret
    cooldown_seconds: float = 3600.0
    timeouts: Timeouts = Timeouts(first_byte=20.0, idle=20.0, total=30.0)


class Alerts:
    """`channel` None = off, and then no `way_out` is needed."""

    def __init__(
        self,
        channel: Channel | None,
        way_out: WayOut | None,
        facts: Facts,
        clock: Clock,
        supervisor: Supervisor,
    ) -> None:
        """Raises ValueError for a topic that ntfy would refuse."""
        if channel is not None and not TOPIC.fullmatch(channel.topic.reveal()):
            raise ValueError("NTFY_TOPIC: a topic is 1 to 64 letters, digits, - or _.")
        self._channel = channel
        self._way_out = way_out
        self._facts = facts
        self._clock = clock
        self._supervisor = supervisor
        self._hidden: list[Callable[[], Iterable[str]]] = []

    @property
    def on(self) -> bool:
        return self._channel is not None

    def hide(self, secrets: Callable[[], Iterable[str]]) -> None:
        """What must not leave; asked anew for each alert."""
        self._hidden.append(secrets)

    def send(self, kind: str, title: str, message: str) -> None:
        """Returns at once and never fails. `kind` names what shares a cooldown, over all workers and restarts."""
        channel, way_out = self._channel, self._way_out
        if channel is not None and way_out is not None:
            body = self._body(channel, title, message)
            self._supervisor.once("alert", lambda: self._deliver(channel, way_out, kind, body))

    async def close(self) -> None:
        if self._way_out is not None:
            await self._way_out.close()

    async def _deliver(self, channel: Channel, way_out: WayOut, kind: str, body: bytes) -> None:
        if not await self._claim(kind, channel.cooldown_seconds):
            return
        outgoing = Outgoing(
            method="POST",
            url=channel.url.rstrip("/") + "/",
            headers={"content-type": "application/json"},
            body=body,
            timeouts=channel.timeouts,
        )
        for wait in _WAITS_SECONDS:
            await self._clock.sleep(wait)
            if await self._publish(way_out, outgoing, kind):
                return
        await self._facts.remove(_fact(kind))  # so that the next of its kind is tried

    async def _publish(self, way_out: WayOut, outgoing: Outgoing, kind: str) -> bool:
        """False if it surely did not arrive."""
        try:
            incoming = await way_out.request(outgoing)
        except UpstreamTimeout:
            logger.warning("an alert may not have arrived", extra={"kind": kind, "why": "time-out"})
            return True
        except UpstreamError as error:
            logger.warning("an alert was not sent", extra={"kind": kind, "why": error.message})
            return False
        if not 200 <= incoming.status < 300:
            logger.warning("an alert was refused", extra={"kind": kind, "status": incoming.status})
            return False
        logger.info("alert sent", extra={"kind": kind})
        return True

    async def _claim(self, kind: str, cooldown_seconds: float) -> bool:
        """True for the one worker that may send; False within the cooldown of the last one."""
        try:
            last = await self._facts.get(_fact(kind))
            if last is not None and 0 <= self._clock.since(float(last.value)) < cooldown_seconds:
                return False
            now = str(self._clock.now()).encode()
            return await self._facts.swap(_fact(kind), now, last.version if last else 0) is not None
        except StoreUnavailable as error:
            logger.warning("an alert was not sent", extra={"kind": kind, "why": error.code})
            return False

    def _body(self, channel: Channel, title: str, message: str) -> bytes:
        """JSON, because a title in a header could hold no letter beyond ASCII (docs/wire-session.md 8)."""
        told = {"title": self._safe(title), "message": self._safe(message), "tags": ["warning"], "priority": 4}
        return msgspec.json.encode({"topic": channel.topic.reveal(), **told})

    def _safe(self, text: str) -> str:
        for secret in (secret for hidden in self._hidden for secret in hidden() if secret):
            text = text.replace(secret, "***")
        text = text.encode("utf-8", "replace").decode()
        return text if len(text) <= MOST_CHARACTERS else text[: MOST_CHARACTERS - 1] + "…"


def _fact(kind: str) -> str:
    return f"alert_{kind}"
