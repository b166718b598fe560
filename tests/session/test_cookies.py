"""The session's cookie: what can be pasted, what is sent, what is taken over (docs/wire-session.md 3)."""

import json

import pytest

from pplx_gateway.settings import Secret
from pplx_gateway.transport.exchange import Headers
from pplx_gateway.upstreams.session.cookies import NAME, PIECE_CHARACTERS, Credentials
from pplx_gateway.upstreams.session.keeping import Held, Memory
from pplx_gateway.upstreams.session.pasted import read_token

TOKEN = "eyJhbGciOiJkaXIifQ..abc_DEF-123.xyz~!%2F"
LONG = "x" * PIECE_CHARACTERS + "y" * PIECE_CHARACTERS + "z" * 10


@pytest.mark.parametrize(
    "pasted",
    [
        TOKEN,
        f"  {TOKEN}\n",
        f"{NAME}={TOKEN}",
        f"pplx.visitor-id=v; {NAME}={TOKEN}; __cf_bm=c",
        f"Cookie: {NAME}={TOKEN}; other=1",
        f'{NAME}="{TOKEN}"',
        json.dumps({NAME: TOKEN, "other": "1"}),
        json.dumps([{"name": "other", "value": "1"}, {"name": NAME, "value": TOKEN, "domain": ".perplexity.ai"}, 5]),
        f"{NAME}.1={TOKEN[10:]}; {NAME}.0={TOKEN[:10]}",
        json.dumps({f"{NAME}.0": TOKEN[:3], f"{NAME}.1": TOKEN[3:]}),
    ],
)
def test_any_form_that_can_be_pasted_gives_the_token(pasted: str) -> None:
    assert read_token(pasted).reveal() == TOKEN


def test_many_pieces_are_joined_in_the_order_of_their_numbers() -> None:
    pieces = "; ".join(f"{NAME}.{number}=p{number}" for number in (10, 2, 1, 0, 3, 4, 5, 6, 7, 8, 9, 11))
    assert read_token(pieces).reveal() == "".join(f"p{number}" for number in range(12))


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "   ",
        "next-auth.session-token=SECRET",
        "a=1; b=2",
        f"{NAME}=",
        f"{NAME}.1=SECRET",
        f"{NAME}.0=SECRET; {NAME}.2=SECRET",
        "{SECRET",
        "[]",
        '{"a": 5}',
        "two words SECRET",
        "SECRET\r\nx-evil: 1",
        "SECRÉT",
        'SEC"RET',
    ],
)
def test_what_holds_no_token_is_refused_without_repeating_it(pasted: str) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011 - the message is looked at
        read_token(pasted)
    assert "SEC" not in str(raised.value)


def test_only_the_secure_name_is_sent() -> None:
    assert Credentials(Secret(TOKEN)).cookie() == f"{NAME}={TOKEN}"
    assert Credentials(None).cookie() == ""


def test_a_large_token_is_sent_in_pieces_and_read_again() -> None:
    header = Credentials(Secret(LONG)).cookie()
    pieces = header.split("; ")
    assert [piece.partition("=")[0] for piece in pieces] == [f"{NAME}.0", f"{NAME}.1", f"{NAME}.2"]
    assert max(map(len, pieces)) < 4096
    assert read_token(header).reveal() == LONG


def test_the_largest_single_cookie_is_not_cut() -> None:
    assert ".0" not in Credentials(Secret("x" * PIECE_CHARACTERS)).cookie()


def test_nothing_shows_the_token() -> None:
    credentials = Credentials(Secret(TOKEN))
    assert TOKEN not in f"{credentials!r}{credentials}{vars(credentials)}"


def set_cookie(*lines: str) -> Headers:
    return Headers((("content-type", "text/plain"), *(("set-cookie", line) for line in lines)))


class Noting(Memory):
    """Notes what it was given to keep."""

    def __init__(self) -> None:
        super().__init__()
        self.renewed: list[str] = []

    async def renew(self, token: Secret, old: Held) -> Held:
        self.renewed.append(token.reveal())
        return await super().renew(token, old)


async def adopted(*lines: str, before: str = "old") -> str:
    keeper = Noting()
    credentials = Credentials(Secret(before), keeper)
    changed = await credentials.adopt(set_cookie(*lines), credentials.version)
    value = read_token(credentials.cookie()).reveal()
    assert keeper.renewed == ([value] if changed else [])
    assert changed is (value != before)
    assert credentials.version == 0
    return value


async def test_a_renewed_token_is_taken_over_and_kept() -> None:
    assert await adopted(f"{NAME}=NEW; Path=/; Expires=Wed, 30 Dec 2026 00:00:00 GMT; HttpOnly; Secure") == "NEW"


async def test_pieces_that_were_set_are_joined() -> None:
    assert await adopted(f"{NAME}.1=B; Path=/", f"{NAME}.0=A; Path=/", "__cf_bm=x") == "AB"


async def test_a_change_from_pieces_to_one_drops_the_stale_pieces() -> None:
    assert await adopted(f"{NAME}=ONE", f"{NAME}.0=; Max-Age=0", f"{NAME}.1=; Max-Age=0", before=LONG) == "ONE"


async def test_a_change_from_one_to_pieces_drops_the_stale_one() -> None:
    assert await adopted(f"{NAME}=; Max-Age=0", f"{NAME}.0=A", f"{NAME}.1=B") == "AB"


@pytest.mark.parametrize(
    "line",
    [
        f"{NAME}=; Path=/",
        f'{NAME}=""',
        f"{NAME}=x; Max-Age=0",
        f"{NAME}=x; max-age=-1; Path=/",
        f"{NAME}=x; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        f"{NAME}.1=B",
        "next-auth.session-token=x",
        f"x{NAME}=x",
        f"{NAME}=old",
        f"{NAME}=tw o",
        "",
    ],
)
async def test_deletions_halves_and_other_names_change_nothing(line: str) -> None:
    assert await adopted(line) == "old"


async def test_a_token_from_the_owner_counts_as_a_new_version() -> None:
    credentials = Credentials(None)
    assert (credentials.present, credentials.version) == (False, 0)
    await credentials.replace(Secret("given"))
    assert (credentials.present, credentials.version) == (True, 1)
    assert credentials.secrets() == ["given"]
