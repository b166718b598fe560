from decimal import Decimal

import pytest

from pplx_gateway.answer import Usage
from pplx_gateway.emulator.agent import embedding
from pplx_gateway.emulator.agent.models import PRICES
from pplx_gateway.prices import prices
from pplx_gateway.upstreams.api.operations.prices import decision_cost, embedding_cost, search_cost

SONAR = "perplexity/sonar"


def usage(into: int = 0, out: int = 0, *, cached: int = 0, written: int = 0, searches: int = 0) -> Usage:
    return Usage(
        input_tokens=into,
        output_tokens=out,
        cached_tokens=cached,
        cache_write_tokens=written,
        search_queries=searches,
    )


def test_an_answer_costs_its_tokens_and_its_searches() -> None:
    assert prices().of_answer(SONAR, usage(1_000_000, 1_000_000)) == Decimal("2.75")
    assert prices().of_answer(SONAR, usage(20, 9, searches=2)) == Decimal("0.005") + Decimal("0.0000275")
    assert prices().of_answer(SONAR, usage(1_000_000, cached=400_000)) == Decimal("0.175")


def test_what_is_written_to_the_cache_costs_a_quarter_more_where_that_is_so() -> None:
    found = prices().of_answer("anthropic/claude-haiku-4-5", usage(1_000_000, cached=200_000, written=400_000))
    assert found == Decimal("0.4") + Decimal("0.02") + Decimal("0.5")
    assert prices().of_answer(SONAR, usage(1_000_000, written=1_000_000)) == Decimal("0.25")


def test_a_long_question_costs_more_where_that_is_so() -> None:
    short, long = usage(272_000, 1000), usage(272_001, 1000)
    assert prices().of_answer("openai/gpt-6.1-sol", short) == Decimal("0.554")
    assert prices().of_answer("openai/gpt-6.1-sol", long) == Decimal("1.103004")


@pytest.mark.parametrize("model", [None, "", "sonar", "openai/gpt-99"])
def test_a_model_without_a_price_has_no_cost(model: str | None) -> None:
    assert prices().of_answer(model, usage(20, 9)) is None


def test_estimated_tokens_have_no_cost() -> None:
    assert prices().of_answer(SONAR, Usage(input_tokens=20, output_tokens=9, estimated=True)) is None


@pytest.mark.parametrize(
    ("model", "cost"),
    [
        ("pplx-decider-v1-27b", "0.00000602"),
        ("pplx-decider-v1.1-27b", "0.00000602"),
        ("pplx-decider-v1.1-27b-20261006", "0.00000602"),
        ("pplx-decider-flash-v1.2", "0.00000301"),
        ("pplx-decider-flash-latest", "0.00000301"),
        ("pplx-decider-latest", None),
        ("pplx-decider-v1.2", None),
        ("other", None),
    ],
)
def test_a_decision_costs_what_goes_in(model: str, cost: str | None) -> None:
    found = prices().of_decision(model, 301)
    assert found == (None if cost is None else Decimal(cost))


def test_searches_and_embeddings_have_prices() -> None:
    assert prices().of_searches("web") == Decimal("0.005")
    assert prices().of_searches("fast", 3) == Decimal("0.003")
    assert prices().of_searches("people") is None
    assert prices().of_embedding("pplx-embed-context-v1-4b", 1_000_000) == Decimal("0.05")
    assert prices().of_embedding("other", 1) is None


def test_what_operations_compute_is_the_lists_figure() -> None:
    """The float that goes out is the decimal, to the last digit."""
    search, decision, embedded = search_cost("web"), decision_cost("pplx-decider-v1.1-27b", 301), None
    embedded = embedding_cost("pplx-embed-v1-0.6b", 7)
    assert search is not None
    assert decision is not None
    assert embedded is not None
    assert (repr(search.total), repr(decision.total), repr(embedded.total)) == ("0.005", "6.02e-06", "2.8e-08")


def test_the_emulator_asks_the_same_prices() -> None:
    listed = prices().models
    for name, price in PRICES.items():
        assert (float(listed[name].input), float(listed[name].output)) == (price.input, price.output), name
        read = listed[name].cache_read
        assert (None if read is None else float(read)) == price.cache_read, name
    for name, model in {**embedding.MODELS, **embedding.CONTEXT_MODELS}.items():
        assert float(prices().embeddings[name]) == model.price, name
