"""Every way to paste the cookie gives the same token."""

import json

import pytest

from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.session.cookies import NAME, PIECE_CHARACTERS, cookie_of
from pplx_gateway.upstreams.session.pasted import MOST_CHARACTERS, read_document, read_token

TOKEN = "eyJhbGciOiJkaXIifQ..abc_DEF-123.xyz~!%2F"
FIRST, SECOND = TOKEN[:11], TOKEN[11:]
EXPORTED = {"domain": ".www.perplexity.ai", "path": "/", "secure": True, "expirationDate": 1.7e9, "hostOnly": False}
ELSEWHERE = {"name": NAME, "value": "another-site", "domain": ".another.example"}


@pytest.mark.parametrize(
    "pasted",
    [
        TOKEN,
        f'"{TOKEN}"',
        f"'{TOKEN}'\n",
        f"\ufeff{TOKEN}",
        f"{NAME}={TOKEN}",
        f"{NAME}: {TOKEN}",
        f"COOKIE: a=1; {NAME}={TOKEN}; b=2",
        f"a=1\n{NAME}={TOKEN}\nb=2",
        f"Set-Cookie: {NAME}={TOKEN}; Path=/; Expires=Wed, 30 Dec 2026 00:00:00 GMT; HttpOnly; Secure",
        f"set-cookie: {NAME}={TOKEN}; Path=/\nset-cookie: {NAME}=; Max-Age=0",
        f"{NAME}\t{TOKEN}\t.perplexity.ai\t/\t2026-12-30T00:00:00.000Z\t300\t✓\t✓\tLax",
        f"# Netscape HTTP Cookie File\n.perplexity.ai\tTRUE\t/\tTRUE\t1790000000\t{NAME}\t{TOKEN}\n",
        f"curl 'https://www.perplexity.ai/' -H 'accept: */*' -b 'a=1; {NAME}={TOKEN}' --compressed",
        f"{NAME}.1={SECOND}; {NAME}.0={FIRST}",
        f"Cookie: {NAME}.0={FIRST}; other=1; {NAME}.1={SECOND}",
        f"{NAME}.0\t{FIRST}\t/\n{NAME}.1\t{SECOND}\t/",
        json.dumps(TOKEN),
        json.dumps({NAME: TOKEN, "other": "1"}),
        json.dumps({f"{NAME}.0": FIRST, f"{NAME}.1": SECOND}),
        json.dumps([{"name": "other", "value": "1"}, {"name": NAME, "value": TOKEN, **EXPORTED}, 5, None], indent=2),
        json.dumps([{"name": f"{NAME}.1", "value": SECOND, **EXPORTED}, {"name": f"{NAME}.0", "value": FIRST}]),
        json.dumps([ELSEWHERE, {"name": NAME, "value": TOKEN, **EXPORTED}, ELSEWHERE]),
        json.dumps({"cookies": [ELSEWHERE, {"name": NAME, "value": TOKEN, **EXPORTED}], "origins": []}),
        json.dumps({"name": NAME, "value": TOKEN, **EXPORTED}),
        json.dumps({"session_token": TOKEN}),
        json.dumps({"session_token": f"Cookie: {NAME}={TOKEN}"}),
        json.dumps({"cookie": json.dumps({NAME: TOKEN})}),
    ],
)
def test_any_form_gives_the_token(pasted: str) -> None:
    assert read_token(pasted).reveal() == TOKEN


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        " \n",
        "''",
        "null",
        '"undefined"',
        json.dumps({"session_token": "None"}),
        f"{NAME}=",
        f"x{NAME}=SECRET",
        f"next-auth.session-token=SECRET; x{NAME}.0=SECRET",
        f"{NAME}.0=SECRET; {NAME}.2=SECRET",
        f"{NAME}.1=SECRET",
        "{SECRET",
        pytest.param("[" * 100_000, id="deep list"),
        pytest.param('{"a":' * 100_000, id="deep map"),
        "[]",
        "{}",
        json.dumps([ELSEWHERE]),
        json.dumps({"name": "other", "value": "SECRET"}),
        json.dumps({"other": "SECRET"}),
        json.dumps({NAME: 5}),
        json.dumps({NAME: "SECRET SECRET"}),
        json.dumps({"session_token": ""}),
        json.dumps({"session_token": None}),
        json.dumps({"session_token": "a=SECRET; b=2"}),
        "two words SECRET",
        "SECRET\r\nx-evil: 1",
        "SECRÉT",
        pytest.param("SECRET" * MOST_CHARACTERS, id="long"),
    ],
)
def test_what_holds_no_token_is_refused_without_repeating_it(pasted: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as raised:
        read_token(pasted)
    assert "SEC" not in str(raised.value)
    assert "another-site" not in str(raised.value)
    assert "\n" not in str(raised.value)


def test_what_is_sent_can_be_pasted_again() -> None:
    long = "x" * PIECE_CHARACTERS + "y" * PIECE_CHARACTERS + "z"
    assert read_token(cookie_of(Secret(long))).reveal() == long


@pytest.mark.parametrize(
    "document",
    [
        {"timestamp": 1790000000.5, "cookies": {NAME: TOKEN, "pplx.visitor-id": "v"}},
        {NAME: TOKEN, "timestamp": 1790000000, "last_keepalive": 5},
        {"cookies": {f"{NAME}.0": FIRST, f"{NAME}.1": SECOND}},
        {"session_token": TOKEN, "saved_at": "2026-09-09"},
        {"token": TOKEN},
        {"data": {"cookies": [{"name": NAME, "value": TOKEN}]}},
        TOKEN,
    ],
)
def test_an_old_files_shapes_are_read(document: object) -> None:
    token = read_document(document)
    assert token is not None
    assert token.reveal() == TOKEN


@pytest.mark.parametrize("document", [None, 5, [], {}, {"timestamp": 5}, {"token": "two words"}, {"token": "{broken"}])
def test_a_document_without_a_token_gives_none(document: object) -> None:
    assert read_document(document) is None
