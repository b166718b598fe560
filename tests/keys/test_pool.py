import asyncio
from typing import Any

import pytest

from pplx_gateway.errors import (
    GatewayError,
    InsufficientQuota,
    InvalidRequest,
    ModelNotAllowed,
    RateLimited,
    UpstreamAuth,
)
from pplx_gateway.settings import Secret
from pplx_gateway.upstreams.api.keys import Key, KeyPool, Wanted
from tests.api.fakes import FakeClock

SONAR = Wanted(("sonar", "perplexity/sonar"))
DEAD = UpstreamAuth("refused")
BROKE = InsufficientQuota("used up")
THROTTLE = RateLimited("too fast")


def key(name: str, value: str | None = None, **more: Any) -> Key:
    return Key(name=name, secret=Secret(value or f"pplx-{name}"), origin="file", **more)


def pool(*keys: Key) -> tuple[KeyPool, FakeClock]:
    clock = FakeClock()
    return KeyPool(clock, keys or [key("a"), key("b"), key("c")]), clock


def chosen(keys: KeyPool, count: int, wanted: Wanted = SONAR) -> str:
    return "".join(keys.choose(wanted).name for _ in range(count))


def fails(keys: KeyPool, name: str, error: GatewayError, wait: float | None = None) -> None:
    keys.health(name).used()
    keys.health(name).failed(error, wait)


def test_keys_take_turns_by_weight() -> None:
    keys, _ = pool(key("a", weight=3), key("b", weight=2), key("c"))
    assert sorted(chosen(keys, 600)) == ["a"] * 300 + ["b"] * 200 + ["c"] * 100


def test_a_key_without_weight_and_a_disabled_one_have_no_turns() -> None:
    keys, _ = pool(key("a"), key("b", weight=0), key("c", enabled=False), Key(name="d", secret=None, origin="file"))
    assert chosen(keys, 5) == "aaaaa"
    assert keys.choose(SONAR._replace(pinned="b")).name == "b"
    for name in "cd":
        with pytest.raises(InvalidRequest, match=f"'{name}' is disabled"):
            keys.choose(SONAR._replace(pinned=name))


@pytest.mark.parametrize(
    ("models", "names", "fits"),
    [
        (("*",), ("anything",), True),
        (("sonar",), ("sonar", "perplexity/sonar"), True),
        (("perplexity/sonar",), ("sonar",), True),
        (("api/sonar",), ("sonar",), True),
        (("gpt-6-luna",), ("openai/gpt-6-luna",), True),
        (("openai/gpt-6-luna",), ("openai/gpt-6-luna",), True),
        (("openai/gpt-6-luna",), ("xai/gpt-6-luna",), False),
        (("sonar",), ("sonar-pro",), False),
        (("low", "sonar"), ("sonar-pro", "perplexity/sonar"), True),
    ],
)
def test_an_allow_list_matches_with_and_without_prefix(
    models: tuple[str, ...], names: tuple[str, ...], fits: bool
) -> None:
    assert key("a", models=models).allows(names) is fits


def test_only_keys_that_allow_the_model_are_used() -> None:
    keys, _ = pool(key("a", models=("sonar",)), key("b", models=("low", "perplexity/sonar")), key("c", models=("low",)))
    assert chosen(keys, 4) == "abab"
    with pytest.raises(ModelNotAllowed, match="'high'"):
        keys.choose(Wanted(("high",)))
    with pytest.raises(ModelNotAllowed, match="'c' may not"):
        keys.choose(SONAR._replace(pinned="c"))
    with pytest.raises(InvalidRequest, match="no key named 'x'") as caught:
        keys.choose(SONAR._replace(pinned="x"))
    assert caught.value.param == "x-pplx-key-name"
    with pytest.raises(UpstreamAuth, match=r"config\.json"):
        KeyPool(FakeClock()).choose(SONAR)


