import pytest
from starlette.types import Message, Receive, Scope, Send

from pplx_gateway.settings import Secret, Settings
from pplx_gateway.web.authentication import Authentication
from tests.openai.fakes import KEY, FakeUpstream, gateway
from tests.web.calling import ASK, CHAT, calling, error


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": f"Bearer {KEY}"},
        {"authorization": f"bearer {KEY}"},
        {"authorization": f"BEARER   {KEY}"},
        {"x-api-key": KEY},
        {"authorization": f"Bearer {KEY}", "x-api-key": "something else", "api-key": "as Continue does"},
    ],
)
async def test_the_key_opens_in_every_form(headers: dict[str, str]) -> None:
    async with calling() as caller:
        assert (await caller.ask(headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer"},
        {"authorization": KEY},
        {"authorization": f"Basic {KEY}"},
        {"authorization": f"Bearer {KEY}x"},
        {"authorization": f"Bearer {KEY[:-1]}"},
        {"authorization": "Bearer wrong"},
        {"authorization": "Bearer wrong", "x-api-key": KEY},
        {"authorization": "", "x-api-key": KEY},
        {"x-api-key": "wrong"},
        {"api-key": KEY},
        {"cookie": f"key={KEY}"},
    ],
)
async def test_everything_else_is_a_401_of_one_shape(headers: dict[str, str]) -> None:
    upstream = FakeUpstream("api")
    async with calling(gateway(upstream)) as caller:
        reply = await caller.ask(headers=headers)
    assert reply.status_code == 401
    assert (error(reply)["code"], error(reply)["type"]) == ("invalid_api_key", "authentication_error")
    assert reply.headers["www-authenticate"] == "Bearer"
    assert KEY not in reply.text
    assert not upstream.asked


async def test_a_key_that_is_not_ascii_is_only_wrong() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.head("Authorization: Bearer schl\u00fcssel", method="GET", path="/v1/models", key=None)
        status, _, _ = await socket.response()
    assert status == 401


async def test_a_key_with_letters_beyond_ascii_works_as_utf8() -> None:
    key = "schlüssel-🔑"
    async with calling(gateway(api_key=Secret(key))) as caller, caller.socket() as socket:
        line = f"Authorization: Bearer {key}".encode().decode("latin-1")
        await socket.head(line, method="GET", path="/v1/models", key=None)
        status, _, _ = await socket.response()
    assert status == 200


async def test_two_authorization_headers_are_a_401_even_if_both_are_right() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.head(f"Authorization: Bearer {KEY}", method="GET", path="/v1/models")
        status, _, body = await socket.response()
    assert status == 401
    assert b"one Authorization header" in body


@pytest.mark.parametrize(
    ("keys", "status"),
    [((KEY, "other"), 401), (("other", KEY), 401), ((KEY, ""), 401), ((KEY, KEY), 200), (("other", "other"), 401)],
)
async def test_two_api_keys_that_differ_are_a_401_whichever_is_right(keys: tuple[str, ...], status: int) -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.head(*(f"X-Api-Key: {key}" for key in keys), method="GET", path="/v1/models", key=None)
        found, _, body = await socket.response()
    assert found == status
    assert (b"one x-api-key header" in body) is (len(set(keys)) > 1)


@pytest.mark.parametrize("query", ["api_key", "key", "token", "access_token", "API_KEY"])
async def test_a_key_in_the_address_is_refused_with_a_hint(query: str) -> None:
    async with calling() as caller:
        reply = await caller.get(f"/v1/models?{query}={KEY}", headers={})
    assert reply.status_code == 401
    assert "address" in error(reply)["message"]
    assert KEY not in reply.text


async def test_the_key_is_asked_for_before_the_body_is_read() -> None:
    async with calling() as caller:
        assert (await caller.ask(b"{", headers={})).status_code == 401
        async with caller.socket() as socket:
            await socket.head(length=1000, key="wrong")
            status, _, _ = await socket.response()
    assert status == 401


@pytest.mark.parametrize("path", ["/", "/health", "/chat", "/docs", "/openapi.json", "/static/style.css"])
async def test_pages_and_health_are_public(path: str) -> None:
    async with calling() as caller:
        assert (await caller.get(path, headers={})).status_code == 200


@pytest.mark.parametrize("path", ["/v1/models", "/nowhere", CHAT, "/static", "/healthy"])
async def test_nothing_else_is(path: str) -> None:
    async with calling() as caller:
        assert (await caller.get(path, headers={})).status_code == 401


async def test_without_a_key_loopback_is_open() -> None:
    upstream = FakeUpstream("api")
    async with calling(gateway(upstream, api_key=None)) as caller:
        assert (await caller.ask(headers={})).status_code == 200
        assert (await caller.ask(headers={"authorization": "Bearer whatever"})).status_code == 200
    assert upstream.callers == ["owner", "owner"]


async def test_the_owner_is_the_same_caller_whatever_the_key_and_a_stranger_is_not() -> None:
    callers = []
    for key, headers in ((Secret("k1"), {"x-api-key": "k1"}), (Secret("k2"), {"x-api-key": "k2"}), (None, {})):
        for more in ({}, {"x-forwarded-for": "192.0.2.1"}):
            upstream = FakeUpstream("api")
            async with calling(gateway(upstream, api_key=key, allow_open=True)) as caller:
                assert (await caller.ask(headers={**headers, **more})).status_code == 200
            callers += upstream.callers
    assert callers == ["owner"] * 5 + ["open"]


async def answered(settings: Settings, server: tuple[str, int | None] | None) -> int:
    """The status of a request that arrives at the address `server`."""
    sent: list[Message] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        raise AssertionError("the body must not be read")

    scope: Scope = {"type": "http", "path": "/v1/models", "headers": [], "query_string": b"", "state": {}}
    await Authentication(app, settings)({**scope, "server": server}, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.parametrize(
    ("server", "allow_open", "status"),
    [
        (("127.0.0.1", 8892), False, 200),
        (("::1", 8892), False, 200),
        (("/run/pplx.sock", None), False, 200),
        (("192.168.1.5", 8892), False, 403),
        (("gateway.example", 8892), False, 403),
        (("192.168.1.5", 8892), True, 200),
    ],
)
async def test_without_a_key_others_stay_out_unless_the_owner_says_so(
    server: tuple[str, int | None], allow_open: bool, status: int
) -> None:
    assert await answered(Settings(allow_open=allow_open), server) == status


async def test_a_request_goes_on_after_a_401_on_the_same_connection() -> None:
    async with calling() as caller, caller.socket() as socket:
        await socket.head(length=2, key="wrong")
        await socket.send(b"{}")
        assert (await socket.response())[0] == 401
        await socket.ask(ASK)
        assert (await socket.response())[0] == 200
