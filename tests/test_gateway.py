import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing

import pytest

from pplx_gateway.answer import Answer, Batch, Finished, Source, Sources, Started, TextDelta
from pplx_gateway.capabilities import Feature, Support
from pplx_gateway.catalogue import Catalogue, Model
from pplx_gateway.clock import Clock
from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    QuotaExhausted,
    RateLimited,
    SessionBlocked,
    SessionExpired,
    StoreUnavailable,
    UpstreamError,
)
from pplx_gateway.exchange import Exchange
from pplx_gateway.gateway import Gateway
from pplx_gateway.question import Message, Question, Sampling, Search, TextPart
from pplx_gateway.settings import Settings

PAGE = Source(id=1, url="https://a.example", title="A")
WHOLE: list[Batch] = [
    [Started(run_id="r")],
    [Sources((PAGE,)), TextDelta("It is so[1]")],
    [TextDelta("."), Finished(reason="stop", continuation="handle")],
]


class FakeUpstream:
    """Yields `batches`, then raises `error` if there is one."""

    def __init__(self, name: str, batches: Sequence[Batch] = WHOLE, error: GatewayError | None = None) -> None:
        self.name = name
        self.asked: list[Question] = []
        self.remembered: list[tuple[str, object]] = []
        self.closed = asyncio.Event()
        self.store_fails = False
        self._batches = batches
        self._error = error

    def support(self, model: Model) -> Mapping[Feature, Support]:
        return {Feature.TEMPERATURE: Support.HONOURED} if self.name == "api" else {}

    async def ask(self, question: Question, model: Model, caller: str) -> AsyncGenerator[Batch, None]:
        self.asked.append(question)
        try:
            for batch in self._batches:
                yield batch
            if self._error:
                raise self._error
        finally:
            self.closed.set()

    async def remember(
        self, question: Question, model: Model, caller: str, text_as_returned: str, continuation: object
    ) -> None:
        if self.store_fails:
            raise StoreUnavailable("full")
        self.remembered.append((text_as_returned, continuation))

    async def close(self) -> None:
        self.closed.set()


def gateway_of(*upstreams: FakeUpstream, settings: Settings | None = None) -> Gateway:
    chosen = settings or Settings(allow_spending=True)
    return Gateway(chosen, Clock(), Catalogue.built_in(), {upstream.name: upstream for upstream in upstreams})


def question(model: str = "sonar", sampling: Sampling = Sampling(), search: Search = Search()) -> Question:
    return Question(model=model, turns=(Message("user", (TextPart("Why?"),)),), sampling=sampling, search=search)


def exchange_of(gateway: Gateway, asked: Question) -> Exchange:
    return gateway.ask(asked, gateway.resolve(asked.model), caller="c")


async def answer_of(exchange: Exchange) -> Answer:
    answer = Answer()
    async with exchange:
        async for batch in exchange:
            answer.collect(batch)
    return answer


async def test_marks_are_stripped_on_the_session_and_kept_on_the_api() -> None:
    on_session = await answer_of(exchange_of(gateway_of(FakeUpstream("session")), question()))
    on_api = await answer_of(exchange_of(gateway_of(FakeUpstream("api")), question()))
    assert (on_session.text, on_api.text) == ("It is so.", "It is so[1].")
    assert [(a.start, a.end) for a in on_session.annotations] == [(8, 8)]
    assert [(a.start, a.end) for a in on_api.annotations] == [(8, 11)]


async def test_a_setting_rules_marks_and_a_request_rules_the_setting() -> None:
    linking = Settings(citation_marks="link")
    answer = await answer_of(exchange_of(gateway_of(FakeUpstream("session"), settings=linking), question()))
    assert "https://a.example" in answer.text


async def test_a_continuation_is_remembered_with_the_text_as_returned() -> None:
    upstream = FakeUpstream("session")
    await answer_of(exchange_of(gateway_of(upstream), question()))
    assert upstream.remembered == [("It is so.", "handle")]


async def test_an_answer_is_whole_even_if_its_thread_cannot_be_kept() -> None:
    upstream = FakeUpstream("session")
    upstream.store_fails = True
    answer = await answer_of(exchange_of(gateway_of(upstream), question()))
    assert answer.finished is not None


@pytest.mark.parametrize("error", [QuotaExhausted("gone"), SessionExpired("out")])
async def test_exhaustion_and_logout_fail_over_in_the_declared_order(error: GatewayError) -> None:
    session, api = FakeUpstream("session", [[Started()]], error), FakeUpstream("api")
    exchange = exchange_of(gateway_of(session, api), question())
    answer = await answer_of(exchange)
    assert answer.text == "It is so[1]."
    assert (exchange.served_by.upstream, exchange.failover) == ("api", error.code)


async def test_a_balance_that_is_gone_falls_to_the_subscription() -> None:
    api, session = FakeUpstream("api", [], InsufficientQuota("gone")), FakeUpstream("session")
    exchange = exchange_of(gateway_of(api, session), question())
    await answer_of(exchange)
    assert exchange.served_by.upstream == "session"


@pytest.mark.parametrize("error", [RateLimited("wait"), SessionBlocked("challenge"), UpstreamError("oops")])
async def test_other_failures_never_start_a_call_elsewhere(error: GatewayError) -> None:
    session, api = FakeUpstream("session", [], error), FakeUpstream("api")
    with pytest.raises(type(error)):
        await answer_of(exchange_of(gateway_of(session, api), question()))
    assert not api.asked


async def test_without_leave_to_spend_nothing_fails_over_to_the_paid_side() -> None:
    session, api = FakeUpstream("session", [], QuotaExhausted("gone")), FakeUpstream("api")
    with pytest.raises(QuotaExhausted):
        await answer_of(exchange_of(gateway_of(session, api, settings=Settings()), question()))
    assert not api.asked


async def test_nothing_fails_over_once_a_caller_has_seen_text() -> None:
    session, api = FakeUpstream("session", [[TextDelta("It ")]], QuotaExhausted("gone")), FakeUpstream("api")
    with pytest.raises(QuotaExhausted):
        await answer_of(exchange_of(gateway_of(session, api), question()))
    assert not api.asked


async def test_an_upstream_that_cannot_honour_the_question_is_no_spare() -> None:
    api, session = FakeUpstream("api", [], InsufficientQuota("gone")), FakeUpstream("session")
    warm = question(sampling=Sampling(temperature=0.2))
    with pytest.raises(InsufficientQuota):
        await answer_of(exchange_of(gateway_of(api, session), warm))
    assert not session.asked


async def test_leaving_early_closes_the_upstream() -> None:
    upstream = FakeUpstream("session")
    async with exchange_of(gateway_of(upstream), question()) as exchange:
        async with aclosing(aiter(exchange)) as batches:  # type: ignore[type-var]
            await anext(batches)
        assert not upstream.remembered
    assert upstream.closed.is_set()
