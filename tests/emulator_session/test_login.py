"""The login check, the cookie in all its shapes, and its renewal."""

import re

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pplx_gateway.emulator.session.cookies import Credential, credential, deletion, renewal
from tests.emulator_session.asking import COOKIE, QUESTION, Page


def cookies_after(reply: httpx2.Response, before: dict[str, str]) -> dict[str, str]:
    """The cookie jar after a response, as a browser keeps it."""
    jar = dict(before)
    for line in reply.headers.get_list("set-cookie"):
        name, _, value = line.split(";")[0].partition("=")
        if "Max-Age=0" in line:
            jar.pop(name, None)
        else:
            jar[name] = value
    return jar


async def check(client: httpx2.AsyncClient, jar: dict[str, str]) -> httpx2.Response:
    headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
    return await client.get("/api/auth/session", headers=headers)


@pytest.mark.parametrize(
    ("token", "tier", "status", "payment"),
    [
        ("emulator-free", "none", "none", "free"),
        ("emulator-pro", "pro", "active", "paid"),
        ("emulator-max-demo", "max", "active", "paid"),
        ("some-token-of-a-real-shape", "pro", "active", "paid"),
    ],
)
async def test_a_login_tells_its_tier(
    client: httpx2.AsyncClient, token: str, tier: str, status: str, payment: str
) -> None:
    session = (await Page(client, token).get("/api/auth/session")).json()
    user = session["user"]
    assert (user["subscription_tier"], user["subscription_status"], user["payment_tier"]) == (tier, status, payment)
    assert all(user[name] for name in ("id", "email", "name", "username"))
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", session["expires"])
    assert session["preventUsernameRedirect"] is False


@pytest.mark.parametrize("token", [None, "emulator-expired", ""])
async def test_without_a_login_the_session_is_empty_and_not_401(client: httpx2.AsyncClient, token: str | None) -> None:
    reply = await Page(client, token).get("/api/auth/session")
    assert (reply.status_code, reply.json()) == (200, {})
    assert "set-cookie" not in reply.headers


async def test_the_non_secure_name_is_no_login(client: httpx2.AsyncClient) -> None:
    assert (await Page(client, name="next-auth.session-token").get("/api/auth/session")).json() == {}


async def test_a_token_in_pieces_is_joined_in_the_order_of_the_numbers(client: httpx2.AsyncClient) -> None:
    token = "emulator-max-abcdefghijkl"
    jar = {f"{COOKIE}.{number}": token[number * 2 : number * 2 + 2] for number in range(13)}
    assert "".join(jar.values()) == token
    shuffled = dict(sorted(jar.items(), key=lambda item: item[0][::-1]))
    user = (await check(client, shuffled)).json()["user"]
    assert user["subscription_tier"] == "max"
    assert user["id"] == (await check(client, {COOKIE: token})).json()["user"]["id"]


async def test_a_whole_cookie_beside_stale_pieces_is_no_login(client: httpx2.AsyncClient) -> None:
    jar = {COOKIE: "emulator-pro", f"{COOKIE}.0": "emulator", f"{COOKIE}.1": "-pro"}
    assert (await check(client, jar)).json() == {}


async def test_a_login_is_not_renewed_unless_its_token_says_so(page: Page) -> None:
    assert "set-cookie" not in (await page.get("/api/auth/session")).headers


@pytest.mark.parametrize("words", ["rotate", "rotate-chunked", "rotate-toggle"])
async def test_a_renewed_cookie_is_the_same_login_again_and_again(client: httpx2.AsyncClient, words: str) -> None:
    jar = {COOKIE: f"emulator-max-{words}"}
    seen, shapes, users = set(), [], set()
    for _ in range(4):
        reply = await check(client, jar)
        users.add(reply.json()["user"]["id"])
        jar = cookies_after(reply, jar)
        seen.add("".join(jar[name] for name in sorted(jar)))
        shapes.append(len(jar))
    assert len(users) == 1
    assert len(seen) == 4
    assert shapes == {"rotate": [1, 1, 1, 1], "rotate-chunked": [2, 2, 2, 2], "rotate-toggle": [2, 1, 2, 1]}[words]


async def test_a_renewal_has_the_attributes_of_the_real_one(client: httpx2.AsyncClient) -> None:
    reply = await Page(client, "emulator-pro-rotate").get("/api/auth/session")
    (line,) = reply.headers.get_list("set-cookie")
    assert line.startswith(f"{COOKIE}=emulator-pro-rotate~1; Path=/; Expires=")
    assert line.endswith("; HttpOnly; Secure; SameSite=Lax")
    assert re.search(r"Expires=\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT", line)


async def test_a_change_of_shape_deletes_the_stale_pieces(client: httpx2.AsyncClient) -> None:
    reply = await Page(client, "emulator-pro-rotate-chunked").get("/api/auth/session")
    lines = reply.headers.get_list("set-cookie")
    assert [line.partition("=")[0] for line in lines] == [f"{COOKIE}.0", f"{COOKIE}.1", COOKIE]
    assert lines[-1].startswith(f"{COOKIE}=; ")
    assert "Max-Age=0" in lines[-1]


async def test_an_expired_login_that_rotates_deletes_its_cookie(client: httpx2.AsyncClient) -> None:
    reply = await Page(client, "emulator-expired-rotate").get("/api/auth/session")
    assert reply.json() == {}
    assert cookies_after(reply, {COOKIE: "emulator-expired-rotate"}) == {}


async def test_an_ask_renews_the_cookie_too_where_the_token_says_so(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-rotateask")
    reply = await page.ask(QUESTION)
    jar = cookies_after(reply, {COOKIE: "emulator-pro-rotateask"})
    assert jar == {COOKIE: "emulator-pro-rotateask~1"}
    assert "set-cookie" not in (await page.get("/api/auth/session")).headers


async def test_an_error_page_of_a_rotating_login_seems_to_delete_its_cookie(client: httpx2.AsyncClient) -> None:
    page = Page(client, "emulator-pro-rotate")
    reply = await page.ask(f"fault:upstream_html {QUESTION}")
    assert reply.status_code == 403
    assert "Max-Age=0" in reply.headers["set-cookie"]
    assert (await page.get("/api/auth/session")).json()["user"]


@given(token=st.text(alphabet="abc-~.", min_size=1, max_size=9000), whole=st.booleans(), in_pieces=st.booleans())
def test_whatever_is_renewed_can_be_read_again(token: str, whole: bool, in_pieces: bool) -> None:
    old = credential({COOKIE: "old"} if whole else {f"{COOKIE}.0": "o", f"{COOKIE}.1": "ld"})
    jar = dict.fromkeys(old.names, "stale")
    for line in renewal(old, token, in_pieces=in_pieces, expires="never"):
        name, _, value = line.split(";")[0].partition("=")
        jar.pop(name, None)
        if "Max-Age=0" not in line:
            jar[name] = value
            assert len(value) <= 3933
    assert credential(jar).token == token


def test_a_deletion_names_every_cookie_that_came() -> None:
    lines = deletion(Credential("token", (f"{COOKIE}.0", f"{COOKIE}.1")))
    assert [line.partition("=")[0] for line in lines] == [f"{COOKIE}.0", f"{COOKIE}.1"]
