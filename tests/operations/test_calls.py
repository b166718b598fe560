"""Calls on a transport that is played: what no emulator can hold still."""

import asyncio
from contextlib import suppress

import pytest

from pplx_gateway.errors import UpstreamTruncated, UpstreamUnreachable
from pplx_gateway.receipts import Receipt
from pplx_gateway.settings import Secret
from pplx_gateway.transport import Headers
from pplx_gateway.upstreams.api.keys import KeyPool, only_key
from pplx_gateway.upstreams.api.operations import Calls
from pplx_gateway.upstreams.api.operations.calls import Answered, query, segment
from pplx_gateway.upstreams.api.patience import ApiOptions
from pplx_gateway.upstreams.api.wire import Wire
from pplx_gateway.upstreams.faults import Faults
from tests.api.fakes import FakeClock, FakeTransport, Reply, Silence


def calls_over(transport: FakeTransport, clock: FakeClock) -> Calls:
    pool = KeyPool(clock, [only_key(Secret("pplx-test"))])
    wire = Wire("https://api.example", {"x-title": "ours"})
    return Calls(
        transport,
        wire,
        pool,
        lambda key: Faults("The API", key.label, pool.secrets, clock),
        clock=clock,
        options=ApiOptions(jitter=lambda: 0.5),
    )


async def test_a_paid_answer_that_its_caller_leaves_is_noted_and_closed() -> None:
    clock, silence, noted = FakeClock(), Silence(), list[Receipt]()
    transport = FakeTransport(clock, Reply(steps=[b"{", silence], headers=[("x-request-id", "one")]))
    task = asyncio.create_task(
        calls_over(transport, clock).paid("/search", b"{}", ("search",), None, note=noted.append)
    )
    await silence.reached.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    assert [receipt.request_id for receipt in noted] == ["one"]
    assert transport.open == 0


async def test_a_call_without_a_connection_is_tried_again_after_a_wait() -> None:
    clock = FakeClock()
    transport = FakeTransport(clock, Reply(error=UpstreamUnreachable("no route")), Reply(steps=[b"{}"]))
    answered = await calls_over(transport, clock).send("DELETE", "/v1/files/a", "default")
    assert (answered.body, clock.slept) == (b"{}", [0.5])
    assert {outgoing.method for outgoing in transport.sent} == {"DELETE"}


async def test_a_change_that_broke_on_its_way_is_not_repeated() -> None:
    clock = FakeClock()
    transport = FakeTransport(clock, Reply(steps=[UpstreamTruncated("cut")]), Reply(steps=[b"{}"]))
    with pytest.raises(UpstreamTruncated):
        await calls_over(transport, clock).send("DELETE", "/v1/files/a", "default")
    assert (await calls_over(transport, clock).get("/v1/files/a", "default")).body == b"{}"
    assert len(transport.sent) == 2


async def test_the_credential_goes_out_and_does_not_print() -> None:
    clock = FakeClock()
    transport = FakeTransport(clock, Reply(steps=[b"{}"]))
    await calls_over(transport, clock).send("POST", "/v1/batches", "default", b"{}", more={"idempotency-key": "x"})
    (sent,) = transport.sent
    assert sent.url == "https://api.example/v1/batches"
    assert sent.headers["authorization"] == "Bearer pplx-test"
    assert (sent.headers["x-title"], sent.headers["idempotency-key"]) == ("ours", "x")
    assert "pplx-test" not in repr(sent)


def test_an_id_cannot_leave_its_place_in_the_path() -> None:
    assert segment("a/../b?c#d@e") == "a%2F..%2Fb%3Fc%23d%40e"
    assert query({"after": "a&b", "limit": None, "order": "asc"}) == "?after=a%26b&order=asc"
    assert query({"limit": None}) == ""


def test_limits_are_kept_and_nothing_else_of_the_headers() -> None:
    headers = Headers([("x-ratelimit-limit", "10"), ("set-cookie", "secret"), ("x-request-id", "one")])
    receipt = Answered(only_key(Secret("pplx-test")), headers, b"").receipt()
    assert (receipt.limits, receipt.request_id) == ({"x-ratelimit-limit": "10"}, "one")