def test_a_throttled_key_rests_as_long_as_the_api_says() -> None:
    keys, clock = pool()
    fails(keys, "b", THROTTLE, 7)
    clock.advance(6.9)
    assert set(chosen(keys, 8)) == set("ac")
    clock.advance(0.2)
    assert set(chosen(keys, 8)) == set("abc")


@pytest.mark.parametrize(("error", "first", "longest"), [(DEAD, 60, 900), (BROKE, 60, 900), (THROTTLE, 1, 60)])
def test_a_key_that_fails_again_and_again_rests_longer_each_time(
    error: GatewayError, first: float, longest: float
) -> None:
    keys, clock = pool()
    rests = []
    for _ in range(12):
        fails(keys, "a", error)
        rests.append(keys.health("a").rest_seconds)
        clock.advance(rests[-1])
    assert rests[:3] == [first, 2 * first, 4 * first]
    assert rests[-1] == longest
    keys.health("a").answered()
    fails(keys, "a", error)
    assert keys.health("a").rest_seconds == first


def test_after_its_rest_one_question_at_a_time_tries_it() -> None:
    keys, clock = pool(key("a"), key("b"))
    for name in "ab":
        keys.health(name).answered()
    fails(keys, "a", DEAD)
    clock.advance(61)
    assert "a" in chosen(keys, 2)
    keys.health("a").used()
    assert chosen(keys, 3) == "bbb"
    keys.health("a").answered()
    assert set(chosen(keys, 2)) == {"a", "b"}


def test_where_all_rest_the_kindest_reason_is_told_at_once() -> None:
    keys, clock = pool()
    fails(keys, "a", DEAD)
    fails(keys, "b", THROTTLE, 20)
    fails(keys, "c", THROTTLE, 9)
    clock.advance(2)
    with pytest.raises(RateLimited) as caught:
        keys.choose(SONAR)
    assert caught.value.retry_after == 7


def test_a_sole_key_never_rests() -> None:
    keys, _ = pool(key("a"), key("b", models=("low",)))
    fails(keys, "a", DEAD)
    assert keys.choose(SONAR).name == "a"
    assert keys.choose(SONAR._replace(pinned="a")).name == "a"


def test_what_was_signed_by_a_key_prefers_it_and_takes_no_turn_away() -> None:
    keys, _ = pool()
    assert chosen(keys, 4, SONAR._replace(preferred="b")) == "bbbb"
    assert chosen(keys, 3) == "abc"
    fails(keys, "b", BROKE)
    assert set(chosen(keys, 4, SONAR._replace(preferred="b"))) == set("ac")


def test_new_keys_keep_what_is_known_of_the_old_ones() -> None:
    keys, _ = pool()
    for name in "abc":
        fails(keys, name, DEAD)
    keys.replace([key("a", weight=2), key("b", "pplx-other"), key("d")])
    assert [keys.health(name).state for name in ("a", "b", "d")] == ["refused", "untried", "untried"]
    assert [found.name for found in keys.keys] == ["a", "b", "d"]
    with pytest.raises(UpstreamAuth, match="'c'"):
        keys.named("c")


def test_a_key_prints_no_value() -> None:
    keys, _ = pool(key("a", "pplx-SECRET"))
    assert "SECRET" not in f"{keys.keys!r} {keys.keys[0]}"
    assert keys.secrets() == ["pplx-SECRET"]
    keys.replace([key("b", "pplx-OTHER")])
    assert sorted(keys.secrets()) == ["pplx-OTHER", "pplx-SECRET"]


async def test_others_wait_for_the_question_that_tries_a_key() -> None:
    keys, _ = pool()
    health = keys.health("a")
    health.used()
    waiting = [asyncio.create_task(health.cleared()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    health.failed(DEAD, None)
    assert await asyncio.gather(*waiting) == [False] * 3


async def test_a_question_that_is_never_answered_is_not_waited_for_long() -> None:
    keys, clock = pool()
    keys.health("a").used()
    waiting = asyncio.create_task(keys.health("a").cleared())
    await asyncio.sleep(0)
    clock.advance(10)
    assert await waiting is True
