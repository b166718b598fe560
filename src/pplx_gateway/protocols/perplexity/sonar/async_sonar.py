"""Asynchronous Sonar: requests that are answered later, as responses in the background.

They are kept as long as responses are, and found under `/v1/responses` as well, with all that can be done there.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import msgspec

from pplx_gateway.decode import decode, unknown_keys
from pplx_gateway.errors import InvalidRequest, NotFound, RequestError
from pplx_gateway.gateway import Gateway
from pplx_gateway.protocols.openai import pinning
from pplx_gateway.protocols.openai.attached import attached
from pplx_gateway.protocols.openai.call import chat_target, told_headers
from pplx_gateway.protocols.openai.paging import limit_of
from pplx_gateway.protocols.openai.question import Prepared
from pplx_gateway.protocols.openai.responses.background import Background
from pplx_gateway.protocols.openai.responses.create import KEY_HEADER, LONGEST_KEY, KeyReused
from pplx_gateway.protocols.openai.responses.rendering import Rendering
from pplx_gateway.protocols.openai.responses.repeated import told_of
from pplx_gateway.protocols.openai.settling import Target
from pplx_gateway.protocols.openai.slips import hints, meant
from pplx_gateway.protocols.operation import Operation, Reply, json
from pplx_gateway.protocols.perplexity.sonar import fields, kept
from pplx_gateway.protocols.perplexity.sonar.async_objects import AsyncEnvelope, AsyncList
from pplx_gateway.protocols.perplexity.sonar.async_plan import PREFIX, plan_of
from pplx_gateway.protocols.perplexity.sonar.call import shown, today
from pplx_gateway.protocols.perplexity.sonar.models import SonarModels
from pplx_gateway.protocols.perplexity.sonar.objects import Shown
from pplx_gateway.protocols.perplexity.sonar.question import Read, prepare, read
from pplx_gateway.protocols.perplexity.sonar.request import SonarRequest
from pplx_gateway.question import TURNS
from pplx_gateway.routing import Route
from pplx_gateway.store.records import Claim, Hold, NewResponse, StoredResponse

USUAL = 20
MOST = 100
_ENVELOPE = "request"
_LONGEST_TOKEN = 18


class _Asked(NamedTuple):
    prepared: Prepared
    route: Route
    shown: Shown
    claim: Claim | None


class AsyncSonar:
    def __init__(self, gateway: Gateway, background: Background, models: SonarModels) -> None:
        self._gateway = gateway
        self._background = background
        self._models = models

    async def submit(self, asking: Operation) -> Reply:
        """`POST`. Raises RequestError and its kinds, StoreUnavailable."""
        if not self._gateway.keeps_responses:
            raise InvalidRequest(
                "This gateway keeps no responses (PPLX_STORE_DAYS=0), so it can answer nothing later. Use /v1/sonar."
            )
        asked = await self._asked(asking)
        plan = plan_of(
            asked.prepared,
            asked.shown,
            caller=asking.caller,
            requested=asked.route.requested,
            created_at=int(self._gateway.clock.now()),
        )
        rendering = Rendering(plan, self._gateway)
        first, begun = rendering.object(), rendering.begin()
        new = NewResponse(
            id=plan.response_id,
            caller=plan.caller,
            parent=None,
            background=True,
            created_at=plan.created_at,
            object=rendering.object(),
            input_items=(),
            events=begun,
            plan=plan.encoded(),
            claim=asked.claim,
        )
        held = await self._held(new)
        if isinstance(held, StoredResponse):
            asking.repeats()
            return json(kept.answer(held), told_headers(plan.requested, told_of(held.object)))
        exchange = self._gateway.ask(plan.question, asked.route, caller=asking.caller)
        self._background.start(held, rendering, exchange)
        stored = StoredResponse(held.number, plan.response_id, "queued", True, first)
        return json(kept.answer(stored), told_headers(plan.requested, rendering.told))

    async def listed(self, asking: Operation) -> Reply:
        """`GET` of all. Raises InvalidRequest."""
        limit = limit_of(asking.query.get("limit"), usual=USUAL, most=MOST)
        below = _number(asking.query.get("next_token"))
        page = await self._gateway.responses.latest(asking.caller, PREFIX, below=below, limit=limit + 1)
        shown_now = page[:limit]
        more = str(shown_now[-1].number) if len(page) > limit else None
        return json(AsyncList(requests=[kept.entry(stored) for stored in shown_now], next_token=more))

    async def one(self, asking: Operation) -> Reply:
        """`GET` of one. What the SDK sends along (`local_mode` and the like) has no effect. Raises NotFound."""
        found = await self._gateway.responses.find(asking.caller, asking.id) if asking.id.startswith(PREFIX) else None
        if found is None:
            raise NotFound(f"There is no request '{asking.id[:80]}', or not any more.")
        return json(kept.answer(found))

    async def _asked(self, asking: Operation) -> _Asked:
        body = await asking.body()
        envelope = decode(body, AsyncEnvelope)
        claim = _claim(envelope, asking, body)
        with _paths_in(envelope):
            found = _read(body, envelope, self._gateway)
            request = found.request
            route = pinning.keyed(self._models.resolve(request.model), asking.key_name)
            files = await attached(request, self._gateway, asking.caller)
            target = chat_target(self._gateway, route)
            prepared = prepare(found, route.requested, target, files)
            question = msgspec.structs.replace(pinning.pinned(prepared.question, asking.key_name), background=True)
            await self._gateway.check(question, route, caller=asking.caller)
        prepared = _with_beside(prepared._replace(question=question), _beside(body, envelope), request, target)
        return _Asked(prepared, route, shown(request, route), claim)

    async def _held(self, new: NewResponse) -> Hold | StoredResponse:
        """The response's place in the store, or the one that an earlier request with the same key has made. Raises
        KeyReused, TooLarge, StoreUnavailable."""
        responses = self._gateway.responses
        while True:
            if new.claim and (earlier := await responses.claimed(new.caller, new.claim.key)):
                found, digest = earlier
                if digest != new.claim.body:
                    raise KeyReused("This 'idempotency_key' came with another request before.", param="idempotency_key")
                return found
            if (hold := await responses.add(new)) is not None:
                return hold


def _read(body: bytes, envelope: AsyncEnvelope, gateway: Gateway) -> Read:
    """The request in its envelope, or the bare one that has the key among its own fields."""
    if isinstance(envelope.request, msgspec.UnsetType):
        found = read(body, today(gateway))
        found = found._replace(unknown=tuple(name for name in found.unknown if name != "idempotency_key"))
    else:
        found = read(bytes(envelope.request), today(gateway))
    if found.request.stream:
        raise InvalidRequest("'stream' is for an answer at once. Leave it out, or use /v1/sonar.", param="stream")
    return found


def _beside(body: bytes, envelope: AsyncEnvelope) -> tuple[str, ...]:
    """Keys beside `request` that nobody knows."""
    return () if isinstance(envelope.request, msgspec.UnsetType) else unknown_keys(body, AsyncEnvelope)


def _with_beside(prepared: Prepared, beside: tuple[str, ...], request: SonarRequest, target: Target) -> Prepared:
    """Most that can be said of such keys is that they belong into the request. Raises InvalidRequest."""
    for name in beside if target.policy == "reject" else ():
        if near := meant(name, request, fields.MISNAMED):
            message = f"There is no field '{name}' beside '{_ENVELOPE}'. Did you mean '{_ENVELOPE}.{near}'?"
            raise InvalidRequest(message, param=name)
    told = hints(beside, request, fields.MISNAMED, within=f"{_ENVELOPE}.")
    return prepared._replace(dropped=(*prepared.dropped, *beside), warnings=(*prepared.warnings, *told))


@contextmanager
def _paths_in(envelope: AsyncEnvelope) -> Iterator[None]:
    """Errors name fields by where they stand."""
    try:
        yield
    except RequestError as error:
        error.param = "messages" if error.param == TURNS else error.param
        if not isinstance(envelope.request, msgspec.UnsetType):
            inner = error.param
            error.param = f"{_ENVELOPE}.{inner}" if inner else _ENVELOPE
            if inner:
                error.message = error.message.replace(f"'{inner}'", f"'{error.param}'")
        raise


def _claim(envelope: AsyncEnvelope, asking: Operation, body: bytes) -> Claim | None:
    """The header says the same as the field. Raises InvalidRequest."""
    field, header = envelope.idempotency_key, asking.header(KEY_HEADER.lower())
    if header is not None and not (header.isascii() and 1 <= len(header) <= LONGEST_KEY):
        raise InvalidRequest(f"'{KEY_HEADER}' must be one text of 1 to {LONGEST_KEY} ASCII characters.")
    if field is not None and header not in (None, field):
        raise InvalidRequest(f"'idempotency_key' and '{KEY_HEADER}' differ.", param="idempotency_key")
    key = field or header
    return None if key is None else Claim(f"{PREFIX}{key}", hashlib.sha256(body).digest())


def _number(token: str | None) -> int | None:
    if not token:
        return None
    if token.isascii() and token.isdigit() and len(token) <= _LONGEST_TOKEN:
        return int(token)
    raise InvalidRequest("'next_token' must be one that a list has given.", param="next_token")
